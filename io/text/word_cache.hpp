#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace zero {

/// A bounded memory of the ids of short words. Each word has one slot, and a later word may take
/// it, so hostile texts cost no more than misses.
class WordCache {
 public:
  static constexpr size_t kMostBytes = 30, kMostIds = 8;

  /// A word and its ids, in one line of a processor's cache.
  struct alignas(64) Slot {
    uint8_t bytes = 0, count = 0;
    std::array<char, kMostBytes> word = {};
    std::array<int32_t, kMostIds> ids = {};

    std::span<const int32_t> known() const { return {ids.data(), count}; }
    bool holds(std::string_view text) const {
      return bytes == text.size() && std::memcmp(word.data(), text.data(), bytes) == 0;
    }
    /// Keeps a word. Too many ids are not kept.
    void keep(std::string_view text, std::span<const int32_t> made) {
      if (made.size() > kMostIds) return;
      bytes = uint8_t(text.size());
      count = uint8_t(made.size());
      std::memcpy(word.data(), text.data(), text.size());
      std::memcpy(ids.data(), made.data(), made.size_bytes());
    }
  };

  /// Returns the slot of a word. REQUIRES: 1 to kMostBytes bytes.
  Slot& slot_of(std::string_view word) { return slots_[hash(word) >> (64 - kBits)]; }

 private:
  static constexpr int kBits = 15;

  static uint64_t load(const char* bytes, size_t count) {
    uint64_t value = 0;
    std::memcpy(&value, bytes, count);
    return value;
  }
  static uint64_t hash(std::string_view word) {
    uint64_t sum = word.size();
    for (size_t at = 0; at < word.size(); at += 8) {
      const size_t count = word.size() - at < 8 ? word.size() - at : 8;
      sum = (sum ^ load(word.data() + at, count)) * 0x9E3779B97F4A7C15u;
      sum ^= sum >> 32;
    }
    return sum * 0xD6E8FEB86659FD93u;
  }

  std::vector<Slot> slots_ = std::vector<Slot>(size_t(1) << kBits);
};

}  // namespace zero
