#include "src/save/checkpoint_check.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "zero/base/team.hpp"
#include "zero/io/checkpoint/blocks.hpp"
#include "zero/io/checkpoint/shard_file.hpp"

namespace zero::save {
namespace {

void load_piece(checkpoint::TensorReader& reader, const state::StateView& view,
                const state::SavedSlice& piece, std::vector<float>& room) {
  const auto& [held, part] = piece;
  checkpoint::Tensor tensor = state::saved_tensor(*view.plan, held.parameter, part);
  if (part == setup::SavedPart::weight) {
    tensor.dtype = reader.find(tensor.name)->dtype;  // another run may have saved in another type
    room.resize(size_t(held.numel()));
    reader.read(tensor, held.begin, room);
    return state::write_master(view, *held.unit, held.range.begin, room);
  }
  const std::span<float> place =
      state::state_in_memory(view, *held.unit, state::kind_of(part), held.range);
  if (!place.empty()) return reader.read(tensor, held.begin, place);
  room.resize(size_t(held.numel()));
  reader.read(tensor, held.begin, room);
  state::write_state(view, *held.unit, state::kind_of(part), held.range.begin, room);
}

}  // namespace

void load_state(const checkpoint::Store& store, const checkpoint::Manifest& manifest,
                const state::StateView& view, int threads, checkpoint::BlockLedger& ledger) {
  const std::vector<state::SavedSlice> pieces =
      state::pieces_of(state::loaded_slices(*view.plan, view.rank));
  int64_t numel = 0;
  for (const state::SavedSlice& piece : pieces) numel += piece.held.numel();
  in_team(threads, [&](int member) {
    checkpoint::TensorReader reader(store, manifest, ledger);
    std::vector<float> room;
    // A thread reads neighbours in the file, and so finds their common block in memory.
    const int64_t first = numel * member / threads, last = numel * (member + 1) / threads;
    int64_t begin = 0;
    for (const state::SavedSlice& piece : pieces) {
      if (begin >= first && begin < last) load_piece(reader, view, piece, room);
      begin += piece.held.numel();
    }
  });
}

namespace {

using checkpoint::BlockLedger;
using checkpoint::ShardReader;

/// A rank's part in a check.
class Check {
 public:
  Check(const launch::Peers& peers, int threads, const checkpoint::Store& store,
        const checkpoint::Manifest& manifest)
      : peers_(peers),
        threads_(threads),
        store_(store),
        manifest_(manifest),
        name_(store.root() + "/" + checkpoint::Store::folder_of(manifest.step)),
        ledger_(manifest) {
    for (const checkpoint::File& file : manifest.files) disk_.bytes += file.bytes;
    disk_.moved = [this] { return ledger_.noted() + whole_blocks_; };
  }

  Problem run(const state::StateView* view) {
    disk_.name = view ? "the loading of a checkpoint" : "the check of a checkpoint";
    const Problem problem = on_every_rank([&] {
      folder_.emplace(store_.open_step(manifest_.step));
      if (digests_.is_crc32c) check_whole_files();
      if (view) load_state(store_, manifest_, *view, threads_, ledger_);
    });
    return problem || digests_.is_crc32c ? problem : check_rest();
  }

 private:
  int32_t files() const { return int32_t(manifest_.files.size()); }

  template <class Work>
  Problem on_every_rank(const Work& work) {
    return first_problem(peers_, disk_, work);
  }

  /// Checks the files' own digests, of formats up to 3. A single rank reads a file from its first
  /// byte to its last.
  void check_whole_files() {
    for (int32_t file = peers_.rank(); file < files(); file += peers_.ranks()) {
      ShardReader(folder_->descriptor(), name_, manifest_.files[size_t(file)], digests_)
          .verify(&whole_blocks_);
    }
  }

  /// Checks the blocks that no rank's state needs.
  Problem check_rest() {
    const auto rank = int32_t(peers_.rank());
    std::vector<int32_t> claims = ledger_.claims(rank);
    peers_.smallest(claims);
    const std::vector<int32_t> owners = BlockLedger::owners(std::move(claims), peers_.ranks());
    return on_every_rank([&] { read_all(ledger_.missing(owners, rank)); });
  }

  void read_all(const std::vector<BlockLedger::Block>& blocks) {
    in_team(threads_, [&](int member) {
      std::unique_ptr<ShardReader> reader;
      int32_t file = -1;
      const size_t last = blocks.size() * size_t(member + 1) / size_t(threads_);
      for (size_t i = blocks.size() * size_t(member) / size_t(threads_); i < last; ++i) {
        if (!reader || blocks[i].file != file) {
          file = blocks[i].file;
          reader = std::make_unique<ShardReader>(folder_->descriptor(), name_,
                                                 manifest_.files[size_t(file)], digests_);
          reader->note_in(ledger_, file);
        }
        reader->check(blocks[i].number);
      }
    });
  }

  const launch::Peers& peers_;
  const int threads_;
  const checkpoint::Store& store_;
  const checkpoint::Manifest& manifest_;
  const std::string name_;
  const checkpoint::DigestForm digests_ = digest_form(manifest_);
  std::optional<OpenFile> folder_;
  BlockLedger ledger_;
  std::atomic<int64_t> whole_blocks_{0};
  launch::DiskWork disk_;
};

}  // namespace

Problem check_checkpoint(const launch::Peers& peers, int threads, const checkpoint::Store& store,
                         const checkpoint::Manifest& manifest, const state::StateView* view) {
  return Check(peers, threads, store, manifest).run(view);
}

}  // namespace zero::save
