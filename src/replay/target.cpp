#include "src/replay/target.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "src/replay/recorded.hpp"
#include "zero/base/error.hpp"
#include "zero/base/path.hpp"
#include "zero/base/text.hpp"
#include "zero/config/toml.hpp"
#include "zero/io/checkpoint/store.hpp"
#include "zero/io/files/input_file.hpp"
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

int64_t stage_in(const std::string& folder) {
  const std::string settings = read_whole(folder + "/effective.toml", int64_t(kTomlMaxBytes));
  for (const TomlEntry& entry : parse_toml(settings).entries) {
    const int64_t* stage = std::get_if<int64_t>(&entry.value);
    if (entry.key == "zero.stage" && stage) return *stage;
  }
  return -1;
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

Target look(const Request& request) {
  require_run(request.folder);
  Target target{.folder = request.folder,
                .root = save::find_checkpoints(request.folder, Exit::kNoCheckpoint).root,
                .from = request.from};
  if (is_folder(target.root, Exit::kNoCheckpoint))
    target.checkpoints = Store(Store::Options{.root = target.root}).steps();
  require_checkpoint(target);
  const int64_t last = last_recorded(request.folder);
  target.to = request.to > 0 ? request.to : last;
  require_steps(target, last);
  const RecordedLaunch launch = launch_of(request.folder, request.from + 1);
  target.ranks = launch.ranks;
  if (launch.is_last) target.stage = stage_in(request.folder);
  return target;
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
