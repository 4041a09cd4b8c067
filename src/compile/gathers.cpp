#include <algorithm>

#include "src/compile/body_builder.hpp"

namespace zero::plan {
namespace {

void add_once(std::vector<int32_t>& list, int32_t value) {
  if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(value);
}

/// A sequence of adjacent uses of a unit.
struct Run {
  int32_t unit;
  int32_t first;
  int32_t last;
};

std::vector<Run> find_runs(const UnitUses& uses, int micro_batches) {
  std::vector<Run> runs;
  const int32_t length = int32_t(uses.reads.size());
  for (int32_t position = 0; position < length * micro_batches; ++position) {
    for (int32_t unit : uses.reads[size_t(position % length)]) {
      if (!runs.empty() && runs.back().unit == unit) {
        runs.back().last = position;
      } else {
        runs.push_back({.unit = unit, .first = position, .last = position});
      }
    }
  }
  return runs;
}

/// The elements gathered during each run. They grow as units are kept across other runs.
class LiveElements {
 public:
  LiveElements(const std::vector<Run>& runs, const std::vector<Unit>& units) : used_before_{0} {
    for (const Run& run : runs) {
      live_.push_back(units[size_t(run.unit)].numel);
      used_before_.push_back(used_before_.back() + live_.back());
    }
  }

  /// Returns the elements used by the runs between two runs.
  int64_t between(size_t from, size_t to) const {
    return used_before_[to] - used_before_[from + 1];
  }

  /// Keeps `numel` elements across the runs between. False if more than `limit` would be gathered.
  bool keep(size_t from, size_t to, int64_t numel, int64_t limit) {
    for (size_t run = from + 1; run < to; ++run) {
      if (live_[run] + numel > limit) return false;
    }
    for (size_t run = from + 1; run < to; ++run) live_[run] += numel;
    return true;
  }

 private:
  std::vector<int64_t> used_before_;
  std::vector<int64_t> live_;
};

}  // namespace

UnitUses find_uses(const graph::Graph& graph) {
  const std::vector<int32_t> parameter_of = graph::parameter_index(graph);
  UnitUses uses;
  uses.first_gradient.assign(graph.unit_names.size(), -1);
  uses.last_gradient.assign(graph.unit_names.size(), -1);
  uses.reads.resize(graph.ops.size());
  uses.gradients.resize(graph.ops.size());
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    for (graph::TensorId tensor : graph.ops[i].inputs) {
      if (tensor == graph::kNone || parameter_of[size_t(tensor)] < 0) continue;
      add_once(uses.reads[i], graph.parameters[size_t(parameter_of[size_t(tensor)])].unit);
    }
    for (graph::TensorId tensor : graph.ops[i].outputs) {
      if (graph[tensor].role != graph::Role::gradient) continue;
      const int32_t parameter = parameter_of[size_t(graph[tensor].parameter)];
      const int32_t unit = graph.parameters[size_t(parameter)].unit;
      add_once(uses.gradients[i], unit);
      if (uses.first_gradient[size_t(unit)] < 0) uses.first_gradient[size_t(unit)] = int32_t(i);
      uses.last_gradient[size_t(unit)] = int32_t(i);
    }
  }
  return uses;
}

std::vector<Gather> find_gathers(const Request& request, const std::vector<Unit>& units,
                                 const UnitUses& uses, int micro_batches) {
  const std::vector<Run> runs = find_runs(uses, micro_batches);
  LiveElements live(runs, units);
  std::vector<Gather> gathers;
  std::vector<int32_t> open(units.size(), -1), last_run(units.size(), -1);
  for (size_t r = 0; r < runs.size(); ++r) {
    const size_t unit = size_t(runs[r].unit);
    const int64_t numel = units[unit].numel;
    bool keep = false;
    if (open[unit] >= 0) {
      const size_t before = size_t(last_run[unit]);
      const bool wanted = numel <= request.keep_below_numel ||
                          live.between(before, r) <= request.keep_distance_numel;
      keep = wanted && live.keep(before, r, numel, request.live_numel);
    }
    if (!keep) {
      open[unit] = int32_t(gathers.size());
      gathers.push_back({.unit = runs[r].unit, .first = runs[r].first, .last = runs[r].last});
    }
    gathers[size_t(open[unit])].last = runs[r].last;
    last_run[unit] = int32_t(r);
  }
  return gathers;
}

std::vector<Gather> find_first_uses(const std::vector<Unit>& units, const UnitUses& uses) {
  std::vector<Gather> first;
  std::vector<bool> seen(units.size(), false);
  for (size_t i = 0; i < uses.reads.size(); ++i) {
    for (int32_t unit : uses.reads[i]) {
      if (seen[size_t(unit)]) continue;
      seen[size_t(unit)] = true;
      first.push_back({.unit = unit, .first = int32_t(i), .last = int32_t(i)});
    }
  }
  ZERO_REQUIRE(first.size() == units.size(), "only ", first.size(), " of ", units.size(),
               " units are used by the graph");
  return first;
}

void place_prefetch(const std::vector<Unit>& units, const Prefetch& prefetch,
                    std::vector<Gather>& gathers) {
  const auto numel_of = [&](size_t i) { return units[size_t(gathers[i].unit)].numel; };
  for (size_t i = 0; i < gathers.size(); ++i) {
    size_t at = i;
    int64_t gathered = numel_of(i);
    // A unit that stays between micro-batches is not gathered in each.
    const bool recurs = gathers[i].last - gathers[i].first < prefetch.longest;
    // Gather i may be issued at the begin of stretch `at` if all elements gathered between, and
    // those in use there, fit.
    while (prefetch.ahead_numel > 0 && at > 0) {
      const int64_t with_used = gathered + numel_of(at - 1);
      if (with_used > prefetch.live_numel || (at < i && gathered > prefetch.ahead_numel)) break;
      if (recurs && gathers[i].last - gathers[at - 1].first >= prefetch.longest) break;
      --at;
      gathered = with_used;
    }
    gathers[i].ahead = gathers[at].first;
  }
}

}  // namespace zero::plan
