#include "src/train/frozen_disk.hpp"

#include <algorithm>
#include <set>

#include "zero/base/align.hpp"

namespace zero::train {

int32_t buffer_of(const plan::Plan& plan, const plan::Unit& unit, SavedPart part) {
  if (part == SavedPart::weight) return unit.weight;
  if (part != SavedPart::master) return unit.states.at(size_t(part));
  return plan.request.compute == Dtype::f32 ? unit.weight : unit.rest;
}

bool is_on_disk(const plan::Plan& plan, int32_t buffer) {
  return buffer >= 0 && plan.buffers[size_t(buffer)].tier == plan::Tier::nvme;
}

std::vector<tiers::DiskExtent> saved_on_disk(const plan::Plan& plan,
                                             std::span<const SavedPart> parts) {
  std::set<int32_t> buffers;
  for (const plan::Unit& unit : plan.units) {
    for (const SavedPart part : parts) {
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

FrozenDisk::FrozenDisk(const plan::Plan& plan, std::span<const SavedPart> parts) : plan_(plan) {
  if (saved_on_disk(plan, parts).empty()) return;
  memory_ = Arena(kWindowBytes);
  memory_.touch(1);
}

void FrozenDisk::freeze(std::shared_ptr<Disk> disk) {
  if (memory_.bytes() == 0) return;
  disk->freeze();
  disk_ = std::move(disk);
  window_.emplace(plan_, run::LaneDisks{.read = &disk_->frozen()},
                  std::span(memory_.data(), size_t(memory_.bytes())));
}

void FrozenDisk::thaw() {
  window_.reset();
  if (disk_) disk_->thaw();
  disk_.reset();
}

StateView FrozenDisk::view(int rank, Failed failed) {
  StateView view{.plan = &plan_, .rank = rank, .bytes = {}};
  view.read_far = [this, failed = std::move(failed)](int32_t buffer, int64_t offset,
                                                     std::span<std::byte> out) {
    try {
      window_->read(buffer, offset, out);
    } catch (const Error&) {
      failed(std::current_exception());
    }
  };
  return view;
}

}  // namespace zero::train
