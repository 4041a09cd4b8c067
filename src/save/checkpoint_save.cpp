#include "src/save/checkpoint_save.hpp"

#include <memory>
#include <sstream>
#include <utility>

#include "src/save/checkpoint_agreement.hpp"
#include "zero/base/error.hpp"
#include "zero/io/checkpoint/shard_file.hpp"
#include "zero/io/files/open_file.hpp"

namespace zero::save {
namespace {

/// An error on every rank when a save has failed on any.
struct SaveFailed {
  SaveFault fault;
};

/// Returns a rank's words on its file, for rank 0's manifest. Blanks separate the fields, which are
/// never empty and hold none. Digests come last, so the beginning of a damaged line shows the
/// others.
std::string to_text(const checkpoint::ShardWriter::Written& written) {
  std::string words = text(written.file.name, " ", written.file.bytes, " ",
                           int(written.refuses_direct), " ", written.offsets.size(), " ");
  for (const int64_t offset : written.offsets) words += std::to_string(offset) + " ";
  return words + written.file.digests;
}

checkpoint::ShardWriter::Written written_of(int rank, const std::string& words) {
  checkpoint::ShardWriter::Written written;
  std::istringstream in(words);
  size_t offsets = 0;
  in >> written.file.name >> written.file.bytes >> written.refuses_direct >> offsets;
  if (in && offsets <= words.size()) written.offsets.resize(offsets);
  for (int64_t& offset : written.offsets) in >> offset;
  in >> written.file.digests;
  ZERO_REQUIRE(in && written.offsets.size() == offsets, "rank ", rank, " tells of its file '",
               words.substr(0, 100), "' and not name, bytes, flag, offsets and digests");
  return written;
}

class Save {
 public:
  Save(const SaveOrder& order, const launch::Peers& peers, Payload& payload,
       std::atomic<int64_t>& pieces)
      : order_(order), peers_(peers), payload_(payload), pieces_(pieces) {}

  SaveFault run() {
    SaveFault fault;
    try {
      commit();
    } catch (const SaveFailed& failed) {
      fault = failed.fault;
    }
    // Every rank waits here and not in a collective of the next step.
    if (fault.what.empty()) {
      agree([&] { retain(); });
    } else {
      // A network's file system keeps open files in their folder, so every rank closes its own.
      peers_.share("");
      agree([&] { fault.what += abandon(); });
    }
    return fault;
  }

 private:
  /// Runs work that does not communicate on every rank. If it fails on any, the save fails on all.
  void agree(const std::function<void()>& work) const {
    const Problem problem = first_problem(peers_, disk_, work);
    if (!problem) return;
    const std::string host = problem.host.empty() ? "" : " on " + problem.host;
    throw SaveFailed{
        {.what = text("rank ", problem.rank, host, ": ", problem.what), .blamed = problem.blamed}};
  }

  void commit() {
    agree([&] {
      if (is_first_) temporary_ = order_.store.begin(order_.step);
    });
    temporary_ = peers_.share(temporary_)[0];
    publish(write_shards());
  }

  /// Returns the structure of this rank's file, which is equal in all saves.
  const checkpoint::ShardStructure& structure() const {
    std::optional<checkpoint::ShardStructure>& kept = order_.kept.structure;
    if (!kept) kept.emplace(state::slice_plans(order_.plan, rank_, order_.parts));
    return *kept;
  }

  /// Writes this rank's file. Returns all ranks' words on rank 0. Ranks agree when each has room,
  /// and when each has its file on the disk; between that no rank waits for another.
  std::vector<std::string> write_shards() {
    OpenFile folder;
    std::unique_ptr<checkpoint::ShardWriter> file;
    agree([&] {
      folder = OpenFile(order_.store.open_folder(temporary_));
      file = std::make_unique<checkpoint::ShardWriter>(
          folder.descriptor(), checkpoint::rank_file_name(rank_), structure(), *order_.kept.staging,
          digests());
    });
    std::string told;
    agree([&] {
      for (size_t i = 0; i < payload_.pieces(); ++i, ++pieces_) {
        if (is_in_vain_) return;
        payload_.append_to(*file, i);
      }
      // The disk takes the last pieces meanwhile.
      if (is_first_) write_index(folder);
      told = to_text(file->finish());
    });
    return peers_.gather(told);
  }

  void publish(const std::vector<std::string>& written) {
    OpenFile folder;
    agree([&] {
      folder = OpenFile(order_.store.open_folder(temporary_));
      if (is_first_) write_manifest(written);
    });
    agree([&] {
      checkpoint::Store::sync_folder(folder.descriptor(), order_.store.root() + "/" + temporary_);
    });
    agree([&] {
      if (is_first_) order_.store.publish(temporary_, order_.step);
    });
  }

  const checkpoint::DigestForm& digests() const {
    std::optional<checkpoint::DigestForm>& kept = order_.kept.digests;
    if (!kept) {
      checkpoint::Manifest manifest;
      state::describe_tensors(order_.plan, order_.parts, manifest);
      kept = digest_form(manifest);
    }
    return *kept;
  }

  /// Returns the manifest as it is before anything is written.
  checkpoint::Manifest described() const {
    std::optional<checkpoint::Manifest>& kept = order_.kept.described;
    if (!kept) state::describe_slices(order_.plan, peers_.ranks(), order_.parts, kept.emplace());
    checkpoint::Manifest manifest = *kept;
    manifest.step = order_.step;
    manifest.ranks = peers_.ranks();
    manifest.facts = order_.facts;
    return manifest;
  }

  void write_index(const OpenFile& folder) {
    checkpoint::Manifest manifest = described();
    std::optional<checkpoint::IndexStructure>& index = order_.kept.index;
    if (!index) {
      for (int rank = 0; rank < manifest.ranks; ++rank) {
        manifest.files.emplace_back().name = checkpoint::rank_file_name(rank);
      }
      index.emplace(manifest);
    }
    index_ = index->write(folder.descriptor(), manifest);
  }

  void write_manifest(const std::vector<std::string>& written) {
    checkpoint::Manifest manifest = described();
    std::vector<std::vector<int64_t>> offsets;
    for (size_t rank = 0; rank < written.size(); ++rank) {
      checkpoint::ShardWriter::Written shard = written_of(int(rank), written[rank]);
      if (shard.refuses_direct) warn_of_page_cache(shard.file.name);
      manifest.files.push_back(std::move(shard.file));
      offsets.push_back(std::move(shard.offsets));
    }
    state::place_slices(offsets, manifest);
    manifest.files.push_back(index_);
    order_.store.write_manifest(temporary_, manifest);
  }

  void warn_of_page_cache(const std::string& file) const {
    if (std::exchange(order_.kept.has_warned, true)) return;
    warn(order_.store.root(), ": ", file, " goes through the page cache, which its file system ",
         "will not have passed by: saves are slower and take memory from others");
  }

  /// Removes old checkpoints. A failure costs room, not the run.
  void retain() const {
    if (!is_first_) return;
    try {
      order_.store.retain(order_.retention);
    } catch (const Error& error) {
      warn("old checkpoints stay: ", error.what(), "; the next save tries again");
    }
    warn_of_leftovers(order_.store);
  }

  std::string abandon() const {
    if (!is_first_ || temporary_.empty()) return "";
    const std::string left = order_.store.abandon(temporary_);
    return left.empty() ? "" : "; " + left;
  }

  const SaveOrder& order_;
  const launch::Peers& peers_;
  Payload& payload_;
  std::atomic<int64_t>& pieces_;
  const int rank_ = peers_.rank();
  const bool is_first_ = rank_ == 0;
  std::atomic<bool> is_in_vain_{false};  ///< another rank has failed
  const launch::DiskWork disk_ = {.name = "the save of a checkpoint",
                                  .bytes = payload_.numel() * int64_t(sizeof(float)),
                                  .moved = [this] { return pieces_.load(); },
                                  .is_in_vain = &is_in_vain_};
  std::string temporary_;
  checkpoint::File index_;  ///< on rank 0, when it is on the disk
};

}  // namespace

void warn_of_leftovers(checkpoint::Store& store) {
  for (const std::string& warning : store.take_warnings()) warn(warning);
}

void KeptOfSaves::take_memory(const plan::Plan& plan, std::span<const setup::SavedPart> parts) {
  staging.emplace(checkpoint::kStagingBytes);
  staging->touch(1);
  reader.emplace(run::host_place(plan));
  if (SliceReader::is_needed(plan, parts)) reader->take_memory();
}

SaveFault save_checkpoint(const SaveOrder& order, const launch::Peers& peers, Payload& payload,
                          std::atomic<int64_t>& pieces) {
  return Save(order, peers, payload, pieces).run();
}

Checkpointer::Background::Background(launch::Session& session, const plan::Plan& plan,
                                     std::span<const setup::SavedPart> parts)
    : session_(session) {
  peers_.wait_asleep();
  session_.on_every_rank([&] {
    disk_.emplace(plan, parts);
    copy_.emplace(plan, parts, session_.threads());
  });
}

Checkpointer::Background::~Background() {
  if (thread_.joinable()) thread_.join();
  peers_.watch_with(nullptr);
}

void Checkpointer::Background::begin(const LivePayload& live, SaveOrder order,
                                     const state::Engine& engine) {
  session_.on_every_rank([&] {
    disk_->freeze(engine.disk());
    copy_->copy(live, disk_->view(session_.rank(), [this](const std::exception_ptr& error) {
      session_.end_all(error);
    }));
  });
  if (!watchdog_) {
    watchdog_ = engine.make_watchdog([this] { return pieces_.load(); },
                                     [] { return std::string("a checkpoint in the background"); });
    peers_.watch_with(watchdog_.get());
  }
  ended_ = false;
  thread_ = std::thread([this, order = std::move(order)] {
    try {
      fault_ = save_checkpoint(order, peers_, *copy_, pieces_);
    } catch (...) {
      session_.end_all(std::current_exception());
    }
    ended_ = true;
  });
}

SaveFault Checkpointer::Background::end() {
  thread_.join();
  disk_->thaw();
  return std::exchange(fault_, {});
}

}  // namespace zero::save
