#include <algorithm>
#include <cmath>
#include <ctime>
#include <set>

#include "src/report/escaped_text.hpp"
#include "src/report/sections.hpp"
#include "zero/base/text.hpp"

namespace zero::report {
namespace {

constexpr size_t kMostRows = 50;

std::string utc_text(int64_t seconds) {
  const std::time_t time = seconds;
  std::tm parts{};
  char words[40] = "";
  if (gmtime_r(&time, &parts)) std::strftime(words, sizeof words, "%Y-%m-%d %H:%M:%S", &parts);
  return words;
}

/// True if a setting has a value of its own.
bool is_set(const Setting& setting) {
  for (const char* origin : {"default", "always", "derived"}) {
    if (setting.origin.starts_with(origin)) return false;
  }
  return true;
}

std::string value_in(const RunFacts& run, const std::string& key) {
  const auto found = run.settings.find(key);
  return found == run.settings.end() ? "-" : found->second.value;
}

std::string own_settings(const RunFacts& run) {
  std::vector<Cells> rows;
  for (const auto& [key, setting] : run.settings) {
    if (is_set(setting)) rows.push_back({key, setting.value, setting.origin});
  }
  return rows.empty() ? "" : html_table({"key", "value", "from"}, rows);
}

/// Returns the keys that differ between the runs, with the value of each run.
std::string differing_settings(Runs runs) {
  std::set<std::string> keys;
  for (const RunFacts& run : runs) {
    for (const auto& [key, setting] : run.settings) keys.insert(key);
  }
  Cells head = {"key"};
  for (const RunFacts& run : runs) head.push_back(run.name);
  std::vector<Cells> rows;
  for (const std::string& key : keys) {
    Cells row = {key};
    for (const RunFacts& run : runs) row.push_back(value_in(run, key));
    const bool differs = std::ranges::any_of(row.begin() + 2, row.end(),
                                             [&](const auto& value) { return value != row[1]; });
    if (differs) rows.push_back(std::move(row));
  }
  return rows.empty() ? "<p>All settings are equal.</p>" : html_table(head, rows);
}

}  // namespace

std::string fixed(double value, int digits) {
  return std::isfinite(value) ? format("%.*f", digits, value) : "-";
}

std::string html_table(const Cells& head, const std::vector<Cells>& rows) {
  std::string out = "<div class=\"w\"><table><thead><tr>";
  for (const std::string& cell : head) out += text("<th>", escaped(cell), "</th>");
  out += "</tr></thead><tbody>";
  for (const Cells& row : rows) {
    out += "<tr>";
    for (const std::string& cell : row) out += text("<td>", escaped(cell), "</td>");
    out += "</tr>";
  }
  return out + "</tbody></table></div>";
}

std::string launches_section(const RunFacts& run) {
  std::vector<Cells> rows;
  const size_t first = run.launches.size() - std::min(kMostRows, run.launches.size());
  for (size_t i = first; i < run.launches.size(); ++i) {
    const LaunchRow& launch = run.launches[i];
    const bool is_last = i + 1 == run.launches.size();
    rows.push_back({launch.start, launch.end.empty() ? "-" : launch.end, text(launch.from + 1),
                    text(launch.ranks), launch.host,
                    is_last                ? end_words(run.end)
                    : launch.ended.empty() ? "killed"
                                           : launch.ended});
  }
  std::string out =
      rows.empty() ? ""
                   : html_table({"began", "ended", "first step", "ranks", "host", "end"}, rows);
  if (first > 0) out += text("<p class=\"q\">The last ", kMostRows, " launches.</p>");
  out += text("<p>", escaped(end_text(run.end)), "</p>");
  rows.clear();
  for (const SaveRow& save : run.saves) rows.push_back({text(save.step), utc_text(save.written)});
  if (rows.size() > kMostRows) rows.erase(rows.begin(), rows.end() - ptrdiff_t(kMostRows));
  return out + (rows.empty() ? "<p>No checkpoint.</p>"
                             : html_table({"checkpoint of step", "written (UTC)"}, rows));
}

std::string settings_section(Runs runs) {
  if (runs.size() == 1) {
    const std::string own = own_settings(runs.front());
    return own.empty() ? "" : "<p>What differs from the defaults:</p>" + own;
  }
  std::string out = "<p>What differs between the runs:</p>" + differing_settings(runs);
  return out + text("<p>What differs from the defaults in ", escaped(runs.front().name), ":</p>",
                    own_settings(runs.front()));
}

std::string hashes_section(const RunFacts& run) {
  const std::string sha = text_in(run.summary, "state_sha256"),
                    xxh = text_in(run.summary, "state_xxh3");
  std::string out;
  if (!sha.empty() || !xxh.empty()) {
    out += html_table({"hash of the last state", ""},
                      {{"SHA-256", sha.empty() ? "-" : sha}, {"XXH3", xxh.empty() ? "-" : xxh}});
  }
  if (run.launches.empty()) return out;
  const LaunchRow& last = run.launches.back();
  return out + text("<p>The same bits come from the same program (", escaped(last.version),
                    "), data and settings on ", counted(last.ranks, "rank"), " of ",
                    counted(last.threads, "thread"), ":</p><pre>", escaped(last.command), "</pre>");
}

}  // namespace zero::report
