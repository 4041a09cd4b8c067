#pragma once
/// The bytes that a rank writes into its file, as the state has them now or as it had them.

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "zero/device/arena.hpp"
#include "zero/io/checkpoint/shard_file.hpp"
#include "zero/run/disk_window.hpp"
#include "zero/state/checkpoint_layout.hpp"
#include "zero/state/disk.hpp"

namespace zero::save {

// What a save beside training reads of the states that rest on disk: they stay there, as they were
// when it began, while steps write to their second slots.

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

/// What a rank's file holds, in pieces of at most 4 MiB and in the order of the file.
class Payload {
 public:
  virtual ~Payload() = default;
  virtual size_t pieces() const = 0;
  /// Elements of all pieces, each of at most 4 bytes.
  virtual int64_t numel() const = 0;
  /// Stays until the next call.
  virtual std::span<const std::byte> piece(size_t index) = 0;
  /// The next piece of a file; what rests in memory stays as it is until the file is finished.
  virtual void append_to(checkpoint::ShardWriter& file, size_t index) = 0;
};

/// Reads pieces of a state into memory of its own. It takes that memory with the first piece that
/// does not lie in the view.
class PieceReader {
 public:
  /// A device copies faster into memory of the place `pinned`.
  explicit PieceReader(Place place = Place::host) : place_(place) {}
  /// True if some piece of these parts is not read where it lies.
  static bool is_needed(const plan::Plan& plan, std::span<const state::SavedPart> parts);
  /// Takes the memory ahead of the first piece. Throws Error(kDoesNotFit).
  void take_memory();
  /// The bytes of a piece, which stay until the next call.
  std::span<const std::byte> read(const state::StateView& view, const state::SavedSlice& piece);
  /// A split master, which stays until the next call. It is made of its weight and its low bits as
  /// they were copied; where a copy is empty, the view has them.
  std::span<const std::byte> join(const state::StateView& view, const state::HeldSlice& held,
                                  std::span<const std::byte> weight,
                                  std::span<const std::byte> low);

 private:
  std::span<std::byte> room(int64_t begin, int64_t bytes);

  const Place place_;
  Arena memory_;
};

/// Out of a state that rests meanwhile.
class LivePayload final : public Payload {
 public:
  /// `reader` outlives it, and reads for nobody else meanwhile.
  LivePayload(state::StateView view, std::span<const state::SavedPart> parts, PieceReader& reader);
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
  PieceReader& reader_;
};

/// Out of a second buffer of what rests in memory, and of what is frozen on disk, so that training
/// may go on.
class PayloadCopy final : public Payload {
 public:
  /// Takes the memory for the copies of one rank of this plan, which so many threads make. Throws
  /// Error(kDoesNotFit).
  PayloadCopy(const plan::Plan& plan, std::span<const state::SavedPart> parts, int threads = 1);
  /// Replaces what is there. `frozen` is of what is on disk, which stays there as it is now until
  /// the last piece is read; unset where nothing is.
  void copy(const LivePayload& live, state::StateView frozen = {});

  size_t pieces() const override { return kept_.size(); }
  int64_t numel() const override;
  std::span<const std::byte> piece(size_t index) override;
  void append_to(checkpoint::ShardWriter& file, size_t index) override;

 private:
  /// Where a piece is kept: spans are empty of what is on disk.
  struct KeptSlice {
    state::SavedSlice slice;
    std::span<std::byte> bytes;
    std::span<const std::byte> weight;  ///< of a split master, whose low bits `bytes` are
    bool is_split;
  };
  void lay_out(const LivePayload& live);
  void copy(const LivePayload& live, size_t index);
  /// All of a piece that is no split master.
  std::span<const std::byte> whole(const KeptSlice& kept);
  /// Elements [first, first + numel) of a split master, until the next call.
  std::span<const std::byte> joined(const KeptSlice& kept, int64_t first, int64_t numel);

  Arena memory_;
  int threads_;
  state::StateView frozen_ = {};
  std::vector<KeptSlice> kept_;
  PieceReader reader_;
};

}  // namespace zero::save
