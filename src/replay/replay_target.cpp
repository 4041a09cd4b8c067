#include "src/replay/replay_target.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "src/replay/replay_records.hpp"
#include "zero/base/error.hpp"
#include "zero/base/path.hpp"
#include "zero/base/text.hpp"
#include "zero/config/toml.hpp"
#include "zero/io/checkpoint/shard_file.hpp"
#include "zero/io/checkpoint/store.hpp"
#include "zero/io/files/input_file.hpp"
#include "zero/launch/console.hpp"
#include "zero/save/checkpoint_facts.hpp"
#include "zero/save/checkpointer.hpp"

namespace zero::replay {
namespace {

using checkpoint::Store;
using Json = nlohmann::ordered_json;

void require_run(const std::string& folder) {
  for (const char* name : {"effective.toml", "metrics.jsonl", "launches.jsonl"}) {
    if (is_there(folder + "/" + name)) continue;
    refuse(Exit::kInput, folder, ": is no run, as it has no ", name,
           " - name the folder that a run left, run.output");
  }
}

/// The settings of the last launch on which the bits of its ranks depend.
struct LastSettings {
  int64_t stage = -1;
  bool reproducible = false;
};

LastSettings settings_in(const std::string& folder) {
  const std::string content = read_whole(folder + "/effective.toml", int64_t(kTomlMaxBytes));
  LastSettings settings;
  for (const TomlEntry& entry : parse_toml(content).entries) {
    const int64_t* stage = std::get_if<int64_t>(&entry.value);
    if (entry.key == "zero.stage" && stage) settings.stage = *stage;
    const bool* flag = std::get_if<bool>(&entry.value);
    if (entry.key == "numerics.reproducible" && flag) settings.reproducible = *flag;
  }
  return settings;
}

std::string list_of(const std::vector<int64_t>& steps) {
  std::string words;
  for (const int64_t step : steps) words += text(words.empty() ? "" : ", ", step);
  return words.empty() ? "none" : words;
}

void require_checkpoint(const Target& target) {
  if (target.has_checkpoint(target.from)) return;
  refuse(Exit::kNoCheckpoint, target.root, ": has no checkpoint of step ", target.from,
         " to replay from; there are: ", list_of(target.checkpoints));
}

void require_steps(const Target& target, int64_t last) {
  if (target.from < target.to && target.to <= last) return;
  refuse(Exit::kUsage, target.folder, ": metrics.jsonl has no steps ", target.from + 1, " to ",
         target.to, "; the last one is ", last, " - write --from and --to before it");
}

void require_one_launch(const Target& target, int64_t end) {
  if (target.to <= end) return;
  refuse(Exit::kUsage, target.folder, ": was not trained with numerics.reproducible, so its bits ",
         "are of its own launches: that of step ", target.from + 1, " ended at step ", end,
         ", a later one took step ", target.to, " - write --to ", end,
         " at most, and replay later steps with a --from of ", end, " or more");
}

Target look(const Request& request) {
  require_run(request.folder);
  Target target{.folder = request.folder,
                .root = save::find_checkpoints(request.folder, Exit::kNoCheckpoint).root,
                .from = request.from};
  if (is_folder(target.root, Exit::kNoCheckpoint))
    target.checkpoints = Store(Store::Options{.root = target.root}).steps();
  require_checkpoint(target);
  const int64_t last = last_recorded(request.folder);
  const LastSettings settings = settings_in(request.folder);
  const RecordedLaunch launch = launch_of(request.folder, request.from + 1);
  const int64_t end = settings.reproducible ? last : std::min(last, launch.end);
  target.to = request.to > 0 ? request.to : end;
  require_steps(target, last);
  require_one_launch(target, end);
  if (request.to == 0 && end < last) {
    launch::Console(true).say(text("steps ", target.from + 1, " to ", end,
                                   " alone: a later launch took step ", end + 1,
                                   ", and the run is not reproducible\n"));
  }
  target.ranks = launch.ranks;
  if (launch.is_last) target.stage = settings.stage;
  return target;
}

/// Requires that this rank's part of a checkpoint's files verifies, and that it holds a state.
void require_whole(const Target& target, int64_t step, const launch::Session& session) {
  const Store store(Store::Options{.root = target.root});
  const checkpoint::Manifest manifest = store.verify(step, false);
  if (save::is_weights_only(manifest.facts))
    refuse(Exit::kNoCheckpoint, target.checkpoint(step), ": holds weights alone");
  const OpenFile folder = store.open_step(step);
  const checkpoint::DigestForm digests = digest_form(manifest);
  for (size_t f = size_t(session.rank()); f < manifest.files.size(); f += size_t(session.ranks())) {
    checkpoint::ShardReader(folder.descriptor(), target.checkpoint(step), manifest.files[f],
                            digests)
        .verify();
  }
}

std::string json_of(const Target& target) {
  return Json{{"root", target.root},
              {"checkpoints", target.checkpoints},
              {"to", target.to},
              {"ranks", target.ranks},
              {"stage", target.stage}}
      .dump();
}

}  // namespace

std::string Target::checkpoint(int64_t step) const { return root + "/" + Store::folder_of(step); }

bool Target::has_checkpoint(int64_t step) const {
  return std::ranges::binary_search(checkpoints, step);
}

int64_t Target::newest_checkpoint(int64_t step) const {
  const auto after = std::ranges::upper_bound(checkpoints, step);
  return after == checkpoints.begin() ? from : std::max(from, *std::prev(after));
}

std::string fault_of(launch::Session& session, const Target& target, int64_t step) {
  std::string fault;
  session.on_every_rank([&] {
    try {
      require_whole(target, step, session);
    } catch (const Error& error) {
      fault = error.what();
    }
  });
  for (const std::string& each : session.peers().share(fault))
    if (!each.empty()) return each;
  return "";
}

Target find_target(launch::Session& session, const Request& request) {
  std::string found;
  session.on_every_rank([&] {
    if (session.is_first()) found = json_of(look(request));
  });
  const Json json = Json::parse(session.peers().share(found)[0]);
  return {.folder = request.folder,
          .root = json.at("root"),
          .checkpoints = json.at("checkpoints").get<std::vector<int64_t>>(),
          .from = request.from,
          .to = json.at("to"),
          .ranks = json.at("ranks"),
          .stage = json.at("stage")};
}

void require_free_keys(const std::vector<std::string>& overrides) {
  constexpr std::string_view kFree[] = {"zero.",
                                        "aio.",
                                        "memory.",
                                        "data.train=",
                                        "data.validation=",
                                        "data.tokenizer=",
                                        "model.init_from=",
                                        "run.threads=",
                                        "run.share_device=",
                                        "run.machine=",
                                        "run.record=",
                                        "run.watchdog=",
                                        "activation_checkpointing."};
  for (const std::string& setting : overrides) {
    const auto begins = [&](std::string_view key) { return setting.starts_with(key); };
    if (std::ranges::any_of(kFree, begins)) continue;
    refuse(Exit::kUsage, "command line: ", setting, ": a replay takes what is computed from the ",
           "run; write settings of [zero], [memory], [aio], [activation_checkpointing], ",
           "run.threads, or the new place of data");
  }
}

}  // namespace zero::replay
