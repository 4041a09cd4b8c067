#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace zero {

/// A list of rows of ids. An id takes 2 bytes if all are below 65536, else 4.
class IdRows {
 public:
  /// REQUIRES: every id is below `vocabulary`.
  explicit IdRows(int64_t vocabulary) : is_narrow_(vocabulary <= 65536) {}

  void add(std::span<const int32_t> ids);
  int64_t rows() const { return int64_t(begins_.size()) - 1; }
  int64_t length(int64_t row) const { return begins_[size_t(row) + 1] - begins_[size_t(row)]; }
  /// Copies the ids of a row and returns their count. REQUIRES: `out` has room for them.
  int64_t copy(int64_t row, std::span<int32_t> out) const;
  /// Returns the place of a row's first id among all ids; of the row after the last, their count.
  int64_t begin(int64_t row) const { return begins_[size_t(row)]; }
  /// Copies ids from one place on, of whatever rows. REQUIRES: there are as many.
  void copy_from(int64_t first, std::span<int32_t> out) const;
  /// Returns the count of bytes in memory.
  int64_t bytes() const;

 private:
  bool is_narrow_;
  std::vector<int64_t> begins_ = {0};
  std::vector<uint16_t> narrow_;
  std::vector<int32_t> wide_;
};

}  // namespace zero
