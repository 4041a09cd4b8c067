#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace zero {

/// A bit for each token, set if it is learnt.
class LearntBits {
 public:
  void add(bool is_learnt) {
    if (size_ % kBits == 0) words_.push_back(0);
    words_.back() |= uint64_t(is_learnt) << (size_ % kBits);
    ++size_;
  }
  bool at(int64_t token) const { return words_[size_t(token / kBits)] >> (token % kBits) & 1; }

  /// Returns the count of bits that are set in `count` from `first` on.
  int64_t count(int64_t first, int64_t count) const {
    int64_t set = 0;
    for (int64_t at = first, end = first + count; at < end;) {
      const int64_t bits = std::min(kBits - at % kBits, end - at);
      const uint64_t word = words_[size_t(at / kBits)] >> (at % kBits);
      set += std::popcount(bits == kBits ? word : word & ((uint64_t(1) << bits) - 1));
      at += bits;
    }
    return set;
  }
  int64_t bytes() const { return int64_t(words_.size() * sizeof(uint64_t)); }

 private:
  static constexpr int64_t kBits = 64;
  std::vector<uint64_t> words_;
  int64_t size_ = 0;
};

}  // namespace zero
