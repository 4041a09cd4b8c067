#include <algorithm>
#include <cmath>

#include "src/report/escaped_text.hpp"
#include "src/report/sections.hpp"
#include "src/report/trace_lanes.hpp"
#include "zero/base/text.hpp"
#include "zero/monitor/rank_times.hpp"

namespace zero::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostShownRanks = 64;
constexpr size_t kMostTableRanks = 16;

double in_ms(double seconds) { return 1e3 * seconds; }

/// Returns a row of a table of bars: name, bar and figure.
std::string bar(const std::string& name, double share, const std::string& figure) {
  const double percent = std::clamp(std::isfinite(share) ? 100 * share : 0.0, 0.0, 100.0);
  return text("<div class=\"r\"><span>", escaped(name),
              "</span><i><b style=\"width:", format("%.1f", percent), "%\"></b></i><span>",
              escaped(figure), "</span></div>");
}

/// Returns the steps of the last launch.
double steps_of_launch(const RunFacts& run) {
  return number_at(run.summary, "/steps") - number_at(run.summary, "/launch/first_step") + 1;
}

/// Returns measured and forecast times of the lanes of the last launch.
std::string lane_table(const RunFacts& run) {
  const double steps = steps_of_launch(run);
  const Json::json_pointer lanes("/lanes");
  if (!(steps > 0) || !run.summary.is_object() || !run.summary.contains(lanes)) return "";
  std::vector<Cells> rows;
  const auto forecast = [&](const std::string& path) {
    return fixed(in_ms(number_at(run.summary, "/forecast/" + path)), 2);
  };
  for (const auto& [name, lane] : run.summary.at(lanes).items()) {
    if (name.find_first_of("/~") != name.npos) continue;
    rows.push_back({name, fixed(in_ms(number_at(lane, "/busy_seconds/mean")) / steps, 2),
                    forecast("lane_seconds/" + name)});
  }
  const double waits = in_ms(number_at(run.summary, "/lanes/compute/waited_seconds/mean")) / steps;
  rows.push_back({"compute waits", fixed(waits, 2), forecast("exposed_seconds")});
  rows.push_back({"step", fixed(in_ms(number_at(run.summary, "/launch/train_seconds")) / steps, 2),
                  forecast("step_seconds")});
  return html_table({"lane", "measured ms", "forecast ms"}, rows) +
         "<p class=\"q\">Means of the last launch over steps and ranks, evaluations included; "
         "lanes "
         "run beside each other.</p>";
}

std::string phase_bars(const RunFacts& run) {
  const double whole = mean_of(run.steps.step_ms);
  std::string out;
  for (const Column& phase : run.steps.phases) {
    const double ms = mean_of(phase.values);
    out += bar(phase.name, ms / whole, text(fixed(ms, 2), " ms"));
  }
  const double waits = mean_of(run.steps.exposed_ms);
  out += bar("compute waits", waits / whole, text(fixed(waits, 2), " ms"));
  return out + text("<p class=\"q\">Means of all steps of the first rank, of ", fixed(whole, 2),
                    " ms; phases run beside each other.</p>");
}

std::string traced_lanes(const TracedStep& step) {
  std::string out;
  for (const TracedLane& lane : step.lanes) {
    std::string path;
    for (const auto& [begin, end] : lane.busy) {
      path += text("M", format("%.1f", 1000 * begin), " 0h",
                   format("%.1f", std::max(0.5, 1000 * (end - begin))), "v10H",
                   format("%.1f", 1000 * begin), "z");
    }
    out += text("<div class=\"r\"><span>", escaped(lane.name),
                "</span><svg viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" role=\"img\" ",
                "aria-label=\"busy times\"><path class=\"f\" d=\"", path, "\"/></svg><span>",
                fixed(lane.busy_ms, 2), " ms</span></div>");
  }
  return out + text("<p class=\"q\">Step ", step.step, " of the first rank, traced, of ",
                    fixed(step.ms, 2), " ms.</p>");
}

/// Returns the middle compute time of each rank.
std::vector<double> compute_times(const std::vector<RankRow>& rows) {
  std::vector<double> middles;
  for (size_t rank = 0; rank < rows.front().ranks.size(); ++rank) {
    std::vector<double> times;
    for (const RankRow& row : rows) times.push_back(row.ranks[rank].compute_ms);
    middles.push_back(middle_of(times));
  }
  return middles;
}

/// Returns the lower middle time, as the watch over ranks does.
double middle_rank(std::vector<double> times) { return monitor::middle(times); }

/// Returns the level of a time beside that of all ranks: 0 to 4.
int level_of(double time, double all) {
  const double factor = all > 0 ? time / all : 1;
  return factor < 1.02 ? 0 : factor < 1.05 ? 1 : factor < 1.15 ? 2 : factor < 1.5 ? 3 : 4;
}

std::string strip(const std::vector<RankRow>& rows, const std::vector<size_t>& shown) {
  std::string paths[5];
  const double width = 1000.0 / double(rows.size());
  for (size_t column = 0; column < rows.size(); ++column) {
    std::vector<double> times;
    for (const RankTime& time : rows[column].ranks) times.push_back(time.compute_ms);
    const double all = middle_rank(times);
    for (size_t line = 0; line < shown.size(); ++line) {
      paths[level_of(times[shown[line]], all)] +=
          text("M", format("%.1f", width * double(column)), " ", 10 * line, "h",
               format("%.1f", width), "v9h-", format("%.1f", width), "z");
    }
  }
  std::string out = text("<svg class=\"st\" viewBox=\"0 0 1000 ", 10 * shown.size(),
                         "\" preserveAspectRatio=\"none\" style=\"height:", 14 * shown.size(),
                         "px\" role=\"img\" aria-label=\"compute time of ranks over steps\">");
  for (size_t level = 0; level < std::size(paths); ++level) {
    if (!paths[level].empty())
      out += text("<path class=\"h", level, "\" d=\"", paths[level], "\"/>");
  }
  return out + "</svg>";
}

}  // namespace

std::string step_section(const RunFacts& run) {
  if (run.steps.steps.empty()) return "";
  const TracedStep step = read_trace(run.path + "/trace.json");
  return (step.step > 0 ? traced_lanes(step) : phase_bars(run)) + lane_table(run);
}

std::string memory_section(const RunFacts& run) {
  std::string out;
  double most = 0;
  constexpr const char* kTiers[] = {"device", "host", "nvme"};
  const auto bytes = [&](const char* tier, const char* kind) {
    return number_at(run.summary, text("/memory/", tier, "/", kind));
  };
  for (const char* tier : kTiers) {
    for (const char* kind : {"planned_bytes", "allocated_bytes"}) {
      const double size = bytes(tier, kind);
      if (size > most) most = size;
    }
  }
  if (most == 0) return "";
  for (const char* tier : kTiers) {
    const double planned = bytes(tier, "planned_bytes"), taken = bytes(tier, "allocated_bytes");
    if (!(planned > 0) && !(taken > 0)) continue;
    out += bar(text(tier, ", planned"), planned / most, bytes_text(planned));
    out += bar(text(tier, ", allocated"), taken / most, bytes_text(taken));
  }
  const double process = number_at(run.summary, "/memory/peak_pss_bytes/max");
  const std::string pss =
      process > 0 ? text(" The largest process held ", bytes_text(process), " of host memory.")
                  : "";
  return out + text("<p class=\"q\">Bytes of a rank in the last launch.", pss, "</p>");
}

std::string ranks_section(const RunFacts& run) {
  if (run.ranks.empty() || run.ranks.front().ranks.size() < 2) return "";
  const std::vector<double> times = compute_times(run.ranks);
  const double all = middle_rank(times);
  std::vector<size_t> slowest(times.size());
  for (size_t rank = 0; rank < times.size(); ++rank) slowest[rank] = rank;
  std::ranges::stable_sort(slowest, [&](size_t a, size_t b) { return times[a] > times[b]; });
  std::vector<size_t> shown(slowest.begin(),
                            slowest.begin() + ptrdiff_t(std::min(kMostShownRanks, slowest.size())));
  std::ranges::sort(shown);
  std::vector<Cells> rows;
  for (size_t i = 0; i < std::min(kMostTableRanks, slowest.size()); ++i) {
    const size_t rank = slowest[i];
    const RankRow& last = run.ranks.back();
    rows.push_back({text(rank), last.hosts[rank], last.devices[rank], fixed(times[rank], 2),
                    fixed(times[rank] / all, 2)});
  }
  return strip(run.ranks, shown) +
         text("<p class=\"q\">A row for each of ", shown.size(), " of ", times.size(),
              " ranks, steps to the right; the stronger the colour, the longer it computes beside "
              "the others (2, 5, 15 and 50 %).</p>") +
         html_table({"rank", "host", "device", "compute ms", "of the middle"}, rows);
}

}  // namespace zero::report
