#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "zero/device/arena.hpp"
#include "zero/run/disk_window.hpp"
#include "zero/state/disk.hpp"
#include "zero/state/state_layout.hpp"

namespace zero::save {

/// A rank's disk for the thread that saves. It reads states in place, as they were when a save
/// beside training began. Steps write to their second slots meanwhile.
class FrozenDisk {
 public:
  /// Takes memory if the plan has any of these parts on disk. Throws Error(kDoesNotFit). REQUIRES:
  /// `plan` outlives it.
  FrozenDisk(const plan::Plan& plan, std::span<const setup::SavedPart> parts);
  ~FrozenDisk() { thaw(); }
  FrozenDisk(const FrozenDisk&) = delete;
  FrozenDisk& operator=(const FrozenDisk&) = delete;

  /// Freezes the disk, if a part is on it. REQUIRES: no body runs, and thaw() ended the last
  /// freeze().
  void freeze(std::shared_ptr<state::Disk> disk);
  void thaw();
  /// Returns a view of the frozen disk alone, for one thread, until thaw(). Bytes that cannot be
  /// read, or read back wrong, go to `failed`, which does not return: a disk without trust is worse
  /// than a failed save.
  using Failed = std::function<void(const std::exception_ptr&)>;
  state::StateView view(int rank, Failed failed);

 private:
  const plan::Plan& plan_;
  Arena memory_;
  std::shared_ptr<state::Disk> disk_;  ///< set while it is frozen
  std::optional<run::DiskWindow> window_;
};

}  // namespace zero::save
