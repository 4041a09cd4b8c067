#include "zero/base/sha256.hpp"

#include <algorithm>
#include <cstdio>

#include "src/base/sha256_blocks.hpp"

namespace zero {

void Sha256::add(std::span<const std::byte> bytes) {
  const size_t filled = bytes_ % 64;
  bytes_ += bytes.size();
  if (filled > 0) {
    const size_t taken = std::min(64 - filled, bytes.size());
    std::copy_n(bytes.data(), taken, pending_.data() + filled);
    bytes = bytes.subspan(taken);
    if (filled + taken < 64) return;
    add_sha256_blocks(state_.data(), pending_.data(), 1);
  }
  const size_t whole = bytes.size() / 64;
  add_sha256_blocks(state_.data(), bytes.data(), whole);
  std::copy(bytes.begin() + ptrdiff_t(64 * whole), bytes.end(), pending_.begin());
}

std::string Sha256::digest() {
  const uint64_t bits = 8 * bytes_;
  const size_t padding = (bytes_ % 64 < 56 ? 56 : 120) - bytes_ % 64;
  std::array<std::byte, 72> tail{};
  tail[0] = std::byte(0x80);
  for (size_t i = 0; i < 8; ++i) tail[padding + i] = std::byte(bits >> (56 - 8 * i));
  add({tail.data(), padding + 8});
  char hex[65];
  for (size_t i = 0; i < 8; ++i) std::snprintf(hex + 8 * i, 9, "%08x", state_[i]);
  return hex;
}

}  // namespace zero
