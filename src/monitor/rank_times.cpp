#include "zero/monitor/rank_times.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "zero/base/text.hpp"

namespace zero::monitor {
namespace {

/// Steps between two looks.
constexpr int64_t kInterval = 5;
/// A rank that lags ceases to below this factor, so that no factor near the limit is told again
/// and again.
constexpr double kOverFactor = 1.10;
/// News of so many ranks are told at once.
constexpr size_t kMostNews = 8;
/// Bytes of a rank's news beside its places.
constexpr size_t kNewsBytes = 256;
/// Bytes of a time in a line.
constexpr size_t kTimeBytes = 32;

std::string json_of(const RankPlaces& places) {
  const nlohmann::ordered_json hosts = places.hosts, devices = places.devices;
  constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;
  return text("\"hosts\": ", hosts.dump(-1, ' ', false, kReplace),
              ", \"devices\": ", devices.dump(-1, ' ', false, kReplace));
}

}  // namespace

double middle(std::span<double> values) {
  const auto at = values.begin() + ptrdiff_t((values.size() - 1) / 2);
  std::ranges::nth_element(values, at);
  return *at;
}

bool begins_to_lag(double rank_ms, double all_ms) {
  return all_ms > 0 && rank_ms > kLagFactor * all_ms && rank_ms - all_ms > kLeastLagMs;
}

RankWatch::RankWatch(RankPlaces places)
    : places_(std::move(places)),
      places_json_(json_of(places_)),
      times_(places_.hosts.size() * kLagSteps),
      last_(places_.hosts.size()),
      steps_(kLagSteps),
      middles_(2 * places_.hosts.size()),
      lags_(places_.hosts.size()) {
  size_t most = 0;
  for (size_t rank = 0; rank < lags_.size(); ++rank)
    most = std::max(most, places_.hosts[rank].size() + places_.devices[rank].size());
  news_.reserve(kMostNews * (kNewsBytes + most));
}

size_t RankWatch::line_bytes(const RankPlaces& places) {
  return json_of(places).size() + 2 * kTimeBytes * places.hosts.size();
}

void RankWatch::add(std::span<const launch::Ballot> ranks) {
  news_.clear();
  told_ = 0;
  const size_t place = size_t(count_++) % kLagSteps;
  for (size_t rank = 0; rank < lags_.size(); ++rank) {
    last_[rank] = double(ranks[rank].compute_ms);
    times_[rank * kLagSteps + place] = last_[rank];
  }
  if (count_ >= int64_t(kLagSteps) && count_ % kInterval == 0) look();
}

void RankWatch::look() {
  const size_t ranks = lags_.size();
  const std::span<double> middles(middles_.data(), ranks), sorted(middles_.data() + ranks, ranks);
  for (size_t rank = 0; rank < ranks; ++rank) {
    const auto first = times_.begin() + ptrdiff_t(rank * kLagSteps);
    std::copy_n(first, kLagSteps, steps_.begin());
    middles[rank] = middle(steps_);
  }
  std::ranges::copy(middles, sorted.begin());
  const double all = middle(sorted);
  if (!(all > 0)) return;
  for (size_t rank = 0; rank < ranks; ++rank) {
    const double factor = middles[rank] / all;
    const bool begins = begins_to_lag(middles[rank], all);
    if (lags_[rank] ? factor < kOverFactor : begins) tell(rank, factor, !lags_[rank]);
  }
}

void RankWatch::tell(size_t rank, double factor, bool lags) {
  if (told_ == kMostNews) return;
  ++told_;
  lags_[rank] = lags;
  const std::string& device = places_.devices[rank];
  append(news_, "zeroapp: warning: rank %lld on ", (long long)rank);
  news_ += places_.hosts[rank];
  if (!device.empty()) (news_ += ", device ") += device;
  if (lags) {
    append(news_, ": computes %.2f times as long as the middle rank, and the others wait for it",
           factor);
    news_ += "; look for other work on its cores, for its clock and temperature\n";
  } else {
    news_ += ": computes as fast as the others again\n";
  }
}

void RankWatch::append_line(std::string& line, int64_t step,
                            std::span<const launch::Ballot> ranks) const {
  append(line, "{\"step\": %lld, ", (long long)step);
  line += places_json_;
  const auto add = [&](const char* name, float launch::Ballot::*time) {
    append(line, ", \"%s\": [", name);
    for (size_t rank = 0; rank < lags_.size(); ++rank)
      append(line, rank == 0 ? "%.3f" : ", %.3f", double(ranks[rank].*time));
    line += "]";
  };
  add("compute_ms", &launch::Ballot::compute_ms);
  add("waited_ms", &launch::Ballot::waited_ms);
  line += "}\n";
}

}  // namespace zero::monitor
