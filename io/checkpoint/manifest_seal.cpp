#include "io/checkpoint/manifest_seal.hpp"

#include "zero/base/error.hpp"
#include "zero/base/sha256.hpp"

namespace zero::checkpoint {
namespace {

std::string seal_of(std::string_view members) {
  Sha256 hash;
  hash.add(std::as_bytes(std::span(members)));
  return ",\n\"sha256\": \"" + hash.digest() + "\"}\n";
}

}  // namespace

std::string sealed(const std::string& members) { return members + seal_of(members); }

void require_seal(std::string_view text, const std::string& path) {
  const size_t seal_bytes = seal_of("").size();
  const size_t members = text.size() < seal_bytes ? 0 : text.size() - seal_bytes;
  if (text.substr(members) != seal_of(text.substr(0, members))) {
    refuse(Exit::kInput, path,
           ": does not end with the SHA-256 of what stands before: it is damaged or cut off");
  }
}

}  // namespace zero::checkpoint
