#include "src/report/rank_rows.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "src/report/metrics_reader.hpp"
#include "src/report/run_files.hpp"
#include "zero/monitor/rank_times.hpp"

namespace zero::report {
namespace {

using Json = nlohmann::ordered_json;

std::vector<double> numbers_in(const Json& line, const char* name) {
  std::vector<double> numbers;
  const auto found = line.find(name);
  if (found == line.end() || !found->is_array()) return numbers;
  for (const Json& number : *found)
    numbers.push_back(number.is_number() ? number.get<double>() : 0.0);
  return numbers;
}

std::vector<std::string> words_in(const Json& line, const char* name, size_t count) {
  std::vector<std::string> words;
  const auto found = line.find(name);
  if (found != line.end() && found->is_array()) {
    for (const Json& word : *found)
      words.push_back(word.is_string() ? word.get<std::string>() : "");
  }
  words.resize(count);
  return words;
}

}  // namespace

bool read_rank_row(std::string_view line, RankRow& row) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return false;
  row.step = whole_in(json, "step");
  const std::vector<double> compute = numbers_in(json, "compute_ms"),
                            waited = numbers_in(json, "waited_ms");
  if (row.step <= 0 || compute.empty() || compute.size() != waited.size()) return false;
  row.ranks.clear();
  for (size_t i = 0; i < compute.size(); ++i) row.ranks.push_back({compute[i], waited[i]});
  row.hosts = words_in(json, "hosts", compute.size());
  row.devices = words_in(json, "devices", compute.size());
  return true;
}

std::vector<RankLag> lagging_ranks(std::string_view text) {
  std::vector<std::vector<double>> times;
  RankRow row, newest;
  const std::vector<std::string_view> lines = lines_of(text);
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    if (!read_rank_row(*line, row)) continue;
    if (times.empty()) newest = row;
    times.resize(newest.ranks.size());
    const bool is_enough =
        times[0].size() == monitor::kLagSteps || row.ranks.size() != times.size();
    if (is_enough) break;
    for (size_t rank = 0; rank < times.size(); ++rank)
      times[rank].push_back(row.ranks[rank].compute_ms);
  }
  if (times.empty() || times[0].size() < monitor::kLagSteps) return {};
  std::vector<double> middles;
  for (std::vector<double>& of_rank : times) middles.push_back(monitor::middle(of_rank));
  std::vector<double> sorted = middles;
  const double all = monitor::middle(sorted);
  std::vector<RankLag> lagging;
  for (size_t rank = 0; rank < middles.size(); ++rank) {
    if (monitor::begins_to_lag(middles[rank], all))
      lagging.push_back({int64_t(rank), newest.hosts[rank], middles[rank] / all});
  }
  return lagging;
}

}  // namespace zero::report
