#pragma once
/// The bytes that a rank writes into its file: of the state now, or of a copy.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/save/slice_reader.hpp"
#include "zero/device/arena.hpp"
#include "zero/io/checkpoint/shard_file.hpp"
#include "zero/state/state_layout.hpp"

namespace zero::save {

/// The content of a rank's file, in pieces of at most 4 MiB, in the order of the file.
class Payload {
 public:
  virtual ~Payload() = default;
  virtual size_t pieces() const = 0;
  /// Returns the elements of all pieces, each of at most 4 bytes.
  virtual int64_t numel() const = 0;
  /// Returns a piece, valid until the next call.
  virtual std::span<const std::byte> piece(size_t index) = 0;
  /// Appends the next piece. Pieces in memory stay unchanged until the file is finished.
  virtual void append_to(checkpoint::ShardWriter& file, size_t index) = 0;
};

/// A payload from a state that rests meanwhile.
class LivePayload final : public Payload {
 public:
  /// REQUIRES: `reader` outlives it, and reads for nobody else meanwhile.
  LivePayload(state::StateView view, std::span<const setup::SavedPart> parts, SliceReader& reader);
  size_t pieces() const override { return pieces_.size(); }
  int64_t numel() const override;
  std::span<const std::byte> piece(size_t index) override;
  void append_to(checkpoint::ShardWriter& file, size_t index) override;
  const state::StateView& view() const { return view_; }
  const state::SavedSlice& slice(size_t index) const { return pieces_[index]; }

 private:
  bool is_near(const state::SavedSlice& piece) const;

  state::StateView view_;
  std::vector<state::SavedSlice> pieces_;
  SliceReader& reader_;
};

/// A payload from a copy of the state in memory, and from a frozen disk. Training may go on.
class PayloadCopy final : public Payload {
 public:
  /// Takes the memory for one rank's copies, which `threads` threads make. Throws
  /// Error(kDoesNotFit).
  PayloadCopy(const plan::Plan& plan, std::span<const setup::SavedPart> parts, int threads = 1);
  /// Replaces the copy. `frozen` views the parts on disk, which stay as they are now until the last
  /// piece is read; unset if there are none.
  void copy(const LivePayload& live, state::StateView frozen = {});

  size_t pieces() const override { return kept_.size(); }
  int64_t numel() const override;
  std::span<const std::byte> piece(size_t index) override;
  void append_to(checkpoint::ShardWriter& file, size_t index) override;

 private:
  /// The place of a piece. Spans are empty for parts on disk.
  struct KeptSlice {
    state::SavedSlice slice;
    std::span<std::byte> bytes;
    std::span<const std::byte> weight;  ///< weight of a split master, whose low bits are `bytes`
    bool is_split;
  };
  void lay_out(const LivePayload& live);
  void copy(const LivePayload& live, size_t index);
  /// Returns all of a piece that is not a split master.
  std::span<const std::byte> whole(const KeptSlice& kept);
  /// Returns elements [first, first + numel) of a split master, valid until the next call.
  std::span<const std::byte> joined(const KeptSlice& kept, int64_t first, int64_t numel);

  Arena memory_;
  int threads_;
  state::StateView frozen_ = {};
  std::vector<KeptSlice> kept_;
  SliceReader reader_;
};

}  // namespace zero::save
