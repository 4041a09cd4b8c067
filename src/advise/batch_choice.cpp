#include "zero/advise/batch_choice.hpp"

#include <algorithm>
#include <bit>
#include <optional>

#include "zero/advise/cheapest_change.hpp"
#include "zero/advise/plan_report.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/config/recompute_words.hpp"

namespace zero::advise {
namespace {

using Mode = Recompute::Mode;

constexpr const char* kMicroKey = "train_micro_batch_size_per_gpu";
constexpr const char* kRecomputeKey = "activation_checkpointing.recompute";
/// Slower plans that a choice tells.
constexpr size_t kMostTold = 3;

/// A plan that fits, with its forecast speed.
struct Weighed {
  int64_t micro = 1;
  Mode mode = Mode::none;
  double speed = 0;  ///< samples a second of all ranks
};

/// The plans that a configuration leaves open.
class Weighing {
 public:
  Weighing(const RunConfig& config, const setup::World& world, const MemoryLimit& limit,
           const plan::Machine& machine)
      : config_(config), world_(world), limit_(limit), machine_(machine) {}

  /// Returns the plans that fit, the fastest first.
  std::vector<Weighed> weigh() const {
    std::vector<Weighed> all;
    for (const Mode mode : modes()) {
      RunConfig config = config_;
      if (opens_mode()) config.recompute.mode = mode;
      for (const int64_t micro : micros(config)) {
        if (const auto speed = speed_of(config, micro)) all.push_back({micro, mode, *speed});
      }
    }
    std::ranges::stable_sort(all, [](const Weighed& a, const Weighed& b) {
      return a.speed != b.speed ? a.speed > b.speed : a.micro < b.micro;
    });
    return all;
  }

 private:
  bool opens_mode() const { return config_.recompute.mode == Mode::automatic; }

  std::vector<Mode> modes() const {
    if (!opens_mode()) return {config_.recompute.mode};
    // Without recompute no input of it can leave the device.
    if (config_.offload_activations.home() != Home::none) return {Mode::selective, Mode::full};
    return {Mode::none, Mode::selective, Mode::full};
  }

  std::vector<int64_t> micros(const RunConfig& config) const {
    const int64_t asked = config.train_micro_batch_size_per_gpu;
    if (asked >= 0) return {asked};
    const int64_t largest = largest_micro_batch(config, world_, fits_in(limit_));
    if (asked == kMicroBatchMax) return {std::max<int64_t>(1, largest)};
    std::vector<int64_t> sizes = micro_candidates(config, world_);
    std::erase_if(sizes, [&](int64_t micro) {
      const bool is_open = config.train_batch_size > 0 || std::has_single_bit(uint64_t(micro));
      return micro > largest || (micro != largest && !is_open);
    });
    return sizes;
  }

  /// Returns the speed, or nothing if the plan does not compile or fit.
  std::optional<double> speed_of(RunConfig config, int64_t micro) const {
    config.train_micro_batch_size_per_gpu = micro;
    try {
      const Placement placement = choose_placement(config, world_, limit_, machine_);
      if (!fits(placement.build, limit_)) return {};
      const double seconds = plan::forecast(placement.build.plan, machine_).step_seconds;
      return double(placement.build.batch.train) / seconds;
    } catch (const Error& error) {
      const bool is_refusal = error.exit() == Exit::kUsage || error.exit() == Exit::kDoesNotFit;
      if (!is_refusal) throw;
      return {};
    }
  }

  const RunConfig& config_;
  const setup::World& world_;
  const MemoryLimit& limit_;
  const plan::Machine& machine_;
};

std::string name_of(const Weighed& weighed, bool tells_mode) {
  return text(weighed.micro,
              tells_mode ? text(" with recompute ", kRecomputeWords[size_t(weighed.mode)]) : "",
              format(" %.4g", weighed.speed));
}

/// Returns what was weighed: ", the fastest of 9 that fit by the rates of host: ...".
std::string reasons(const std::vector<Weighed>& all, bool tells_mode,
                    const plan::Machine& machine) {
  if (all.empty()) return ", since no plan fits";
  std::string out = text(", the fastest of ", all.size(), " that fit, by the rates of ",
                         machine.name, ", in samples a second: ");
  for (size_t i = 0; i < std::min(all.size(), kMostTold + 1); ++i)
    out += text(i == 0 ? "" : "; ", name_of(all[i], tells_mode));
  return out;
}

Choices choose_largest(RunConfig& config, const setup::World& world, const MemoryLimit& limit) {
  if (config.train_micro_batch_size_per_gpu != kMicroBatchMax) return {};
  const MemoryLimit within = limit_of_largest(config, limit);
  resolve_largest(config, world, limit);
  return {{.key = kMicroKey,
           .asked = "max",
           .chosen = text(config.train_micro_batch_size_per_gpu),
           .why = text(" within ", bytes_text(double(within.bytes)), " (", within.source, ")")}};
}

}  // namespace

Choices choose_batch(RunConfig& config, const setup::World& world, const MemoryLimit& limit,
                     const plan::Machine& machine) {
  const int64_t asked = config.train_micro_batch_size_per_gpu;
  const bool opens_mode = config.recompute.mode == Mode::automatic;
  if (asked != kMicroBatchBest && !opens_mode) return choose_largest(config, world, limit);
  if (asked < 0) require_open_batch(config);
  const MemoryLimit within = limit_of_largest(config, limit);
  const std::vector<Weighed> all = Weighing(config, world, within, machine).weigh();
  const Weighed chosen =
      all.empty() ? Weighed{.micro = 1, .mode = opens_mode ? Mode::full : config.recompute.mode}
                  : all.front();
  if (asked < 0) config.train_micro_batch_size_per_gpu = chosen.micro;
  if (opens_mode) config.recompute.mode = chosen.mode;
  const std::string why = reasons(all, opens_mode, machine);
  Choices choices;
  if (asked < 0) {
    choices.push_back({.key = kMicroKey,
                       .asked = asked == kMicroBatchBest ? "best" : "max",
                       .chosen = text(chosen.micro),
                       .why = why});
  }
  if (opens_mode) {
    choices.push_back({.key = kRecomputeKey,
                       .asked = "auto",
                       .chosen = text('"', kRecomputeWords[size_t(chosen.mode)], '"'),
                       .why = asked < 0 ? "" : why});
  }
  return choices;
}

}  // namespace zero::advise
