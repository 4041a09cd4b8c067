#include "src/replay/replay_comparison.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <set>
#include <string_view>
#include <vector>

#include "zero/base/error.hpp"
#include "zero/base/text.hpp"

namespace zero::replay {
namespace {

std::string ulps_text(uint64_t ulps) {
  return ulps == std::numeric_limits<uint64_t>::max() ? "not a number" : text(ulps, " ulp apart");
}

std::string numbers_text(const char* name, double there, double here) {
  return format("%s %.17g there, %.17g here, ", name, there, here) +
         ulps_text(ulps_between(there, here));
}

/// Returns how a norm differs; "" if both are equal, or both are not finite.
std::string norm_difference(const std::optional<double>& there, double here) {
  const double known = there.value_or(std::numeric_limits<double>::infinity());
  const bool same = there ? *there == here : !std::isfinite(here);
  return same ? "" : numbers_text("norm", known, here);
}

/// The differing elements of a rank.
struct Apart {
  int64_t count = 0;
  int64_t first = std::numeric_limits<int64_t>::max();  ///< place in the unit
  float there = 0, here = 0;                            ///< values of the first one
  uint64_t ulps = 0;                                    ///< most of any

  void add(int64_t place, float was, float is) {
    if (std::bit_cast<uint32_t>(was) == std::bit_cast<uint32_t>(is)) return;
    if (count++ == 0) first = place, there = was, here = is;
    ulps = std::max(ulps, ulps_between(was, is));
  }

  void add(const Apart& later) {
    if (later.count > 0 && later.first < first)
      first = later.first, there = later.there, here = later.here;
    count += later.count;
    ulps = std::max(ulps, later.ulps);
  }

  std::string words() const {
    return format("%lld %lld %a %a %llu", (long long)count, (long long)first, double(there),
                  double(here), (unsigned long long)ulps);
  }

  static Apart parse(const std::string& words) {
    long long count = 0, first = 0;
    unsigned long long ulps = 0;
    double there = 0, here = 0;
    std::sscanf(words.c_str(), "%lld %lld %la %la %llu", &count, &first, &there, &here, &ulps);
    return {
        .count = count, .first = first, .there = float(there), .here = float(here), .ulps = ulps};
  }
};

std::vector<float> own_values(state::Engine& engine, const state::UnitDigests::Row& row,
                              state::UnitRange range) {
  std::vector<float> values(size_t(range.end - range.begin));
  if (!values.empty()) state::read_state(engine.view(), *row.unit, row.kind, range, values);
  return values;
}

/// Returns the name of an element: "h.1.attn.weight[17]".
std::string element_text(const plan::Plan& plan, const plan::Unit& unit, int64_t place) {
  for (const plan::UnitParameter& held : unit.parameters) {
    if (place < held.begin || place >= held.begin + held.numel) continue;
    const graph::Graph& graph = plan.graphs[0];
    const graph::Parameter& parameter = graph.parameters[size_t(held.parameter)];
    return text(graph[parameter.tensor].name, "[", place - held.begin, "]");
  }
  return text("element ", place);
}

}  // namespace

std::string difference_of(const RecordedStep& there, const kernels::StepReport& here) {
  if (there.rejected) return "";  // its numbers were found wrong when they were made
  std::string words;
  const auto add = [&](const std::string& part) {
    if (!part.empty()) words += (words.empty() ? "" : "; ") + part;
  };
  if (there.loss_bits != std::bit_cast<uint64_t>(here.loss))
    add(numbers_text("loss", std::bit_cast<double>(there.loss_bits), here.loss));
  add(norm_difference(there.grad_norm, here.grad_norm));
  if (there.skipped != (here.skipped != 0))
    add(there.skipped ? "skipped there, applied here" : "applied there, skipped here");
  return words;
}

std::vector<RecordedDigest> recorded(const plan::Plan& plan, const state::UnitDigests& digests) {
  std::vector<RecordedDigest> all;
  for (const state::UnitDigests::Row& row : digests.rows())
    all.push_back({row.unit->name, std::string(state::state_name(plan, row.kind)), row.digest});
  return all;
}

int64_t first_difference(std::span<const RecordedDigest> there,
                         std::span<const RecordedDigest> here) {
  const auto is_same_place = [](const RecordedDigest& a, const RecordedDigest& b) {
    return a.unit == b.unit && a.state == b.state;
  };
  if (!std::ranges::equal(there, here, is_same_place))
    refuse(Exit::kInput, "the run's digests are of other units or states than its model has now");
  const auto found = std::ranges::mismatch(there, here).in1;
  return found == there.end() ? -1 : found - there.begin();
}

std::string units_text(std::span<const RecordedDigest> there, std::span<const RecordedDigest> here,
                       int64_t row) {
  const std::string& unit = there[size_t(row)].unit;
  std::string states;
  std::set<std::string_view> units, differing;
  for (size_t i = 0; i < there.size(); ++i) {
    units.insert(there[i].unit);
    if (there[i] == here[i]) continue;
    differing.insert(there[i].unit);
    if (there[i].unit == unit) states += text(states.empty() ? "" : ", ", there[i].state);
  }
  return text("states of ", differing.size(), " of ", counted(std::ssize(units), "unit"),
              differing.size() == 1 ? ", " : ", first ", unit, ": ", states);
}

std::string values_text(launch::Session& session, train::Rerun& rerun,
                        const state::UnitDigests::Row& row, const std::string& checkpoint) {
  const state::UnitRange range = state::own_range(*row.unit, session.rank(), session.ranks());
  const std::vector<float> here = own_values(rerun.engine(), row, range);
  rerun.load(checkpoint);
  const std::vector<float> there = own_values(rerun.engine(), row, range);
  Apart own, all;
  for (size_t i = 0; i < here.size(); ++i) own.add(range.begin + int64_t(i), there[i], here[i]);
  for (const std::string& part : session.peers().share(own.words())) all.add(Apart::parse(part));
  if (!session.is_first() || all.count == 0) return "";
  return text(counted(all.count, "element"), " of its ",
              state::state_name(rerun.engine().plan(), row.kind),
              all.count == 1 ? " differs, " : " differ, first ",
              element_text(rerun.engine().plan(), *row.unit, all.first),
              format(": %.9g there, %.9g here", double(all.there), double(all.here)),
              all.count == 1 ? ", " : ", at most ", ulps_text(all.ulps));
}

}  // namespace zero::replay
