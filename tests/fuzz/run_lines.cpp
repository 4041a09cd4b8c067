/// Any bytes, as one of the files with lines of a run, are passed over where they are damaged by
/// what shows runs, and for a replay are the lines of a run, or one input error with file and line.

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "src/replay/replay_records.hpp"
#include "src/report/metrics_reader.hpp"
#include "src/report/rank_rows.hpp"
#include "tests/fuzz/fuzzed_folder.hpp"
#include "tests/fuzz/input_error.hpp"

namespace zero {
namespace {

constexpr int64_t kAll = std::numeric_limits<int64_t>::max();

/// Reads a file as reports do, in one pass and from its end.
void show(const std::string& path) {
  int64_t last = std::numeric_limits<int64_t>::min();
  report::read_steps(
      path, {.drop_from = [&](int64_t step) { last = step - 1; },
             .take =
                 [&](const report::StepLine& line) {
                   ZERO_REQUIRE(line.step > last, "step ", line.step, " after ", last);
                   ZERO_REQUIRE(line.values.size() <= report::kMostColumns, "too many columns");
                   last = line.step;
                 }});
  const std::string lines = report::last_lines(path, 4096);
  for (const std::string_view line : report::lines_of(lines)) {
    report::RankRow row;
    if (!report::read_rank_row(line, row)) continue;
    const bool is_whole =
        row.hosts.size() == row.ranks.size() && row.devices.size() == row.ranks.size();
    ZERO_REQUIRE(is_whole, "ranks without places");
  }
  for (const report::RankLag& lag : report::lagging_ranks(lines))
    ZERO_REQUIRE(lag.factor > 1 && std::isfinite(lag.factor), "a lag of ", lag.factor);
}

/// Reads a folder as a replay does.
void record(const FuzzedFolder& folder) {
  const auto names_line = [&](const Error& error) {
    return std::string_view(error.what()).starts_with(folder.path());
  };
  expect_input_error_at_most([&] { replay::read_recorded(folder.path(), 0, kAll); }, names_line);
  expect_input_error_at_most([&] { replay::last_recorded(folder.path()); }, names_line);
  expect_input_error_at_most(
      [&] {
        const replay::RecordedLaunch launch = replay::launch_of(folder.path(), 1);
        ZERO_REQUIRE(launch.ranks >= 1 && launch.begin < 1, "no launch took step 1");
      },
      names_line);
}

void check(FuzzedFolder& folder, std::string_view bytes) {
  static constexpr std::array kNames = {"metrics.jsonl", "ranks.jsonl", "digests.jsonl",
                                        "evaluations.jsonl", "launches.jsonl"};
  const size_t kind = bytes.empty() ? 0 : size_t(uint8_t(bytes[0])) % kNames.size();
  for (size_t i = 0; i < kNames.size(); ++i)
    folder.put(kNames[i], i == kind && !bytes.empty() ? bytes.substr(1) : "");
  expect_input_error_at_most([&] { show(folder.file(kNames[kind])); });
  record(folder);
}

}  // namespace
}  // namespace zero

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return zero::check_in_folder(zero::check, data, size);
}
