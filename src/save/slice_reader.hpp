#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "zero/device/arena.hpp"
#include "zero/state/state_layout.hpp"

namespace zero::save {

/// Takes memory of `place`, or slower memory if the system refuses to pin it.
Arena take_arena(int64_t bytes, Place place, int threads = 1);

/// A reader of pieces into its own memory, which it takes for the first piece that does not lie in
/// the view.
class SliceReader {
 public:
  /// Reads into memory of `place`. A device copies faster into `pinned`.
  explicit SliceReader(Place place = Place::host) : place_(place) {}
  /// True if some piece of these parts cannot be read in place.
  static bool is_needed(const plan::Plan& plan, std::span<const setup::SavedPart> parts);
  /// Takes the memory ahead of the first piece. Throws Error(kDoesNotFit).
  void take_memory();
  /// Returns the bytes of a piece, valid until the next call.
  std::span<const std::byte> read(const state::StateView& view, const state::SavedSlice& piece);
  /// Returns a split master, valid until the next call, joined from copies of its weight and its
  /// low bits. Reads the view instead of an empty copy.
  std::span<const std::byte> join(const state::StateView& view, const state::HeldSlice& held,
                                  std::span<const std::byte> weight,
                                  std::span<const std::byte> low);

 private:
  std::span<std::byte> room(int64_t begin, int64_t bytes);

  const Place place_;
  Arena memory_;
};

}  // namespace zero::save
