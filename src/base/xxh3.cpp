#include "zero/base/digests.hpp"

#define XXH_INLINE_ALL
#include <sys/random.h>
#include <xxhash.h>

#include <chrono>
#include <cstring>

#include "zero/base/error.hpp"
#include "zero/base/keyed_hash.hpp"

namespace zero {
namespace {

Xxh3Digest canonical(XXH128_hash_t hash) {
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, hash);
  Xxh3Digest digest;
  static_assert(sizeof(digest) == sizeof(bytes.digest));
  std::memcpy(digest.data(), bytes.digest, sizeof(digest));
  return digest;
}

/// Draws a key. Uses the clock if a container forbids the system's random numbers.
uint64_t drawn_key() {
  uint64_t key = 0;
  if (getrandom(&key, sizeof key, GRND_NONBLOCK) == ssize_t(sizeof key)) return key;
  return uint64_t(std::chrono::steady_clock::now().time_since_epoch().count());
}

}  // namespace

struct Xxh3::State {
  XXH3_state_t xxh3;
};

Xxh3Digest xxh3_of(std::span<const std::byte> bytes) {
  return canonical(XXH3_128bits(bytes.data(), bytes.size()));
}

Xxh3::Xxh3() : state_(std::make_unique<State>()) {
  ZERO_REQUIRE(XXH3_128bits_reset(&state_->xxh3) == XXH_OK, "XXH3 does not start");
}

Xxh3::~Xxh3() = default;

void Xxh3::add(std::span<const std::byte> bytes) {
  ZERO_REQUIRE(XXH3_128bits_update(&state_->xxh3, bytes.data(), bytes.size()) == XXH_OK,
               "XXH3 does not go on");
}

Xxh3Digest Xxh3::digest() const { return canonical(XXH3_128bits_digest(&state_->xxh3)); }

size_t KeyedHash::operator()(std::string_view text) const {
  static const uint64_t kKey = drawn_key();
  return size_t(XXH3_64bits_withSeed(text.data(), text.size(), kKey));
}

}  // namespace zero
