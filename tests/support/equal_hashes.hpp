#pragma once
/// Texts that an attacker would write: all have one hash of the standard library's.

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zero::testing_support {

/// The state of libstdc++'s hash, into which 8 bytes at a time are mixed, as by MurmurHash64A.
class LibraryHash {
 public:
  explicit LibraryHash(size_t bytes) : state_(0xc70f6907 ^ bytes * kFactor) {}

  LibraryHash behind(uint64_t block) const {
    return LibraryHash(*this, (state_ ^ mixed(block)) * kFactor);
  }
  /// The block that leaves the state behind itself that `block` leaves behind `other`.
  uint64_t block_like(uint64_t block, const LibraryHash& other) const {
    return unmixed(mixed(block) ^ state_ ^ other.state_);
  }

 private:
  static constexpr uint64_t kFactor = 0xc6a4a7935bd1e995, kInverse = 0x5f7a0ea7e59b19bd;
  LibraryHash(const LibraryHash&, uint64_t state) : state_(state) {}

  static uint64_t folded(uint64_t value) { return value ^ value >> 47; }  // its own inverse
  static uint64_t mixed(uint64_t block) { return folded(block * kFactor) * kFactor; }
  static uint64_t unmixed(uint64_t block) { return folded(block * kInverse) * kInverse; }

  uint64_t state_;
};

/// `count` different texts of letters and digits, a power of two of them. Each 16 bytes are one of
/// two pairs of blocks, behind which the hash's state is the same.
inline std::vector<std::string> texts_of_one_hash(size_t count) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  std::mt19937 random(1);
  const auto random_block = [&] {
    std::string block(8, ' ');
    for (char& c : block) c = kLetters[random() % kLetters.size()];
    return block;
  };
  const auto number_of = [](const std::string& block) {
    uint64_t number = 0;
    std::memcpy(&number, block.data(), 8);
    return number;
  };
  size_t pairs = 0;
  while (size_t(1) << pairs < count) ++pairs;
  std::vector<std::string> texts = {""};
  LibraryHash state(16 * pairs);
  for (size_t pair = 0; pair < pairs; ++pair) {
    const std::string first = random_block(), second = random_block();
    std::string other, end(8, ' ');
    while (end.find_first_not_of(kLetters) != end.npos) {
      other = random_block();
      const uint64_t number = state.behind(number_of(other))
                                  .block_like(number_of(second), state.behind(number_of(first)));
      std::memcpy(end.data(), &number, 8);
    }
    state = state.behind(number_of(first)).behind(number_of(second));
    for (size_t i = 0, known = texts.size(); i < known; ++i) {
      texts.push_back(texts[i] + other + end);
      texts[i] += first + second;
    }
  }
  return texts;
}

}  // namespace zero::testing_support
