#include "zero/train/checkpointer.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "src/train/checkpoint_agreement.hpp"
#include "src/train/checkpoint_facts.hpp"
#include "src/train/checkpoint_layout.hpp"
#include "src/train/format.hpp"
#include "zero/io/checkpoint/shard_file.hpp"
#include "zero/io/files/open_file.hpp"

namespace zero::train {
namespace {

using checkpoint::Store;
using Json = nlohmann::json;

/// Ranks wait for each other after this many pieces, so that a watchdog can tell a rank that hangs
/// from a file that is long.
constexpr size_t kPiecesARound = 16;

/// Thrown on every rank alike when a save has failed on any.
struct SaveFailed {
  std::string what;
};

int mode_of(Permissions permissions) {
  constexpr int kModes[] = {0700, 0750, 0755, 0770};
  return kModes[size_t(permissions)];
}

/// What a rank tells of its file; the manifest is written by the first.
std::string to_text(const checkpoint::ShardWriter::Written& written) {
  return Json{{"name", written.file.name},
              {"bytes", written.file.bytes},
              {"crc32c", written.file.crc32c},
              {"xxh3", written.file.xxh3},
              {"offsets", written.offsets}}
      .dump();
}

checkpoint::ShardWriter::Written written_of(const std::string& words) {
  const Json json = Json::parse(words);
  return {.file = {.name = json["name"],
                   .bytes = json["bytes"],
                   .crc32c = json["crc32c"],
                   .xxh3 = json["xxh3"]},
          .offsets = json["offsets"]};
}

void sync_folder(const OpenFile& folder, const std::string& name) {
  // EINVAL: there is nothing behind this file system that it could be sent to.
  if (fsync(folder.descriptor()) == 0 || errno == EINVAL) return;
  refuse(Exit::kIo, name, ": fsync: ", std::strerror(errno));
}

}  // namespace

Checkpointer::Checkpointer(Session& session, const RunConfig& config, Facts facts)
    : session_(session), config_(config), facts_(std::move(facts)) {
  const std::string root = checkpoint_root(config);
  const auto open = [&](bool writes) {
    store_ = std::make_unique<Store>(Store::Options{
        .root = root, .writes = writes, .permissions = mode_of(config.checkpoint.permissions)});
  };
  session_.together([&] {
    if (!session_.is_first()) return;
    open(true);
    if (config.checkpoint.resume != Resume::never || store_->steps().empty()) return;
    refuse(Exit::kUsage, "checkpoint.dir: ", root,
           ": holds checkpoints, and checkpoint.resume = \"never\" begins anew - write another "
           "checkpoint.dir, or resume = \"auto\" to go on from them");
  });
  session_.together([&] {
    if (!session_.is_first()) open(false);
  });
}

/// Runs work that does not communicate on every rank; where it fails on any, the save has failed on
/// all.
void Checkpointer::agree(const std::function<void()>& work) {
  const Problem problem = first_problem(session_.peers(), work);
  if (problem) throw SaveFailed{text("rank ", problem.rank, ": ", problem.what)};
}

bool Checkpointer::save(int64_t step, Engine& engine) {
  try {
    commit(step, engine);
  } catch (const SaveFailed& failed) {
    give_up(text("the checkpoint of step ", step, " failed: ", failed.what));
    return false;
  }
  retain();
  return true;
}

/// The commit protocol: what is acknowledged when this returns survives a loss of power.
void Checkpointer::commit(int64_t step, Engine& engine) {
  temporary_.clear();
  agree([&] {
    if (session_.is_first()) temporary_ = store_->begin(step);
  });
  temporary_ = session_.peers().share(temporary_)[0];
  publish(step, engine, write_shards(engine.view()));
  temporary_.clear();
}

/// Writes this rank's file. What every rank tells of its own is on rank 0.
std::vector<std::string> Checkpointer::write_shards(const StateView& view) {
  const std::vector<checkpoint::SlicePlan> plans = slice_plans(*view.plan, view.rank);
  const std::vector<SavedSlice> pieces = pieces_of(saved_slices(*view.plan, view.rank));
  OpenFile folder;
  std::unique_ptr<checkpoint::ShardWriter> file;
  agree([&] {
    folder = OpenFile(store_->open_folder(temporary_));
    file = std::make_unique<checkpoint::ShardWriter>(folder.descriptor(),
                                                     format("rank%05d.h5", view.rank), plans);
  });
  std::vector<float> room;
  const size_t rounds = size_t(session_.peers().largest(int64_t(pieces.size() / kPiecesARound)));
  for (size_t round = 0; round <= rounds; ++round) {
    agree([&] {
      const size_t end = std::min(pieces.size(), (round + 1) * kPiecesARound);
      for (size_t i = round * kPiecesARound; i < end; ++i) {
        file->append(read_piece(view, pieces[i], room));
      }
    });
  }
  std::string told;
  agree([&] { told = to_text(file->finish()); });
  return session_.peers().gather(told);
}

void Checkpointer::publish(int64_t step, Engine& engine, const std::vector<std::string>& written) {
  OpenFile folder;
  agree([&] {
    folder = OpenFile(store_->open_folder(temporary_));
    if (!session_.is_first()) return;
    checkpoint::Manifest manifest{.step = step,
                                  .ranks = session_.ranks(),
                                  .facts = facts_,
                                  .tensors = {},
                                  .slices = {},
                                  .files = {}};
    add_state(engine.state(), manifest.facts);
    std::vector<std::vector<int64_t>> offsets;
    for (const std::string& words : written) {
      checkpoint::ShardWriter::Written shard = written_of(words);
      manifest.files.push_back(std::move(shard.file));
      offsets.push_back(std::move(shard.offsets));
    }
    describe_slices(engine.plan(), offsets, manifest);
    manifest.files.push_back(checkpoint::write_index(folder.descriptor(), manifest));
    store_->write_manifest(temporary_, manifest);
  });
  agree([&] { sync_folder(folder, store_->root() + "/" + temporary_); });
  agree([&] {
    if (session_.is_first()) store_->publish(temporary_, step);
  });
}

/// What cannot be removed costs room, not the run.
void Checkpointer::retain() {
  if (!session_.is_first()) return;
  try {
    store_->retain(
        {.keep = config_.checkpoint.keep, .keep_every = config_.checkpoint.keep_every, .best = {}});
  } catch (const Error& error) {
    std::fprintf(stderr, "zeroapp: warning: old checkpoints stay: %s\n", error.what());
  }
}

void Checkpointer::give_up(const std::string& problem) {
  std::string left;
  if (session_.is_first() && !temporary_.empty()) left = store_->abandon(temporary_);
  temporary_.clear();
  const std::string words = left.empty() ? problem : problem + "; " + left;
  if (++failures_ > config_.checkpoint.max_failures) {
    session_.together([&] {
      if (session_.is_first()) {
        refuse(Exit::kIo, words, " - mend that; checkpoint.max_failures = ", failures_,
               " would have let training go on");
      }
    });
  }
  if (!session_.is_first()) return;
  std::fprintf(stderr, "zeroapp: warning: %s; training goes on\n", words.c_str());
}

}  // namespace zero::train
