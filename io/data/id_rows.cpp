#include "io/data/id_rows.hpp"

#include <algorithm>

#include "zero/base/error.hpp"

namespace zero {

void IdRows::add(std::span<const int32_t> ids) {
  if (is_narrow_) {
    for (const int32_t id : ids) narrow_.push_back(uint16_t(id));
  } else {
    wide_.insert(wide_.end(), ids.begin(), ids.end());
  }
  begins_.push_back(begins_.back() + int64_t(ids.size()));
}

int64_t IdRows::copy(int64_t row, std::span<int32_t> out) const {
  const int64_t count = length(row);
  ZERO_REQUIRE(count <= int64_t(out.size()), count, " ids for ", out.size(), " places");
  copy_from(begin(row), out.first(size_t(count)));
  return count;
}

void IdRows::copy_from(int64_t first, std::span<int32_t> out) const {
  ZERO_REQUIRE(first >= 0 && first + int64_t(out.size()) <= begins_.back(), "ids ", first, " to ",
               first + int64_t(out.size()), " of ", begins_.back());
  if (is_narrow_) {
    std::copy_n(narrow_.begin() + first, out.size(), out.begin());
  } else {
    std::copy_n(wide_.begin() + first, out.size(), out.begin());
  }
}

int64_t IdRows::bytes() const {
  return int64_t(begins_.size() * sizeof(int64_t) + narrow_.size() * sizeof(uint16_t) +
                 wide_.size() * sizeof(int32_t));
}

}  // namespace zero
