#include "zero/explain/explain.hpp"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <set>

#include "src/explain/fitted.hpp"
#include "src/explain/subject.hpp"
#include "zero/base/text.hpp"

namespace zero::explain {
namespace {

/// Smaller gains are within the noise of a machine.
constexpr double kLeastGain = 0.01;
/// Most kinds of changes that are combined with each other.
constexpr size_t kMostCombined = 7;
/// Processor time after which no more pairs are tried.
constexpr double kPairSeconds = 60;

double processor_seconds() { return double(std::clock()) / CLOCKS_PER_SEC; }

/// A part of a machine, and a machine that does its work in no time.
struct Part {
  std::string name;
  plan::Machine machine;
};

/// Returns a machine whose lanes take no time.
plan::Machine without(plan::Machine machine, std::initializer_list<plan::Lane> lanes) {
  for (const plan::Lane lane : lanes) machine.lane_shares[lane] = kEndless;
  return machine;
}

/// Returns a machine whose kinds of one sort take no time: those that are bound by products, or by
/// memory.
plan::Machine without_kinds(const Subject& subject, bool products) {
  plan::Machine out = subject.machine();
  for (const auto& [name, of_products] : bound_by_products(subject.own().build().plan, out))
    if (of_products == products) out.kind_shares[name] = kEndless;
  if (!products) out.op_seconds = 0;
  return out;
}

Bottleneck bottleneck_of(const Subject& subject) {
  using plan::Lane;
  const plan::Machine& machine = subject.machine();
  const Part parts[] = {
      {"products", without_kinds(subject, true)},
      {"memory, in what is no product", without_kinds(subject, false)},
      {"the link between ranks", without(machine, {Lane::gather, Lane::reduce, Lane::small})},
      {"copies between host and device", without(machine, {Lane::h2d, Lane::d2h})},
      {"the disk", without(machine, {Lane::disk_read, Lane::disk_write})},
      {"the optimizer on the host", without(machine, {Lane::host_optimizer})}};
  const double step = std::max(subject.measured().step_seconds, subject.own_seconds());
  Bottleneck found{.part = "what a step does beside its plan: batches, lines, waits for ranks",
                   .share = 1 - subject.own_seconds() / step};
  for (const Part& part : parts) {
    const double left = plan::forecast(subject.own().build().plan, part.machine).step_seconds;
    const double share = (subject.own_seconds() - left) / step;
    if (share > found.share) found = {part.name, share};
  }
  return found;
}

/// True if `a` is to be read before `b`.
bool is_better(const Trial& a, const Trial& b) {
  const bool of_batch = a.same_bytes == SameBytes::batch_changes,
             other = b.same_bytes == SameBytes::batch_changes;
  return of_batch != other ? other : a.gain > b.gain;
}

std::string key_of(const std::string& setting) { return setting.substr(0, setting.find('=')); }

bool share_keys(const Settings& a, const Settings& b) {
  std::set<std::string> keys;
  for (const std::string& setting : a) keys.insert(key_of(setting));
  return std::ranges::any_of(b, [&](const std::string& s) { return keys.contains(key_of(s)); });
}

/// The changes tried, one kind after the other.
class Search {
 public:
  explicit Search(Subject& subject) : subject_(subject) {}

  void run(Explanation& out) {
    const Present present = subject_.present();
    for (const Lever& lever : levers()) try_lever(lever.values(present));
    try_pairs();
    for (Trial& trial : trials_) {
      const bool is_advised = trial.fits && trial.gain >= kLeastGain;
      (is_advised ? out.advice : out.others).push_back(std::move(trial));
    }
    std::ranges::stable_sort(out.advice, is_better);
    std::ranges::stable_sort(out.others, is_better);
  }

 private:
  void try_lever(const std::vector<Settings>& values) {
    std::optional<Trial> best;
    for (const Settings& settings : values) {
      trials_.push_back(subject_.trial(settings));
      const Trial& trial = trials_.back();
      if (trial.refused.empty() && (!best || trial.gain > best->gain)) best = trial;
    }
    if (best) best_.push_back(*best);
  }

  /// Tries the best change of each kind with those of others, also if it does not fit alone.
  void try_pairs() {
    std::ranges::stable_sort(best_, [](const Trial& a, const Trial& b) { return a.gain > b.gain; });
    best_.resize(std::min(best_.size(), kMostCombined));
    for (size_t i = 0; i < best_.size(); ++i)
      for (size_t j = i + 1; j < best_.size(); ++j) try_pair(best_[i], best_[j]);
  }

  void try_pair(const Trial& a, const Trial& b) {
    if (share_keys(a.settings, b.settings) || processor_seconds() > kPairSeconds) return;
    Settings both = a.settings;
    both.insert(both.end(), b.settings.begin(), b.settings.end());
    Trial pair = subject_.trial(both);
    const double alone = std::max(a.fits ? a.gain : 0, b.fits ? b.gain : 0);
    if (pair.fits && pair.gain > alone + kLeastGain) trials_.push_back(std::move(pair));
  }

  Subject& subject_;
  std::vector<Trial> trials_, best_;
};

}  // namespace

Explanation explain(const model::Catalogue& catalogue, const std::string& run) {
  Subject subject(catalogue, run);
  const report::Measured& measured = subject.measured();
  const advise::MemoryLimit& limit = subject.limit();
  Explanation out{.run = run,
                  .is_live = measured.is_live,
                  .ranks = measured.ranks,
                  .steps = measured.steps,
                  .step_seconds = measured.step_seconds,
                  .units_per_second = measured.units / measured.step_seconds,
                  .unit = measured.unit,
                  .forecast_seconds = subject.own_seconds(),
                  .has_kinds = !measured.kinds.empty(),
                  .limit = limit.bytes == 0 ? "no limit is known"
                                            : text(bytes_text(double(limit.bytes)), " a rank (",
                                                   limit.source, ")"),
                  .bottleneck = bottleneck_of(subject)};
  Search(subject).run(out);
  return out;
}

}  // namespace zero::explain
