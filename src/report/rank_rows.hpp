#pragma once
/// The lines of ranks.jsonl.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace zero::report {

/// The times of a rank in one step.
struct RankTime {
  double compute_ms = 0, waited_ms = 0;
};

/// A line: the times of every rank, by rank, and their places.
struct RankRow {
  int64_t step = 0;
  std::vector<RankTime> ranks = {};
  std::vector<std::string> hosts = {}, devices = {};  ///< [ranks]; "" = not told
};

/// Reads a line. False if it is damaged.
bool read_rank_row(std::string_view line, RankRow& row);

/// A rank that computes longer than the others.
struct RankLag {
  int64_t rank = 0;
  std::string host = {};
  double factor = 1;  ///< of its middle time to that of all ranks
};

/// Returns the ranks that lag by the last lines of the file, as a watch that begins there would.
/// None lags before kLagSteps lines.
std::vector<RankLag> lagging_ranks(std::string_view lines);

}  // namespace zero::report
