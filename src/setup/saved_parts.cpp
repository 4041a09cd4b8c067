#include "zero/setup/saved_parts.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "zero/base/align.hpp"

namespace zero::setup {
namespace {

/// The parts with the optimizer that keeps most states.
constexpr auto kParts = [] {
  std::array<SavedPart, 2 + kMostStates> parts{};
  for (size_t i = 0; i < parts.size(); ++i) parts[i] = SavedPart(int(i) + int(SavedPart::weight));
  return parts;
}();

}  // namespace

std::span<const SavedPart> saved_parts(const plan::Plan& plan, bool weights_only) {
  const std::span<const SavedPart> all(kParts);
  return all.first(weights_only ? 1 : 2 + plan.request.optimizer.states.size());
}

Dtype dtype_of(const plan::Plan& plan, SavedPart part) {
  if (part == SavedPart::weight) return plan.request.compute;
  if (part == SavedPart::master) return Dtype::f32;
  return plan.request.optimizer.states[size_t(part)].dtype;
}

int64_t element_bytes(const plan::Plan& plan, SavedPart part) {
  return int64_t(bytes_of(dtype_of(plan, part)));
}

int32_t buffer_of(const plan::Plan& plan, const plan::Unit& unit, SavedPart part) {
  if (part == SavedPart::weight) return unit.weight;
  if (part != SavedPart::master) return unit.states.at(size_t(part));
  return plan.request.compute == Dtype::f32 ? unit.weight : unit.low;
}

bool is_on_disk(const plan::Plan& plan, int32_t buffer) {
  return buffer >= 0 && plan.buffers[size_t(buffer)].tier == plan::Tier::nvme;
}

std::vector<tiers::DiskExtent> saved_on_disk(const plan::Plan& plan,
                                             std::span<const SavedPart> parts) {
  std::set<int32_t> buffers;
  for (const plan::Unit& unit : plan.units) {
    for (const SavedPart part : parts) {
      if (!is_saved(unit, part)) continue;
      const int32_t buffer = buffer_of(plan, unit, part);
      if (is_on_disk(plan, buffer)) buffers.insert(buffer);
    }
  }
  std::vector<tiers::DiskExtent> extents;
  for (const int32_t index : buffers) {
    const plan::Buffer& buffer = plan.buffers[size_t(index)];
    extents.push_back({buffer.offset, round_up(buffer.bytes, tiers::kDiskBlockBytes)});
  }
  std::ranges::sort(extents, {}, &tiers::DiskExtent::offset);
  return extents;
}

bool is_split(const plan::Plan& plan, SavedPart part) {
  return part == SavedPart::master && plan.request.compute == Dtype::bf16;
}

bool is_copied(const plan::Plan& plan, const plan::Unit& unit, SavedPart part) {
  return is_saved(unit, part) && !is_on_disk(plan, buffer_of(plan, unit, part));
}

int64_t copied_bytes(const plan::Plan& plan, SavedPart part) {
  return is_split(plan, part) ? int64_t(sizeof(int16_t)) : element_bytes(plan, part);
}

int64_t saved_copy_bytes(const plan::Plan& plan, std::span<const SavedPart> parts) {
  // Parameters begin at multiples of 64 elements in a unit, so what lies between pieces is counted.
  int64_t bytes = 0;
  for (const plan::Unit& unit : plan.units) {
    for (const SavedPart part : parts) {
      if (is_copied(plan, unit, part)) bytes += unit.shard_numel * copied_bytes(plan, part);
    }
  }
  return bytes;
}

}  // namespace zero::setup
