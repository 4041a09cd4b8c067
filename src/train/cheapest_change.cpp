#include "zero/train/cheapest_change.hpp"

#include <algorithm>
#include <vector>

namespace zero::train {
namespace {

constexpr int kMostRanks = 1024;
constexpr int64_t kLargestMicroBatch = 65536;

/// One setting of one cost, and what to type for it ("" = as it is).
struct Level {
  std::string text;
  std::function<void(RunConfig&)> apply;
};

Level unchanged() {
  return {"", [](RunConfig&) {}};
}

std::vector<Level> recompute_levels(const RunConfig& config) {
  using Mode = Recompute::Mode;
  const auto level = [](Mode mode, const char* name) {
    return Level{text("activation_checkpointing.recompute=", name),
                 [mode](RunConfig& c) { c.recompute = {.mode = mode, .layers = {}}; }};
  };
  std::vector<Level> levels = {unchanged()};
  const Mode now = config.recompute.mode;
  if (now == Mode::none) levels.push_back(level(Mode::selective, "selective"));
  if (now != Mode::full) levels.push_back(level(Mode::full, "full"));
  return levels;
}

/// Stage 3 with the units it keeps or fetches ahead taken away one after the other.
std::vector<Level> lean_levels(const RunConfig& config) {
  const std::string stage = config.zero.stage < 3 ? "zero.stage=3 " : "";
  const std::string reuse = stage + "zero.stage3_max_reuse_distance=0";
  const std::string prefetch = reuse + " zero.stage3_prefetch_bucket_size=0";
  const auto drop_reuse = [](RunConfig& c) {
    c.zero.stage = 3;
    c.zero.stage3_max_reuse_distance = 0;
  };
  return {{reuse, drop_reuse}, {prefetch, [drop_reuse](RunConfig& c) {
                                  drop_reuse(c);
                                  c.zero.stage3_prefetch_bucket_size = 0;
                                }}};
}

std::vector<Level> stage_levels(const RunConfig& config, int ranks) {
  std::vector<Level> levels = {unchanged()};
  if (ranks == 1) return levels;
  for (int64_t stage = config.zero.stage + 1; stage <= 3; ++stage) {
    levels.push_back({text("zero.stage=", stage), [stage](RunConfig& c) { c.zero.stage = stage; }});
  }
  const std::vector<Level> lean = lean_levels(config);
  levels.insert(levels.end(), lean.begin(), lean.end());
  return levels;
}

/// Micro-batches from the present one down that leave the samples of a step as they are.
std::vector<Level> micro_levels(const RunConfig& config, const BatchSizes& batch) {
  std::vector<Level> levels = {unchanged()};
  for (int64_t micro = batch.micro - 1; micro >= 1; --micro) {
    if (batch.micro % micro != 0) continue;
    const int64_t accumulation = batch.accumulation * (batch.micro / micro);
    std::string keys = text("train_micro_batch_size_per_gpu=", micro);
    const bool derived = config.train_batch_size > 0 && config.gradient_accumulation_steps == 0;
    if (!derived) keys += text(" gradient_accumulation_steps=", accumulation);
    const bool evaluates_more = config.evaluation.micro_batch_size > micro;
    if (evaluates_more) keys += text(" evaluation.micro_batch_size=", micro);
    levels.push_back({keys, [=](RunConfig& c) {
                        c.train_micro_batch_size_per_gpu = micro;
                        c.gradient_accumulation_steps = derived ? 0 : accumulation;
                        if (evaluates_more) c.evaluation.micro_batch_size = micro;
                      }});
  }
  return levels;
}

std::string join(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) {
    if (!part.empty()) out += (out.empty() ? "" : " ") + part;
  }
  return out;
}

/// Whether a configuration compiles and fits; one that cannot work does not.
bool works(const RunConfig& config, const Team& team, const Fits& fits) {
  try {
    return fits(build(config, team));
  } catch (const Error& error) {
    if (error.exit() != Exit::kUsage) throw;
    return false;
  }
}

class Search {
 public:
  Search(const RunConfig& config, const Team& team, const Fits& fits)
      : config_(config), team_(team), fits_(fits) {}

  std::optional<Change> among_all() {
    for (int ranks = team_.ranks; ranks <= kMostRanks; ranks *= 2) {
      if (auto change = on_ranks(ranks)) return change;
    }
    return std::nullopt;
  }

 private:
  std::optional<Change> on_ranks(int ranks) {
    const Team team{ranks, team_.threads};
    const std::vector<Level> stages = stage_levels(config_, ranks);
    const std::vector<Level> recomputes = recompute_levels(config_);
    const std::vector<Level> micros = micros_on(ranks);
    if (micros.empty() ||
        !works(changed({stages.back(), recomputes.back(), micros.back()}), team, fits_)) {
      return std::nullopt;
    }
    for (const Level& stage : stages) {
      for (const Level& recompute : recomputes) {
        if (auto change = among_micros({stage, recompute}, micros, team)) return change;
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

  /// The smallest micro-batch needs the least, so where it does not fit none does.
  std::optional<Change> among_micros(std::vector<Level> levels, const std::vector<Level>& micros,
                                     const Team& team) const {
    levels.push_back(micros.back());
    if (!works(changed(levels), team, fits_)) return std::nullopt;
    for (const Level& micro : micros) {
      levels.back() = micro;
      RunConfig config = changed(levels);
      if (!works(config, team, fits_)) continue;
      const std::string ranks = team.ranks > team_.ranks ? text("--ranks ", team.ranks) : "";
      return Change{join({levels[0].text, levels[1].text, levels[2].text, ranks}),
                    std::move(config), team.ranks};
    }
    return std::nullopt;
  }

  RunConfig changed(const std::vector<Level>& levels) const {
    RunConfig config = config_;
    for (const Level& level : levels) level.apply(config);
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

std::optional<Change> cheapest_change(const RunConfig& config, const Team& team, const Fits& fits) {
  return Search(config, team, fits).among_all();
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

}  // namespace zero::train
