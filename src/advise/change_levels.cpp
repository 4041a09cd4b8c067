#include "src/advise/change_levels.hpp"

#include <algorithm>
#include <cmath>

#include "zero/advise/cheapest_change.hpp"
#include "zero/base/error.hpp"
#include "zero/setup/build.hpp"

namespace zero::advise {
namespace {

/// States return to the device in steps of 1 / kParts of those that leave it.
constexpr int kParts = 32;

using Mode = Recompute::Mode;

Level recompute_level(Mode mode, const char* name) {
  return {{text("activation_checkpointing.recompute=", name),
           [mode](RunConfig& c) { c.recompute = {.mode = mode, .layers = {}}; }}};
}

/// Returns a folder that the input file names, otherwise a placeholder.
std::string folder_for(const RunConfig& config) {
  for (const std::string* folder :
       {&config.offload_optimizer.nvme_path, &config.offload_param.nvme_path,
        &config.offload_activations.nvme_path}) {
    if (!folder->empty()) return *folder;
  }
  return kFolderToName;
}

const char* word_of(Home home) {
  constexpr const char* kWords[] = {"none", "cpu", "nvme", "auto"};
  return kWords[size_t(home)];
}

std::string both(const std::string& a, const std::string& b) {
  return a.empty() || b.empty() ? a + b : a + " " + b;
}

/// A change of the folder that a home needs. A folder without use would be refused.
struct Folder {
  Folder(Home home, const std::string& now, const std::string& section, const std::string& first)
      : changes((home == Home::nvme) == now.empty()), path(home == Home::nvme ? first : "") {
    if (changes) words = text(section, ".nvme_path=", path);
  }

  bool changes;
  std::string path, words = {};
};

/// Returns the change of the home in section `of`. An "auto" stays, and may get a disk.
template <class Section>
Level home_level(const RunConfig& config, const char* section, Section RunConfig::*of, Home home) {
  const Section& now = config.*of;
  const Folder folder(home, now.nvme_path, section, folder_for(config));
  const bool stays = now.device == Home::automatic;
  if (stays ? home != Home::nvme || !folder.changes : now.device == home) return {};
  const std::string device = stays ? "" : text(section, ".device=", word_of(home));
  return {{both(device, folder.words), [=](RunConfig& c) {
             if (!stays) (c.*of).device = home;
             if (folder.changes) (c.*of).nvme_path = folder.path;
           }}};
}

Level optimizer_level(const RunConfig& config, Home home) {
  return home_level(config, "zero.offload_optimizer", &RunConfig::offload_optimizer, home);
}
Level parameter_level(const RunConfig& config, Home home) {
  return home_level(config, "zero.offload_param", &RunConfig::offload_param, home);
}

Level activation_level(const RunConfig& config, Home home) {
  const OffloadActivationsConfig& now = config.offload_activations;
  const char* const section = "activation_checkpointing";
  const Folder folder(home, now.nvme_path, section, folder_for(config));
  std::string keys = text(section, ".offload=", word_of(home));
  if (now.cpu_checkpointing) keys = both(text(section, ".cpu_checkpointing=false"), keys);
  return {{both(keys, folder.words), [=](RunConfig& c) {
             c.offload_activations.cpu_checkpointing = false;
             c.offload_activations.offload = home;
             if (folder.changes) c.offload_activations.nvme_path = folder.path;
           }}};
}

Setting stage_setting(int64_t stage) {
  return {text("zero.stage=", stage), [stage](RunConfig& c) { c.zero.stage = stage; }};
}

Level stage_level(const RunConfig& config, int64_t stage) {
  return stage > config.zero.stage ? Level{stage_setting(stage)} : Level{};
}

/// Returns the settings of stage 3 without kept and prefetched units.
Level lean_settings() {
  return {{"zero.stage3_max_reuse_distance=0",
           [](RunConfig& c) { c.zero.stage3_max_reuse_distance = 0; }},
          {"zero.stage3_param_persistence_threshold=0",
           [](RunConfig& c) { c.zero.stage3_param_persistence_threshold = 0; }},
          {"zero.stage3_prefetch_bucket_size=0",
           [](RunConfig& c) { c.zero.stage3_prefetch_bucket_size = 0; }}};
}

/// Returns larger groups, of which each holds fewer copies of the weights; empty if one holds all.
Level group_level(const RunConfig& config, int ranks) {
  const int64_t now = config.zero.shard_group;
  if (now == 0 || config.zero.stage != 3) return {};
  const auto setting = [](const std::string& word, int64_t group) {
    return Setting{text("zero.shard_group=", word),
                   [group](RunConfig& c) { c.zero.shard_group = group; }};
  };
  Setting all = setting("all", 0);
  for (int64_t group = 2 * now; now > 0 && group < ranks; group += now) {
    if (ranks % group == 0) all.weaker.push_back(setting(text(group), group));
  }
  return {all};
}

std::vector<Level> stage_levels(const RunConfig& config, int ranks) {
  std::vector<Level> levels = {{}};
  if (ranks == 1) return levels;
  const Level groups = group_level(config, ranks);
  if (!groups.empty()) levels.push_back(groups);
  for (int64_t stage = config.zero.stage + 1; stage <= 3; ++stage) {
    levels.push_back({stage_setting(stage)});
  }
  for (const Setting& setting : lean_settings()) {
    levels.push_back(join({levels.back(), {setting}}));
  }
  return levels;
}

Setting buffers_setting(int64_t count) {
  return {text("zero.offload_optimizer.buffer_count=", count),
          [count](RunConfig& c) { c.offload_optimizer.buffer_count = count; }};
}

/// Returns one buffer, with larger numbers as weaker settings; empty if "auto" finds one by itself.
Level buffers_level(const RunConfig& config) {
  const int64_t now = config.offload_optimizer.buffer_count;
  if (now <= 1 || config.offload_optimizer.device == Home::none) return {};
  Setting one = buffers_setting(1);
  for (int64_t count = now - 1; count > 1; --count) one.weaker.push_back(buffers_setting(count));
  return {one};
}

/// Returns the setting for `parts` of the states that leave the device, rounded to the typed
/// digits.
Setting ratio_setting(const RunConfig& config, int parts) {
  constexpr double kDigits = 1e4;
  const double share = config.offload_optimizer.ratio * parts / kParts;
  const double ratio = std::floor(share * kDigits) / kDigits;
  return {text("zero.offload_optimizer.ratio=", ratio),
          [ratio](RunConfig& c) { c.offload_optimizer.ratio = ratio; }};
}

/// Returns settings that keep more and more states on the device. The search tries them, because
/// host memory requires many there and the device few. Empty if no states leave, or if "auto" finds
/// the number.
std::vector<Level> ratio_levels(const RunConfig& config) {
  const Home now = config.offload_optimizer.device;
  std::vector<Level> levels;
  if (now != Home::cpu && now != Home::nvme) return levels;
  int more = kParts;
  for (const int parts : {31, 30, 28, 24, 16, 8, 1}) {
    Setting setting = ratio_setting(config, parts);
    for (int weaker = more - 1; weaker > parts; --weaker) {
      setting.weaker.push_back(ratio_setting(config, weaker));
    }
    more = parts;
    levels.push_back({setting});
  }
  return levels;
}

/// Returns changes that move states from host memory back to the device.
std::vector<Level> back_levels(const RunConfig& config) {
  std::vector<Level> levels;
  if (config.offload_optimizer.device == Home::cpu) levels = ratio_levels(config);
  if (config.offload_param.device == Home::cpu) {
    levels.push_back(parameter_level(config, Home::none));
  }
  return levels;
}

bool is_slower(Home now, Home home) { return now != Home::automatic && now > home; }

/// Returns changes from disk to host memory, then also the leanest settings.
std::vector<Level> off_disk_levels(const RunConfig& config) {
  Level moved;
  if (config.offload_optimizer.device == Home::nvme) moved = optimizer_level(config, Home::cpu);
  if (config.offload_param.device == Home::nvme) {
    moved = join({moved, parameter_level(config, Home::cpu)});
  }
  if (config.offload_activations.home() == Home::nvme) {
    moved = join({moved, activation_level(config, Home::cpu)});
  }
  if (moved.empty()) return {};
  return {moved, join({stage_level(config, 3), lean_settings(), moved})};
}

/// Returns changes that move optimizer states, then also parameters, to one tier. They cover each
/// stage with such homes, then the leanest stage 3.
std::vector<Level> home_levels(const RunConfig& config, Home home) {
  std::vector<Level> levels;
  if (is_slower(config.offload_optimizer.device, home)) return levels;
  const Level optimizer = optimizer_level(config, home);
  for (int64_t stage = std::max(kLeastOffloadStage, config.zero.stage); stage <= 3; ++stage) {
    if (!optimizer.empty()) levels.push_back(join({stage_level(config, stage), optimizer}));
  }
  Level parameters;
  for (const Home other : {Home::cpu, Home::nvme}) {
    if (other > home || is_slower(config.offload_param.device, other)) continue;
    const Level moved = parameter_level(config, other);
    if (moved.empty()) continue;
    parameters = moved;
    levels.push_back(join({stage_level(config, 3), optimizer, parameters}));
  }
  levels.push_back(join({stage_level(config, 3), lean_settings(), optimizer, parameters}));
  return levels;
}

std::vector<Level> joined_with(const std::vector<Level>& levels, const Level& more) {
  std::vector<Level> out;
  for (const Level& level : levels) out.push_back(join({level, more}));
  return out;
}

/// A collector of groups of levels, with their variants.
class Groups {
 public:
  explicit Groups(const RunConfig& config)
      : buffers_(buffers_level(config)), saves_(saves_level(config)) {}

  /// Adds a group whose last level is the leanest.
  void add(std::vector<Level> group) {
    if (group.empty()) return;
    if (!buffers_.empty()) group.push_back(join({group.back(), buffers_}));
    append(group);
    levels_.leanest.push_back(join({group.back(), saves_}));
  }

  /// Adds a group in which no level is leaner than another.
  void add_equals(const std::vector<Level>& group) {
    append(group);
    for (Level& level : joined_with(group, saves_)) levels_.leanest.push_back(std::move(level));
  }

  StateLevels levels() && { return std::move(levels_); }

 private:
  static Level saves_level(const RunConfig& config) {
    if (!config.checkpoint.async) return {};
    return {{"checkpoint.async=false", [](RunConfig& c) { c.checkpoint.async = false; }}};
  }

  void append(const std::vector<Level>& group) {
    levels_.all.insert(levels_.all.end(), group.begin(), group.end());
    if (saves_.empty()) return;
    for (Level& level : joined_with(group, saves_)) levels_.all.push_back(std::move(level));
  }

  Level buffers_, saves_;
  StateLevels levels_;
};

Setting evaluation_setting(int64_t micro) {
  return {text("evaluation.micro_batch_size=", micro),
          [micro](RunConfig& c) { c.evaluation.micro_batch_size = micro; }};
}

/// Returns smaller micro-batches for evaluations, if these may need more memory than training.
Level evaluation_level(const RunConfig& config, const BatchSizes& batch) {
  const int64_t now = setup::evaluation_micro_batch(config, batch);
  const bool writes = config.evaluation.generate || config.evaluation.show_samples > 0;
  if (now <= 1 || (now <= batch.micro && !writes)) return {};
  Setting one = evaluation_setting(1);
  for (int64_t micro = now - 1; micro > 1; --micro) {
    one.weaker.push_back(evaluation_setting(micro));
  }
  return {one};
}

}  // namespace

std::string words_of(const Level& settings) {
  std::string out;
  for (const Setting& setting : settings) out = both(out, setting.text);
  return out;
}

Level join(std::initializer_list<Level> levels) {
  Level all;
  for (const Level& level : levels) all.insert(all.end(), level.begin(), level.end());
  return all;
}

std::vector<Level> micro_levels(const RunConfig& config, const BatchSizes& batch) {
  std::vector<Level> levels = {{}};
  const Level evaluation = evaluation_level(config, batch);
  if (!evaluation.empty()) levels.push_back(evaluation);
  for (int64_t micro = batch.micro - 1; micro >= 1; --micro) {
    if (batch.micro % micro != 0) continue;
    const int64_t accumulation = batch.accumulation * (batch.micro / micro);
    std::string keys = text("train_micro_batch_size_per_gpu=", micro);
    const bool derived = config.train_batch_size > 0 && config.gradient_accumulation_steps == 0;
    if (!derived) keys += text(" gradient_accumulation_steps=", accumulation);
    const bool evaluates_more = config.evaluation.micro_batch_size > micro;
    if (evaluates_more) keys += text(" evaluation.micro_batch_size=", micro);
    levels.push_back({{keys, [=](RunConfig& c) {
                         c.train_micro_batch_size_per_gpu = micro;
                         c.gradient_accumulation_steps = derived ? 0 : accumulation;
                         if (evaluates_more) c.evaluation.micro_batch_size = micro;
                       }}});
  }
  return levels;
}

std::vector<Level> recompute_levels(const RunConfig& config) {
  std::vector<Level> levels = {{}};
  const Mode now = config.recompute.mode;
  if (now == Mode::none) levels.push_back(recompute_level(Mode::selective, "selective"));
  if (now != Mode::full) levels.push_back(recompute_level(Mode::full, "full"));
  return levels;
}

std::vector<Level> activation_levels(const RunConfig& config, Home home) {
  std::vector<Level> levels;
  if (home <= config.offload_activations.home()) return levels;
  for (const Level& level : recompute_levels(config)) {
    if (level.empty() && config.recompute.mode == Mode::none) continue;
    levels.push_back(join({level, activation_level(config, home)}));
  }
  return levels;
}

StateLevels state_levels(const RunConfig& config, int ranks) {
  Groups groups(config);
  groups.add(stage_levels(config, ranks));
  groups.add_equals(back_levels(config));
  groups.add(off_disk_levels(config));
  groups.add(home_levels(config, Home::cpu));
  const std::vector<Level> disk = home_levels(config, Home::nvme);
  groups.add(disk);
  const Level leanest = join({disk.back(), buffers_level(config)});
  std::vector<Level> shared;
  for (const Level& ratio : ratio_levels(config)) shared.push_back(join({leanest, ratio}));
  groups.add_equals(shared);
  return std::move(groups).levels();
}

}  // namespace zero::advise
