#include "zero/base/digests.hpp"

// OpenSSL 3 deprecates these functions. Its replacements load modules that a configuration file
// names, and bring 4 MB of other algorithms. These functions have 20 KB.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

#include <array>

#include "zero/base/error.hpp"
#include "zero/base/text.hpp"

namespace zero {

struct Sha256::State {
  SHA256_CTX sha256;
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  ZERO_REQUIRE(SHA256_Init(&state_->sha256) == 1, "SHA-256 does not start");
}

Sha256::~Sha256() = default;

void Sha256::add(std::span<const std::byte> bytes) {
  ZERO_REQUIRE(SHA256_Update(&state_->sha256, bytes.data(), bytes.size()) == 1,
               "SHA-256 does not go on");
}

std::string Sha256::digest() {
  std::array<uint8_t, SHA256_DIGEST_LENGTH> digest;
  ZERO_REQUIRE(SHA256_Final(digest.data(), &state_->sha256) == 1, "SHA-256 does not end");
  return hex_of(digest);
}

}  // namespace zero
