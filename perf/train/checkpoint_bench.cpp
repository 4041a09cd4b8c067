// Saves and loads of a whole state, each when a word on stdin asks for it, so that
// perf/train/checkpoint.py can let it take turns with others. For each word a line of JSON with
// the seconds of the slowest rank, the bytes of the checkpoint, and the most bytes that a rank held
// beside its plan:
//   save    until the checkpoint is committed; with checkpoint.async until the state is copied
//   copy    a memcpy of what a save copies, rank by rank its share, on as many threads
//   raw     as many bytes written through the page cache, and fsync
//   direct  the same past the page cache
//   load    every digest checked, then the state filled; its files were read once before, as saves
//           leave none of them in memory
//
// usage: [mpirun -np N] perf_train_checkpoint INPUT.toml [KEY=VALUE ...]

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "perf/support/raw_file.hpp"
#include "zero/base/align.hpp"
#include "zero/base/error.hpp"
#include "zero/config/read_config.hpp"
#include "zero/io/files/input_file.hpp"
#include "zero/launch/process_environment.hpp"
#include "zero/model/family.hpp"
#include "zero/save/checkpointer.hpp"
#include "zero/state/state_layout.hpp"

namespace zero::perf {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int64_t kPageBytes = 4096;
constexpr int64_t kReadBytes = int64_t(1) << 20;

double seconds_of(const std::function<void()>& work) {
  const Clock::time_point begin = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Bytes of this process, by "VmHWM:" or "VmRSS:".
int64_t status_bytes(const std::string& which) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(which)) return std::atoll(line.c_str() + which.size()) * 1024;
  }
  return 0;
}

/// From now on the kernel keeps the most of what follows.
void forget_peak() { std::ofstream("/proc/self/clear_refs") << 5; }

/// Leaves a folder's files in memory, as far as it goes.
void read_all(const fs::path& folder) {
  std::vector<std::byte> buffer(static_cast<size_t>(kReadBytes));
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file() || entry.is_symlink()) continue;
    const InputFile file(entry.path());
    for (int64_t at = 0; at < file.bytes(); at += kReadBytes) {
      file.read(at, std::span(buffer).first(size_t(std::min(kReadBytes, file.bytes() - at))));
    }
  }
}

/// A new state's moments are all zero, which a disk might notice.
void fill_moments(const state::StateView& view) {
  for (const plan::Unit& unit : view.plan->units) {
    const state::UnitRange held = state::held_range(unit, unit.optimizer_sharded, view.rank);
    std::vector<float> values(size_t(held.end - held.begin));
    fill_unalike(std::as_writable_bytes(std::span(values)));
    for (const auto kind : state::state_kinds(*view.plan, unit)) {
      if (kind == state::StateKind::master) continue;
      state::write_state(view, unit, kind, held.begin, values);
    }
  }
}

/// One rank with its state and its checkpoints.
class Rank {
 public:
  Rank(launch::Session& session, const ConfigInput& input)
      : session_(session), config_(input.config), rates_(setup::learning_rates(config_)) {
    session_.start_threads(config_.run.threads, config_.run.share_device);
    build_ = setup::build(config_, {.ranks = session.ranks(), .threads = session.threads()});
    parts_ = setup::saved_parts(build_.plan, config_.checkpoint.weights_only);
    comms_ = state::ready_communicators(session_);
    engine_.emplace(session_, comms_, build_, setup::rules_of(config_, rates_),
                    state::Engine::Options{.seed = 1, .disk = state::disk_homes(config_)});
    fill_moments(engine_->view());
    checkpointer_.emplace(session_, config_, build_.plan,
                          save::launch_facts({.config = config_,
                                              .build = build_,
                                              .configuration = {},
                                              .description = {},
                                              .generation = {},
                                              .data = {},
                                              .program = {},
                                              .threads = session.threads()}));
    for (const auto& slice : state::saved_slices(build_.plan, session_.rank(), parts_)) {
      share_ += state::bytes_of_piece(build_.plan, slice);
    }
    control_.wait_asleep();
  }

  /// Until stdin of the first rank ends.
  void serve() {
    for (std::string word = next(); !word.empty(); word = next()) {
      forget_peak();
      const double seconds = measure(word);
      const int64_t beside = control_.largest(status_bytes("VmHWM:") - planned_bytes());
      const double slowest = double(control_.largest(int64_t(seconds * 1e9))) / 1e9;
      const double bytes = control_.sum(double(share_));
      if (!session_.is_first()) continue;
      std::printf("{\"seconds\": %.6f, \"bytes\": %.0f, \"beside_plan_bytes\": %lld}\n", slowest,
                  bytes, (long long)beside);
      std::fflush(stdout);
    }
  }

 private:
  std::string next() const {
    std::string word;
    if (session_.is_first()) std::getline(std::cin, word);
    return control_.share(word)[0];
  }

  int64_t planned_bytes() const {
    return build_.plan.arena_bytes[size_t(plan::Tier::device)] +
           build_.plan.arena_bytes[size_t(plan::Tier::host)] + build_.copy_bytes;
  }

  double measure(const std::string& word) {
    const std::map<std::string, double (Rank::*)()> known = {{"save", &Rank::save},
                                                             {"copy", &Rank::copy},
                                                             {"raw", &Rank::write_cached},
                                                             {"direct", &Rank::write_direct},
                                                             {"load", &Rank::load}};
    const auto found = known.find(word);
    if (found == known.end()) refuse(Exit::kUsage, word, ": save, copy, raw, direct or load");
    return (this->*found->second)();
  }

  double save() {
    control_.share("");
    const DataCursor done{.steps = ++step_, .samples = step_ * build_.batch.train};
    const double seconds = seconds_of([&] { checkpointer_->save(done, *engine_); });
    checkpointer_->committed(true);
    remove_older();
    return seconds;
  }

  double load() {
    const std::string& from = config_.checkpoint.resume_from;
    if (session_.is_first()) read_all(from.empty() ? save::checkpoint_root(config_) : from);
    control_.share("");
    return seconds_of([&] {
      const std::optional<save::Start> start = checkpointer_->find_start();
      if (!start) refuse(Exit::kNoCheckpoint, "load: nothing was saved");
      if (!checkpointer_->load(*start, *engine_)) refuse(Exit::kInput, "load: it is damaged");
    });
  }

  double copy() {
    if (!to_.data()) {
      from_ = Arena(round_up(share_, kPageBytes)), to_ = Arena(share_);
      fill_unalike({from_.data(), size_t(from_.bytes())});
      to_.touch(session_.threads());
    }
    const int64_t part = round_up(ceil_div(share_, int64_t(session_.threads())), kPageBytes);
    control_.share("");
    return seconds_of([&] {
      std::vector<std::jthread> world;
      for (int64_t at = 0; at < share_; at += part) {
        world.emplace_back([this, at, bytes = std::min(part, share_ - at)] {
          std::memcpy(to_.data() + at, from_.data() + at, size_t(bytes));
        });
      }
    });
  }

  double write_cached() { return write(RawWay::cached); }
  double write_direct() { return write(RawWay::direct); }

  double write(RawWay way) {
    if (!to_.data()) copy();
    const std::string path = text(config_.run.output, "/raw", session_.rank());
    control_.share("");
    const double seconds = seconds_of([&] {
      RawFile file(path, from_.bytes(), way);
      file.append({from_.data(), size_t(from_.bytes())});
      file.finish();
    });
    fs::remove(path);
    return seconds;
  }

  /// The room of an old checkpoint is given back outside of what is measured, as that of raw files.
  void remove_older() {
    if (session_.is_first()) {
      for (const auto& entry : fs::directory_iterator(save::checkpoint_root(config_))) {
        const bool is_newest = entry.path().filename() == checkpoint::Store::folder_of(step_);
        if (entry.is_directory() && !entry.is_symlink() && !is_newest) fs::remove_all(entry.path());
      }
    }
    control_.share("");
  }

  launch::Session& session_;
  const RunConfig config_;
  const std::vector<float> rates_;
  launch::Peers control_;
  setup::Build build_;
  std::span<const setup::SavedPart> parts_;
  state::Communicators comms_;
  std::optional<state::Engine> engine_;
  std::optional<save::Checkpointer> checkpointer_;
  int64_t share_ = 0, step_ = 0;
  Arena from_, to_;
};

}  // namespace
}  // namespace zero::perf

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: perf_train_checkpoint INPUT.toml [KEY=V]\n"), 2;
  zero::launch::prepare_environment(argv);
  try {
    zero::launch::Session session(argc, argv);
    const std::vector<std::string> settings(argv + 2, argv + argc);
    const zero::model::Catalogue catalogue = zero::model::catalogue();
    session.end_all_on_error([&] {
      zero::perf::Rank(session, zero::read_config_file(catalogue.models, argv[1], settings))
          .serve();
    });
  } catch (const zero::launch::Ended& ended) {
    return int(ended.exit);
  }
  return 0;
}
