#include "zero/advise/cheapest_change.hpp"

#include <algorithm>
#include <ctime>
#include <vector>

#include "src/advise/change_levels.hpp"
#include "zero/advise/placement.hpp"
#include "zero/advise/plan_report.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"

namespace zero::advise {
namespace {

/// Micro-batches with texts are tried in steps of 1 / kTextSteps, but at least one by one.
constexpr size_t kTextSteps = 32;

/// Returns the configuration with the one buffer that "auto" takes if more do not fit.
RunConfig with_one_buffer(RunConfig config) {
  if (chooses_buffers(config)) config.offload_optimizer.buffer_count = 1;
  return config;
}

/// True if the plan fits with some home that "auto" may choose, with all or half of the states off
/// the device.
bool fits_somewhere(const RunConfig& config, const setup::World& world, const Fits& fits) {
  if (!chooses_homes(config)) return fits(setup::build(with_one_buffer(config), world));
  const std::vector<RunConfig> candidates = home_candidates(config);
  for (RunConfig candidate : candidates) {
    if (fits(setup::build(candidate, world))) return true;
    candidate.offload_optimizer.ratio /= 2;
    const bool shares = config.offload_optimizer.device == Home::automatic &&
                        candidate.offload_optimizer.device != Home::none;
    if (shares && fits(setup::build(candidate, world))) return true;
  }
  return fits(setup::build(with_one_buffer(candidates.back()), world));
}

/// True if a configuration compiles and fits. An Error(kUsage) counts as no.
bool works(const RunConfig& config, const setup::World& world, const Fits& fits) {
  try {
    return fits_somewhere(config, world, fits);
  } catch (const Error& error) {
    if (error.exit() != Exit::kUsage) throw;
    return false;
  }
}

double core_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

/// An exception that ends a compile when the search runs out of time.
struct OutOfTime {};

class Search {
 public:
  Search(const RunConfig& config, const setup::World& world, const Fits& fits, SearchTime* time)
      : config_(config), team_(world), fits_(fits), time_(time) {}

  std::optional<Change> among_all(int most_ranks) {
    for (int ranks = team_.ranks; ranks <= most_ranks; ranks *= 2) {
      if (auto change = on_ranks(ranks)) return change;
    }
    return std::nullopt;
  }

 private:
  std::optional<Change> on_ranks(int ranks) {
    if (auto change = among(recompute_levels(config_), ranks)) return change;
    if (auto change = among(activation_levels(config_, Home::cpu), ranks)) return change;
    return among(activation_levels(config_, Home::nvme), ranks);
  }

  std::optional<Change> among(const std::vector<Level>& recomputes, int ranks) {
    setup::World world = team_;
    world.ranks = ranks;
    const StateLevels stages = state_levels(config_, ranks);
    const std::vector<Level> micros = micros_on(ranks);
    if (micros.empty() || recomputes.empty()) return std::nullopt;
    // Skips ranks that are too few for any change. The smallest micro-batch has the least
    // activations. A single large one needs no fp32 sum of gradients.
    const auto can_fit = [&](const Level& stage) {
      const Level leanest = join({stage, recomputes.back()});
      return fits_with(join({leanest, micros.back()}), world) ||
             fits_with(join({leanest, micros.front()}), world);
    };
    if (std::none_of(stages.leanest.begin(), stages.leanest.end(), can_fit)) return std::nullopt;
    for (const Level& stage : stages.all) {
      if (!can_fit(stage)) continue;
      for (const Level& recompute : recomputes) {
        if (auto change = among_micros(join({stage, recompute}), micros, world)) return change;
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
                                     const setup::World& world) const {
    for (const Level& micro : micros) {
      Level settings = join({level, micro});
      if (!fits_with(settings, world)) continue;
      drop_needless(settings, world);
      weaken(settings, world);
      return change_of(settings, world);
    }
    return std::nullopt;
  }

  Change change_of(const Level& settings, const setup::World& world) const {
    Level typed = settings;
    if (world.ranks > team_.ranks) typed.push_back({text("--ranks ", world.ranks), {}});
    const std::string words = words_of(typed);
    return {.text = words,
            .config = changed(settings),
            .ranks = world.ranks,
            .names_folder = words.find(text("=", kFolderToName)) != words.npos};
  }

  void drop_needless(Level& settings, const setup::World& world) const {
    for (size_t i = 0; i < settings.size();) {
      Level fewer = settings;
      fewer.erase(fewer.begin() + ptrdiff_t(i));
      if (fits_with(fewer, world)) {
        settings = fewer;
      } else {
        ++i;
      }
    }
  }

  void weaken(Level& settings, const setup::World& world) const {
    for (Setting& setting : settings) {
      const Setting strongest = setting;
      const auto is_too_weak = [&](const Setting& weaker) {
        setting = weaker;
        return !fits_with(settings, world);
      };
      const auto enough =
          std::partition_point(strongest.weaker.begin(), strongest.weaker.end(), is_too_weak);
      setting = enough == strongest.weaker.end() ? strongest : *enough;
      // Texts may fit beside a larger plan but not beside a smaller one.
      if (!fits_with(settings, world)) setting = strongest;
    }
  }

  bool fits_with(const Level& settings, const setup::World& world) const {
    if (!time_) return works(changed(settings), world, fits_);
    if (time_->has_ended) return false;
    setup::World bounded = world;
    bounded.interrupt = [this] {
      if (core_seconds() - begun_ > time_->seconds) throw OutOfTime();
    };
    try {
      bounded.interrupt();
      return works(changed(settings), bounded, fits_);
    } catch (const OutOfTime&) {
      time_->has_ended = true;
      return false;
    }
  }

  RunConfig changed(const Level& settings) const {
    RunConfig config = config_;
    for (const Setting& setting : settings) setting.apply(config);
    return config;
  }

  const RunConfig& config_;
  const setup::World& team_;
  const Fits& fits_;
  SearchTime* const time_;  ///< null: no limit
  const double begun_ = core_seconds();
};

/// Returns the number of first candidates that fit. Each needs more memory than the previous one.
/// The search doubles until one does not fit, then bisects.
size_t largest_fitting(size_t count, const std::function<bool(size_t)>& fits) {
  size_t low = 0, high = 1;  // candidate low - 1 fits; high - 1 is unknown
  while (high <= count && fits(high - 1)) {
    low = high;
    high *= 2;
  }
  high = std::min(high, count + 1);
  while (high - low > 1) {
    const size_t middle = (low + high) / 2;
    (fits(middle - 1) ? low : high) = middle;
  }
  return low;
}

}  // namespace

std::vector<int64_t> micro_candidates(const RunConfig& config, const setup::World& world) {
  constexpr int64_t kLargestMicroBatch = 65536;
  const int64_t share = config.train_batch_size / world.ranks;
  const int64_t most = share > 0 ? std::min(share, kLargestMicroBatch) : kLargestMicroBatch;
  std::vector<int64_t> candidates;
  for (int64_t micro = 1; micro <= most; ++micro) {
    if (share == 0 || share % micro == 0) candidates.push_back(micro);
  }
  return candidates;
}

Fits fits_in(const MemoryLimit& limit) {
  return [limit](const setup::Build& build) { return advise::fits(build, limit); };
}

std::optional<Change> cheapest_change(const RunConfig& config, const setup::World& world,
                                      const Fits& fits, int most_ranks, SearchTime* time) {
  return Search(config, world, fits, time).among_all(most_ranks);
}

int64_t largest_micro_batch(const RunConfig& config, const setup::World& world, const Fits& fits) {
  setup::World textless = world;
  textless.texts = {};
  const std::vector<int64_t> candidates = micro_candidates(config, world);
  const auto fits_in_world = [&](size_t candidate, const setup::World& in) {
    RunConfig changed = config;
    changed.train_micro_batch_size_per_gpu = candidates[candidate];
    if (config.train_batch_size > 0) changed.gradient_accumulation_steps = 0;
    return works(changed, in, fits);
  };
  size_t fitting = largest_fitting(
      candidates.size(), [&](size_t candidate) { return fits_in_world(candidate, textless); });
  // Texts may fit beside more samples but not beside fewer, because they use the memory that steps
  // leave free.
  while (world.texts && fitting > 0 && !fits_in_world(fitting - 1, world)) {
    fitting -= std::max<size_t>(1, fitting / kTextSteps);
  }
  return fitting == 0 ? 0 : candidates[fitting - 1];
}

MemoryLimit limit_of_largest(const RunConfig& config, MemoryLimit limit) {
  if (config.memory.device_limit > 0 || config.memory.host_limit > 0) return limit;
  limit.bytes = limit.bytes / 16 * 15;
  limit.source = "15/16 of " + limit.source;
  return limit;
}

void require_open_batch(const RunConfig& config) {
  if (config.train_batch_size == 0 || config.gradient_accumulation_steps == 0) return;
  refuse_settings(
      {"train_micro_batch_size_per_gpu", "train_batch_size", "gradient_accumulation_steps"},
      "train_batch_size and gradient_accumulation_steps leave only one micro-batch, ",
      "so none is the largest or the best; write \"auto\" for one of the three");
}

void resolve_largest(RunConfig& config, const setup::World& world, const MemoryLimit& limit) {
  if (config.train_micro_batch_size_per_gpu != kMicroBatchMax) return;
  require_open_batch(config);
  const MemoryLimit within = limit_of_largest(config, limit);
  const int64_t largest = largest_micro_batch(config, world, fits_in(within));
  config.train_micro_batch_size_per_gpu = std::max<int64_t>(1, largest);
}

}  // namespace zero::advise
