#include "zero/train/cheapest_change.hpp"

#include <algorithm>
#include <vector>

#include "zero/base/settings_error.hpp"
#include "zero/train/homes.hpp"
#include "zero/train/plan_report.hpp"

namespace zero::train {
namespace {

constexpr int64_t kLargestMicroBatch = 65536;

/// One setting, and what to type for it.
struct Setting {
  std::string text;
  std::function<void(RunConfig&)> apply;
};
/// Settings that are made together; none: as it is.
using Level = std::vector<Setting>;

/// A folder that nothing goes to any more would have no effect, and be refused.
std::string without(const std::string& folder, const char* key) {
  return folder.empty() ? "" : text(" ", key, "=");
}

Setting optimizer_on_host(const RunConfig& config) {
  return {"zero.offload_optimizer.device=cpu" +
              without(config.offload_optimizer.nvme_path, "zero.offload_optimizer.nvme_path"),
          [](RunConfig& c) {
            c.offload_optimizer.device = Home::cpu;
            c.offload_optimizer.nvme_path.clear();
          }};
}
Setting parameters_on_host(const RunConfig& config) {
  return {"zero.offload_param.device=cpu" +
              without(config.offload_param.nvme_path, "zero.offload_param.nvme_path"),
          [](RunConfig& c) {
            c.offload_param.device = Home::cpu;
            c.offload_param.nvme_path.clear();
          }};
}
Setting activations_on_host(const RunConfig& config) {
  return {"activation_checkpointing.offload=cpu" +
              without(config.offload_activations.nvme_path, "activation_checkpointing.nvme_path"),
          [](RunConfig& c) {
            c.offload_activations.offload = Home::cpu;
            c.offload_activations.nvme_path.clear();
          }};
}

std::vector<Level> recompute_levels(const RunConfig& config) {
  using Mode = Recompute::Mode;
  const auto level = [](Mode mode, const char* name) {
    return Level{{text("activation_checkpointing.recompute=", name),
                  [mode](RunConfig& c) { c.recompute = {.mode = mode, .layers = {}}; }}};
  };
  std::vector<Level> levels = {{}};
  const Mode now = config.recompute.mode;
  if (now == Mode::none) levels.push_back(level(Mode::selective, "selective"));
  if (now != Mode::full) levels.push_back(level(Mode::full, "full"));
  return levels;
}

/// Those that recompute anything, with what recomputation begins with in host memory.
std::vector<Level> activation_levels(const RunConfig& config) {
  std::vector<Level> levels;
  if (config.offload_activations.home() != Home::none) return levels;
  const Setting offload = activations_on_host(config);
  for (Level& level : recompute_levels(config)) {
    if (level.empty() && config.recompute.mode == Recompute::Mode::none) continue;
    level.push_back(offload);
    levels.push_back(std::move(level));
  }
  return levels;
}

Setting stage_setting(int64_t stage) {
  return {text("zero.stage=", stage), [stage](RunConfig& c) { c.zero.stage = stage; }};
}

/// What rests on disk in host memory instead, then also as lean as `leanest` makes it.
std::vector<Level> levels_off_disk(const RunConfig& config, const Level& leanest) {
  Level level;
  if (config.offload_optimizer.device == Home::nvme) level.push_back(optimizer_on_host(config));
  if (config.offload_param.device == Home::nvme) level.push_back(parameters_on_host(config));
  if (config.offload_activations.home() == Home::nvme) level.push_back(activations_on_host(config));
  if (level.empty()) return {};
  std::vector<Level> levels = {level};
  if (leanest.empty()) return levels;
  levels.push_back(leanest);
  levels.back().insert(levels.back().end(), level.begin(), level.end());
  return levels;
}

/// Optimizer states, then also parameters, in host memory: at each stage that has such homes, then
/// at stage 3 as lean as `leanest` makes it.
std::vector<Level> host_levels(const RunConfig& config, const Level& leanest) {
  const Setting optimizer = optimizer_on_host(config), parameters = parameters_on_host(config);
  std::vector<Level> levels = levels_off_disk(config, leanest);
  if (config.offload_optimizer.device != Home::none) return levels;
  for (int64_t stage = std::max<int64_t>(1, config.zero.stage); stage <= 3; ++stage) {
    levels.push_back({optimizer});
    if (stage > config.zero.stage)
      levels.back().insert(levels.back().begin(), stage_setting(stage));
  }
  if (config.offload_param.device == Home::none) {
    levels.push_back(levels.back());
    levels.back().push_back(parameters);
  }
  if (leanest.empty()) return levels;
  levels.push_back(leanest);
  levels.back().insert(levels.back().end(), {optimizer, parameters});
  return levels;
}

/// Every stage from the present one on, then stage 3 with what it keeps and what it fetches ahead
/// taken away, one after the other.
std::vector<Level> stage_levels(const RunConfig& config, int ranks) {
  std::vector<Level> levels = {{}};
  if (ranks == 1) return levels;
  for (int64_t stage = config.zero.stage + 1; stage <= 3; ++stage) {
    levels.push_back({stage_setting(stage)});
  }
  const Setting lean[] = {{"zero.stage3_max_reuse_distance=0",
                           [](RunConfig& c) { c.zero.stage3_max_reuse_distance = 0; }},
                          {"zero.stage3_param_persistence_threshold=0",
                           [](RunConfig& c) { c.zero.stage3_param_persistence_threshold = 0; }},
                          {"zero.stage3_prefetch_bucket_size=0",
                           [](RunConfig& c) { c.zero.stage3_prefetch_bucket_size = 0; }}};
  for (const Setting& setting : lean) {
    levels.push_back(levels.back());
    levels.back().push_back(setting);
  }
  return levels;
}

/// Those, then with states in host memory.
std::vector<Level> state_levels(const RunConfig& config, int ranks) {
  std::vector<Level> levels = stage_levels(config, ranks);
  for (Level& level : host_levels(config, levels.back())) levels.push_back(std::move(level));
  return levels;
}

/// Micro-batches from the present one down that leave the samples of a step as they are.
std::vector<Level> micro_levels(const RunConfig& config, const BatchSizes& batch) {
  std::vector<Level> levels = {{}};
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

std::string words_of(const Level& settings) {
  std::string out;
  for (const Setting& setting : settings) out += (out.empty() ? "" : " ") + setting.text;
  return out;
}

Level join(std::initializer_list<Level> levels) {
  Level all;
  for (const Level& level : levels) all.insert(all.end(), level.begin(), level.end());
  return all;
}

/// Whether it fits with some home that "auto" may come to, with all or half of the states off the
/// device.
bool fits_somewhere(const RunConfig& config, const Team& team, const Fits& fits) {
  for (RunConfig& candidate : home_candidates(config)) {
    if (fits(build(candidate, team))) return true;
    candidate.offload_optimizer.ratio /= 2;
    const bool shares = config.offload_optimizer.device == Home::automatic &&
                        candidate.offload_optimizer.device != Home::none;
    if (shares && fits(build(candidate, team))) return true;
  }
  return false;
}

/// Whether a configuration compiles and fits; one that cannot work does not.
bool works(const RunConfig& config, const Team& team, const Fits& fits) {
  try {
    return fits_somewhere(config, team, fits);
  } catch (const Error& error) {
    if (error.exit() != Exit::kUsage) throw;
    return false;
  }
}

class Search {
 public:
  Search(const RunConfig& config, const Team& team, const Fits& fits)
      : config_(config), team_(team), fits_(fits) {}

  std::optional<Change> among_all(int most_ranks) {
    for (int ranks = team_.ranks; ranks <= most_ranks; ranks *= 2) {
      if (auto change = on_ranks(ranks)) return change;
    }
    return std::nullopt;
  }

 private:
  std::optional<Change> on_ranks(int ranks) {
    if (auto change = among(recompute_levels(config_), ranks)) return change;
    return among(activation_levels(config_), ranks);
  }

  std::optional<Change> among(const std::vector<Level>& recomputes, int ranks) {
    const Team team{ranks, team_.threads};
    const std::vector<Level> stages = state_levels(config_, ranks);
    const std::vector<Level> micros = micros_on(ranks);
    if (micros.empty() || recomputes.empty()) return std::nullopt;
    // Saves trying every change on ranks that are too few for any. The smallest micro-batch has the
    // least activations, but an fp32 sum of gradients that a single one does without.
    const auto can_fit = [&](const Level& stage) {
      const Level leanest = join({stage, recomputes.back()});
      return fits_with(join({leanest, micros.back()}), team) ||
             fits_with(join({leanest, micros.front()}), team);
    };
    // Host memory may be what is short.
    if (!can_fit(stages.back()) && !can_fit(stage_levels(config_, ranks).back())) {
      return std::nullopt;
    }
    for (const Level& stage : stages) {
      for (const Level& recompute : recomputes) {
        if (auto change = among_micros(join({stage, recompute}), micros, team)) return change;
      }
    }
    return std::nullopt;
  }

  std::vector<Level> micros_on(int ranks) const {
    try {
      return micro_levels(config_, resolve_batch(config_, ranks));
    } catch (const Error&) {
      return {};  // these ranks cannot share the batch
    }
  }

  std::optional<Change> among_micros(const Level& level, const std::vector<Level>& micros,
                                     const Team& team) const {
    for (const Level& micro : micros) {
      Level settings = join({level, micro});
      if (!fits_with(settings, team)) continue;
      drop_needless(settings, team);
      Level typed = settings;
      if (team.ranks > team_.ranks) typed.push_back({text("--ranks ", team.ranks), {}});
      return Change{words_of(typed), changed(settings), team.ranks};
    }
    return std::nullopt;
  }

  void drop_needless(Level& settings, const Team& team) const {
    for (size_t i = 0; i < settings.size();) {
      Level fewer = settings;
      fewer.erase(fewer.begin() + ptrdiff_t(i));
      if (fits_with(fewer, team)) {
        settings = fewer;
      } else {
        ++i;
      }
    }
  }

  bool fits_with(const Level& settings, const Team& team) const {
    return works(changed(settings), team, fits_);
  }

  RunConfig changed(const Level& settings) const {
    RunConfig config = config_;
    for (const Setting& setting : settings) setting.apply(config);
    return config;
  }

  const RunConfig& config_;
  const Team& team_;
  const Fits& fits_;
};

std::vector<int64_t> micro_candidates(const RunConfig& config, const Team& team) {
  const int64_t share = config.train_batch_size / team.ranks;
  const int64_t most = share > 0 ? std::min(share, kLargestMicroBatch) : kLargestMicroBatch;
  std::vector<int64_t> candidates;
  for (int64_t micro = 1; micro <= most; ++micro) {
    if (share == 0 || share % micro == 0) candidates.push_back(micro);
  }
  return candidates;
}

}  // namespace

Fits fits_in(const MemoryLimit& limit) {
  return [limit](const Build& build) { return train::fits(build, limit); };
}

std::optional<Change> cheapest_change(const RunConfig& config, const Team& team, const Fits& fits,
                                      int most_ranks) {
  return Search(config, team, fits).among_all(most_ranks);
}

int64_t largest_micro_batch(const RunConfig& config, const Team& team, const Fits& fits) {
  const auto fits_with = [&](int64_t micro) {
    RunConfig changed = config;
    changed.train_micro_batch_size_per_gpu = micro;
    if (config.train_batch_size > 0) changed.gradient_accumulation_steps = 0;
    return works(changed, team, fits);
  };
  // Memory rises with the micro-batch: doubled until it does not fit, then halved in between.
  const std::vector<int64_t> candidates = micro_candidates(config, team);
  size_t low = 0, high = 1;  // candidates[low - 1] fits, candidates[high - 1] is not known to
  while (high <= candidates.size() && fits_with(candidates[high - 1])) {
    low = high;
    high *= 2;
  }
  high = std::min(high, candidates.size() + 1);
  while (high - low > 1) {
    const size_t middle = (low + high) / 2;
    (fits_with(candidates[middle - 1]) ? low : high) = middle;
  }
  return low == 0 ? 0 : candidates[low - 1];
}

MemoryLimit limit_of_largest(const RunConfig& config, MemoryLimit limit) {
  if (config.memory.device_limit > 0 || config.memory.host_limit > 0) return limit;
  limit.bytes = limit.bytes / 16 * 15;
  limit.source = "15/16 of " + limit.source;
  return limit;
}

void resolve_largest(RunConfig& config, const Team& team, const MemoryLimit& limit) {
  if (config.train_micro_batch_size_per_gpu != kMicroBatchMax) return;
  if (config.train_batch_size > 0 && config.gradient_accumulation_steps > 0) {
    refuse_settings(
        {"train_micro_batch_size_per_gpu", "train_batch_size", "gradient_accumulation_steps"},
        "train_batch_size and gradient_accumulation_steps leave only one micro-batch, ",
        "so none is the largest; write \"auto\" for one of the three");
  }
  const MemoryLimit within = limit_of_largest(config, limit);
  const int64_t largest = largest_micro_batch(config, team, fits_in(within));
  config.train_micro_batch_size_per_gpu = std::max<int64_t>(1, largest);
}

}  // namespace zero::train
