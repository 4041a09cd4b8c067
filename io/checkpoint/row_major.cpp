#include "io/checkpoint/row_major.hpp"

#include <algorithm>

#include "zero/base/error.hpp"

namespace zero::checkpoint {
namespace {

/// Elements of one step along extent `axis`.
int64_t stride_of(std::span<const int64_t> shape, size_t axis) {
  int64_t stride = 1;
  for (size_t i = axis + 1; i < shape.size(); ++i) stride *= shape[i];
  return stride;
}

/// The largest box that begins at element `begin` and holds at most `numel`.
Box box_at(std::span<const int64_t> shape, int64_t begin, int64_t numel) {
  size_t axis = 0;
  // The outermost axis along which `begin` is at a step's first element and a whole step fits.
  while (begin % stride_of(shape, axis) != 0 || stride_of(shape, axis) > numel) ++axis;
  Box box;
  for (size_t i = 0; i < shape.size(); ++i) {
    box.start.push_back(begin / stride_of(shape, i) % shape[i]);
    box.count.push_back(i <= axis ? 1 : shape[i]);
  }
  const int64_t stride = stride_of(shape, axis);
  box.count[axis] = std::min(numel / stride, shape[axis] - box.start[axis]);
  box.numel = box.count[axis] * stride;
  return box;
}

}  // namespace

std::vector<Box> boxes_of(std::span<const int64_t> shape, int64_t begin, int64_t numel) {
  ZERO_REQUIRE(begin >= 0 && numel > 0 && begin + numel <= shape[0] * stride_of(shape, 0),
               "elements [", begin, ", +", numel, ") leave their tensor");
  std::vector<Box> boxes;
  for (int64_t done = 0; done < numel; done += boxes.back().numel) {
    boxes.push_back(box_at(shape, begin + done, numel - done));
    boxes.back().first = done;
  }
  return boxes;
}

}  // namespace zero::checkpoint
