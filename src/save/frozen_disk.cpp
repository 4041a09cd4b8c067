#include "src/save/frozen_disk.hpp"

#include <utility>

#include "zero/base/error.hpp"

namespace zero::save {

FrozenDisk::FrozenDisk(const plan::Plan& plan, std::span<const setup::SavedPart> parts)
    : plan_(plan) {
  if (setup::saved_on_disk(plan, parts).empty()) return;
  memory_ = Arena(setup::kFrozenWindowBytes);
  memory_.touch(1);
}

void FrozenDisk::freeze(std::shared_ptr<state::Disk> disk) {
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

state::StateView FrozenDisk::view(int rank, Failed failed) {
  state::StateView view{.plan = &plan_, .rank = rank, .bytes = {}};
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

}  // namespace zero::save
