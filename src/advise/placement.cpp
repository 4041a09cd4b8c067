#include "zero/advise/placement.hpp"

#include <algorithm>
#include <utility>

#include "src/advise/memory_needs.hpp"
#include "src/advise/speculation.hpp"
#include "zero/advise/cheapest_change.hpp"
#include "zero/advise/plan_report.hpp"
#include "zero/base/text.hpp"
#include "zero/compile/compile.hpp"
#include "zero/plan/forecast.hpp"

namespace zero::advise {
namespace {

/// Lowers placement.shares.on_device until its plan fits. It does not check a share of 0.
void take_share(const setup::World& world, const MemoryLimit& limit, Placement& placement) {
  double& share = placement.shares.on_device;
  while (share > 0) {
    placement.build = setup::build(placement.config, world, placement.shares);
    if (fits(placement.build, limit)) return;
    share -= 1.0 / plan::kDeviceUpdateParts;
  }
  placement.build = setup::build(placement.config, world);
}

std::string sites_text(const plan::UpdateSites& sites) {
  std::string out;
  if (sites.on_device > 0) {
    out = text("updates of units whose states rest beside the device: ", sites.on_device,
               " on it, through which their states stream, ", sites.on_host, " on the host\n");
  }
  if (sites.speculated > 0) {
    out += text("updates before the norm is known, into second copies in host memory: of ",
                counted(sites.speculated, "unit"), ", beside backward\n");
  }
  return out;
}

constexpr const char* kOptimizerKey = "zero.offload_optimizer.device";
constexpr const char* kParametersKey = "zero.offload_param.device";
/// Steps of the share; models have too few units for finer ones.
constexpr int kShares = 32;

const char* word_of(Home home) {
  constexpr const char* kWords[] = {"none", "cpu", "nvme", "auto"};
  return kWords[size_t(home)];
}

bool is_auto(Home home) { return home == Home::automatic; }

std::vector<Home> homes_of(Home asked, const std::string& folder) {
  if (!is_auto(asked)) return {asked};
  std::vector<Home> homes = {Home::none, Home::cpu};
  if (!folder.empty()) homes.push_back(Home::nvme);
  return homes;
}

/// Homes of optimizer states and parameters.
using Pair = std::pair<Home, Home>;

/// True if `a` is faster: by the slowest tier in use, then by the parameters' tier, then by the
/// optimizer's.
bool is_faster(const Pair& a, const Pair& b) {
  const auto slowest = [](const Pair& pair) { return std::max(pair.first, pair.second); };
  if (slowest(a) != slowest(b)) return slowest(a) < slowest(b);
  return a.second != b.second ? a.second < b.second : a.first < b.first;
}

std::string ratio_text(const RunConfig& config) {
  const OffloadOptimizerConfig& optimizer = config.offload_optimizer;
  if (optimizer.device == Home::none || optimizer.ratio == 1) return "";
  return format(" with ratio %g", optimizer.ratio);
}

/// Returns the choice in the words of the input file.
std::string optimizer_text(const RunConfig& config) {
  return text('"', word_of(config.offload_optimizer.device), '"', ratio_text(config));
}
std::string parameters_text(const RunConfig& config) {
  return text('"', word_of(config.offload_param.device), '"');
}

std::string both_texts(const RunConfig& asked, const RunConfig& config) {
  if (!is_auto(asked.offload_param.device)) return optimizer_text(config);
  if (!is_auto(asked.offload_optimizer.device)) return parameters_text(config);
  return text(optimizer_text(config), " and parameters ", parameters_text(config));
}

/// A trial of one candidate, and of the share that the device can keep.
class Attempt {
 public:
  Attempt(const RunConfig& candidate, const setup::World& world, const MemoryLimit& limit)
      : config(candidate), team_(world), limit_(limit), most_(candidate.offload_optimizer.ratio) {}

  /// Sets the least share that works in `config`, if `shares`. False if none does.
  bool works(bool shares) {
    const setup::Build whole = setup::build(config, team_);
    shortage = fits(whole, limit_) ? "" : shortage_text(whole, limit_);
    const bool leaves = shares && config.offload_optimizer.device != Home::none;
    if (!leaves || !device_holds(whole)) return shortage.empty();
    take_share(least_share());
    const setup::Build least = setup::build(config, team_);
    if (fits(least, limit_)) return true;
    if (shortage.empty()) {
      take_share(kShares);
      return true;
    }
    shortage = shortage_text(least, limit_);
    return false;
  }

  RunConfig config;
  std::string shortage;

 private:
  bool device_holds(const setup::Build& made) const { return fits(made, of_device(limit_)); }

  void take_share(int parts) { config.offload_optimizer.ratio = most_ * parts / kShares; }

  int least_share() {
    int low = 0, high = kShares;  // the device cannot hold what `low` leaves there
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      take_share(middle);
      (device_holds(setup::build(config, team_)) ? high : low) = middle;
    }
    return high;
  }

  const setup::World& team_;
  const MemoryLimit& limit_;
  double most_;
};

constexpr const char* kBuffersKey = "zero.offload_optimizer.buffer_count";

/// True if the plan with `buffers` buffers fits. More buffers than the least are optional, so they
/// leave part of a limit that the user has not set.
bool fits_with(RunConfig config, int64_t buffers, const setup::World& world,
               const MemoryLimit& limit) {
  config.offload_optimizer.buffer_count = buffers;
  const bool least = buffers <= plan::kLeastStagedUnits;
  return fits(setup::build(config, world), least ? limit : limit_of_largest(config, limit));
}

}  // namespace

Placement choose_placement(const RunConfig& config, const setup::World& world,
                           const MemoryLimit& limit, const plan::Machine& machine) {
  Placement placement;
  const HomeChoice homes = choose_homes(config, world, limit);
  placement.config = homes.config;
  placement.config.offload_optimizer.buffer_count =
      choose_buffers(homes.config, world, limit, machine);
  placement.shares.on_device = setup::device_update_share_for(placement.config, world, machine);
  take_share(world, limit, placement);
  choose_speculation(world, limit, machine, placement);
  placement.choices = home_choices(config, homes);
  for (const Choice& buffers : buffer_choices(config, placement.config)) {
    placement.choices.push_back(buffers);
  }
  return placement;
}

std::string Placement::text() const {
  return choices_text(choices) + sites_text(plan::update_sites(build.plan));
}

std::string choices_text(const Choices& choices) {
  std::string out;
  for (size_t i = 0; i < choices.size(); ++i) {
    const Choice& choice = choices[i];
    out += zero::text(choice.key, " = \"", choice.asked, "\" is ", choice.chosen, choice.why, "\n");
    if (i + 1 < choices.size() && choices[i + 1].refused == choice.refused) continue;
    for (const std::string& refused : choice.refused) out += "  does not fit: " + refused + "\n";
  }
  return out;
}

void note_choices(const Choices& choices, ConfigInput& input) {
  for (const Choice& choice : choices) {
    std::string& origin = input.origins.at(choice.key);
    const bool is_replaced = choice.asked != "auto";
    origin += zero::text("; chosen", is_replaced ? " for \"" + choice.asked + "\"" : "", ": ",
                         choice.chosen);
    if (!choice.refused.empty()) origin += ", since " + choice.refused.back();
  }
}

std::vector<std::string> plan_warnings(const ConfigInput& input, const plan::Plan& plan) {
  const char* const key = "zero.stage3_param_persistence_threshold";
  const auto written = input.written.find(key);
  const std::string idle = setup::idle_threshold(input.config, plan);
  if (written == input.written.end() || idle.empty()) return {};
  return {zero::text(written->second.place, ": ", key, ": ", idle)};
}

std::string vain_pin_memory(const ConfigInput& input, bool device) {
  if (device || setup::pins_host(input.config)) return "";
  const bool states = !input.config.offload_optimizer.pin_memory;
  const char* key = states ? "zero.offload_optimizer.pin_memory" : "zero.offload_param.pin_memory";
  return text(input.written.at(key).place, ": ", key,
              ": false changes nothing: memory is pinned for a device, and this is the host's");
}

bool chooses_homes(const RunConfig& config) {
  return is_auto(config.offload_optimizer.device) || is_auto(config.offload_param.device);
}

std::vector<RunConfig> home_candidates(const RunConfig& config) {
  const OffloadOptimizerConfig& optimizer = config.offload_optimizer;
  const OffloadParamConfig& parameters = config.offload_param;
  const bool both = is_auto(optimizer.device) && is_auto(parameters.device);
  // Weights in groups have no home on disk.
  const bool may_leave_for_disk = !is_auto(parameters.device) || config.zero.shard_group == 0;
  std::vector<Pair> pairs;
  for (const Home states : homes_of(optimizer.device, optimizer.nvme_path)) {
    for (const Home weights : homes_of(parameters.device, parameters.nvme_path)) {
      if (weights == Home::nvme && !may_leave_for_disk) continue;
      if (!both || weights <= states) pairs.emplace_back(states, weights);
    }
  }
  std::sort(pairs.begin(), pairs.end(), is_faster);
  std::vector<RunConfig> candidates(pairs.size(), config);
  for (size_t i = 0; i < pairs.size(); ++i) {
    candidates[i].offload_optimizer.device = pairs[i].first;
    candidates[i].offload_param.device = pairs[i].second;
  }
  return candidates;
}

HomeChoice choose_homes(const RunConfig& config, const setup::World& world,
                        const MemoryLimit& limit) {
  if (!chooses_homes(config)) return {.config = config, .fits = true};
  HomeChoice choice;
  for (const RunConfig& candidate : home_candidates(config)) {
    Attempt attempt(candidate, world, limit);
    choice.fits = attempt.works(is_auto(config.offload_optimizer.device));
    choice.config = attempt.config;
    if (choice.fits) break;
    choice.faster.push_back(text(both_texts(config, attempt.config), " needs ", attempt.shortage));
  }
  return choice;
}

Choices home_choices(const RunConfig& asked, const HomeChoice& choice) {
  Choices choices;
  if (is_auto(asked.offload_optimizer.device)) {
    choices.push_back({kOptimizerKey, "auto", optimizer_text(choice.config), "", choice.faster});
  }
  if (is_auto(asked.offload_param.device)) {
    choices.push_back({kParametersKey, "auto", parameters_text(choice.config), "", choice.faster});
  }
  return choices;
}

RunConfig with_asked_homes(RunConfig resolved, const RunConfig& asked) {
  resolved.offload_optimizer = asked.offload_optimizer;
  resolved.offload_param = asked.offload_param;
  return resolved;
}

bool chooses_buffers(const RunConfig& config) {
  const bool moves =
      config.offload_optimizer.device != Home::none || config.offload_param.device != Home::none;
  return moves && config.offload_optimizer.buffer_count == 0;
}

int64_t choose_buffers(const RunConfig& config, const setup::World& world, const MemoryLimit& limit,
                       const plan::Machine& machine) {
  if (!chooses_buffers(config)) return config.offload_optimizer.buffer_count;
  const int64_t wanted = setup::buffers_for(config, world, machine);
  if (fits_with(config, wanted, world, limit)) return wanted;
  int64_t low = 1, high = wanted;  // `high` does not fit
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    (fits_with(config, middle, world, limit) ? low : high) = middle;
  }
  return low;
}

Choices buffer_choices(const RunConfig& asked, const RunConfig& chosen) {
  const int64_t count = chosen.offload_optimizer.buffer_count;
  if (asked.offload_optimizer.buffer_count != 0 || count == 0) return {};
  return {{kBuffersKey, "auto", text(count)}};
}

}  // namespace zero::advise
