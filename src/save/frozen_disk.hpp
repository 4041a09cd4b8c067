#pragma once
/// What a save beside training reads of the states that rest on disk: they stay there, as they were
/// when it began, while steps write to their second slots.

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "zero/device/arena.hpp"
#include "zero/run/disk_window.hpp"
#include "zero/state/checkpoint_layout.hpp"
#include "zero/state/disk.hpp"

namespace zero::save {

/// A rank's disk for the thread that saves.
class FrozenDisk {
 public:
  /// Takes that memory where the plan, which outlives it, has any of these parts on disk. Throws
  /// Error(kDoesNotFit).
  FrozenDisk(const plan::Plan& plan, std::span<const state::SavedPart> parts);
  ~FrozenDisk() { thaw(); }
  FrozenDisk(const FrozenDisk&) = delete;
  FrozenDisk& operator=(const FrozenDisk&) = delete;

  /// Between bodies, and not twice without thaw(). Nothing where no part is on the disk.
  void freeze(std::shared_ptr<state::Disk> disk);
  void thaw();
  /// A view of what is on disk alone, as freeze() has found it, for one thread; until thaw().
  /// What could not be read, or reads back as other bytes, goes to `failed`, which does not return:
  /// a disk to be trusted no more is no failure of a save.
  using Failed = std::function<void(const std::exception_ptr&)>;
  state::StateView view(int rank, Failed failed);

 private:
  const plan::Plan& plan_;
  Arena memory_;
  std::shared_ptr<state::Disk> disk_;  ///< while it is frozen
  std::optional<run::DiskWindow> window_;
};

}  // namespace zero::save
