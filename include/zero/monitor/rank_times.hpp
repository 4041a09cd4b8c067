#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "zero/launch/peers.hpp"

namespace zero::monitor {

/// The places of all ranks, by rank.
struct RankPlaces {
  std::vector<std::string> hosts = {}, devices = {};  ///< device's number; "" = the host
};

/// A rank lags if its middle time is more than this many times that of all ranks.
inline constexpr double kLagFactor = 1.15;
/// A lag below so many ms costs nothing that a user could mend.
inline constexpr double kLeastLagMs = 5;
/// The middle time of a rank is that of so many steps.
inline constexpr size_t kLagSteps = 20;

/// Returns the median of `values`, the lower of two. Reorders the values. REQUIRES: there is one.
double middle(std::span<double> values);

/// True if a rank whose middle time is `rank_ms` begins to lag behind all ranks, whose middle time
/// is `all_ms`.
bool begins_to_lag(double rank_ms, double all_ms);

/// A watch over the compute times of ranks. Steps allocate nothing.
class RankWatch {
 public:
  explicit RankWatch(RankPlaces places);

  /// Takes the times of one step, a ballot of each rank.
  void add(std::span<const launch::Ballot> ranks);
  /// Returns the compute time of each rank in the last step.
  std::span<const double> compute_ms() const { return last_; }
  /// Returns warnings, a line each, on ranks that began or ceased to lag in the last add(). If
  /// there are many, later calls tell the rest.
  const std::string& news() const { return news_; }

  /// Appends a step and its ballots to `line` as a JSON object: step, hosts, devices, compute_ms
  /// and waited_ms, the last four by rank.
  void append_line(std::string& line, int64_t step, std::span<const launch::Ballot> ranks) const;
  /// Returns the most bytes of a line of append_line() for ranks at these places.
  static size_t line_bytes(const RankPlaces& places);

 private:
  void look();
  void tell(size_t rank, double factor, bool lags);

  RankPlaces places_;
  std::string places_json_;
  std::vector<double> times_;            ///< [ranks][kLagSteps], ms, in a ring
  std::vector<double> last_;             ///< [ranks], ms
  std::vector<double> steps_, middles_;  ///< scratch
  std::vector<bool> lags_;               ///< [ranks]
  size_t told_ = 0;                      ///< ranks in news_
  std::string news_;
  int64_t count_ = 0;
};

}  // namespace zero::monitor
