#include "zero/report/report.hpp"

#include <cstring>
#include <vector>

#include "src/report/escaped_text.hpp"
#include "src/report/sections.hpp"
#include "zero/base/error.hpp"
#include "zero/base/path.hpp"
#include "zero/io/files/own_file.hpp"

namespace zero::report {
namespace {

/// Tells a report from other files.
constexpr std::string_view kMark = "<!-- zeroapp report -->";

/// Names of colours are those of runs (s0 to s5), lags (h0 to h4), and parts of the page.
constexpr const char* kStyle = R"(
:root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--dim:#57606a;--edge:#d0d7de;--grid:#e4e8ec;
--s0:#1f6feb;--s1:#b35900;--s2:#1a7f37;--s3:#8250df;--s4:#bf3989;--s5:#57606a;--bad:#cf222e;
--h0:#d6e6f7;--h1:#a9cdf0;--h2:#f2cf8d;--h3:#e08a2e;--h4:#b3261e}
@media(prefers-color-scheme:dark){:root{--bg:#12161c;--fg:#e6edf3;--dim:#9aa7b4;--edge:#363d47;
--grid:#262c35;--s0:#58a6ff;--s1:#f0a33f;--s2:#56d364;--s3:#bc8cff;--s4:#f778ba;--s5:#9aa7b4;
--bad:#ff7b72;--h0:#1d3248;--h1:#2b5580;--h2:#8a6a1f;--h3:#d17d22;--h4:#ff7b72}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1rem;max-width:70rem;background:var(--bg);color:var(--fg);
font:16px/1.5 system-ui,"DejaVu Sans",Arial,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.5rem;margin:.3rem 0}h2{font-size:1.15rem;margin:2rem 0 .5rem;
border-bottom:1px solid var(--edge)}
.v{font-size:1.05rem}.q,small{color:var(--dim);font-size:.85rem}p{margin:.5rem 0}
figure{margin:1rem 0}figcaption{font-weight:600}
.p{position:relative;height:260px;margin:.7rem .5rem 1.8rem 4.5rem;border:solid var(--dim);
border-width:0 0 1px 1px}
.p svg,.r svg,.st{display:block;width:100%;height:100%;overflow:hidden}
.y,.x{position:absolute;font-size:.8rem;color:var(--dim);white-space:nowrap}
.y{right:100%;transform:translateY(-50%);padding-right:.4rem}
.x{top:100%;transform:translateX(-50%);padding-top:.2rem}.x.z{transform:translateX(-100%)}
path{fill:none;vector-effect:non-scaling-stroke}
.s0{stroke:var(--s0);color:var(--s0)}.s1{stroke:var(--s1);color:var(--s1)}
.s2{stroke:var(--s2);color:var(--s2)}.s3{stroke:var(--s3);color:var(--s3)}
.s4{stroke:var(--s4);color:var(--s4)}.s5{stroke:var(--s5);color:var(--s5)}
.g{stroke:var(--grid)}.la{stroke:var(--dim);stroke-dasharray:4 3}.sk{stroke:var(--bad)}
.l{stroke-width:1.7;stroke-linejoin:round;stroke-linecap:round}.d{stroke-dasharray:5 3}
.t{stroke-dasharray:12 4}.d.t{stroke-dasharray:9 3 2 3}
.o{stroke-width:5;stroke-linecap:round;stroke-dasharray:none}
.b{fill:currentColor;stroke:none;opacity:.18}
.k{font-size:.85rem}.k svg{width:2rem;height:.5rem;margin:0 .4rem;vertical-align:middle}
.r{display:grid;grid-template-columns:10rem 1fr 7rem;gap:.6rem;align-items:center;margin:.25rem 0}
.r i{height:.9rem;background:var(--grid)}.r b{display:block;height:100%;background:var(--s0)}
.r svg{height:.9rem;background:var(--grid)}.f{fill:var(--s0)}.r span:last-child{text-align:right}
.h0{fill:var(--h0)}.h1{fill:var(--h1)}.h2{fill:var(--h2)}.h3{fill:var(--h3)}.h4{fill:var(--h4)}
.w{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem;margin:.5rem 0;
overflow-wrap:normal}
th,td{text-align:left;padding:.2rem .9rem .2rem 0;border-bottom:1px solid var(--grid);
vertical-align:top}th{color:var(--dim);font-weight:600}
td{font-variant-numeric:tabular-nums}
pre{white-space:pre-wrap;border:1px solid var(--edge);padding:.6rem;margin:.5rem 0}
@media(max-width:600px){.r{grid-template-columns:7rem 1fr 5.5rem;font-size:.85rem}
.p{margin-left:3.6rem;height:200px}.x.m{display:none}th,td{padding-right:.6rem}}
)";

/// Allows neither scripts nor fetches, whatever a text of a file might smuggle in.
constexpr const char* kPolicy =
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
    "style-src 'unsafe-inline'; img-src data:\">\n<link rel=\"icon\" href=\"data:,\">\n";

std::vector<RunFacts> read_runs(std::span<const std::string> paths) {
  if (paths.size() > kMostRuns)
    refuse(Exit::kUsage, "command line: ", paths.size(), " runs: a report compares at most ",
           kMostRuns, "; leave some out");
  std::vector<RunFacts> runs;
  for (const std::string& path : paths) runs.push_back(read_run(path));
  // Runs of one name in several folders are told apart by their paths.
  for (RunFacts& run : runs) {
    for (const RunFacts& other : runs) {
      if (&other != &run && name_of_run(other.path) == name_of_run(run.path)) run.name = run.path;
    }
  }
  return runs;
}

std::string section(std::string_view heading, const std::string& content,
                    std::string_view otherwise) {
  return text("<section><h2>", heading, "</h2>",
              content.empty() ? text("<p class=\"q\">", otherwise, "</p>") : content,
              "</section>\n");
}

/// Refuses a path that is taken by what is no report, or by what cannot be read.
void require_ours(const std::string& path) {
  if (!is_taken(path)) return;
  const FileStart start = read_start(path, 400);
  if (start.reason != 0)
    refuse(Exit::kIo, path, ": is there already, and cannot be read (", std::strerror(start.reason),
           "); write another name behind -o");
  if (start.bytes.find(kMark) == start.bytes.npos)
    refuse(Exit::kIo, path, ": is there already, and no report; write another name behind -o");
}

std::string all_names(Runs runs) {
  std::string names;
  for (const RunFacts& run : runs) names += (names.empty() ? "" : ", ") + escaped(run.name);
  return names;
}

}  // namespace

std::string report_page(std::span<const std::string> paths) {
  const std::vector<RunFacts> runs = read_runs(paths);
  const RunFacts& first = runs.front();
  const std::string names = all_names(runs);
  constexpr const char* kLater = "Known when a launch has ended.";
  std::string out =
      text("<!DOCTYPE html>\n", kMark, "\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n",
           kPolicy, "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">",
           "\n<title>", names, "</title><style>", kStyle, "</style></head>\n<body>\n<h1>", names,
           "</h1>\n<p class=\"v\">", escaped(verdict(runs)), "</p>\n");
  out += section("Loss and evaluation", curves_section(runs), "");
  out += section("Speed", speed_section(runs), "");
  out += section("Where a step goes", step_section(first), "No step has ended.");
  out += section("Memory", memory_section(first), kLater);
  out += section("Ranks", ranks_section(first), "One rank, or no ranks.jsonl.");
  out += section("Checkpoints and launches", launches_section(first), "");
  out += section("Settings", settings_section(runs), "All are defaults.");
  out += section("Hashes", hashes_section(first), kLater);
  return out + "</body></html>\n";
}

std::string loss_picture(std::span<const std::string> paths) {
  const std::vector<RunFacts> runs = read_runs(paths);
  Chart chart = loss_chart(runs);
  chart.title = runs.size() == 1 ? text("Loss of ", runs.front().name) : "Loss";
  return chart_svg(chart);
}

void write_report(std::span<const std::string> paths, const std::string& path) {
  require_ours(path);
  require_ours(path + ".tmp");  // replace_own() writes there first.
  replace_own(path, path.ends_with(".svg") ? loss_picture(paths) : report_page(paths));
}

}  // namespace zero::report
