#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "src/machine/probes.hpp"
#include "zero/base/text.hpp"
#include "zero/machine/machine.hpp"

namespace zero::machine {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Finding& finding) {
  Json json = {{"subject", finding.subject},
               {"verdict", name_of(finding.verdict)},
               {"found", finding.found},
               {"advice", finding.advice}};
  if (finding.figure > 0) {
    json["figure"] = finding.figure;
    json["unit"] = finding.unit;
  }
  json["status_of_training"] = int(finding.stops);
  return json;
}

Json json_of(const std::vector<Line>& lines, int ranks) {
  Json json = {{"ranks", ranks}, {"status", int(status_of(lines))}};
  json["findings"] = Json::array();
  for (const Line& line : lines) {
    json["findings"].push_back(json_of(line.finding));
    json["findings"].back()["ranks"] = line.ranks;
  }
  return json;
}

std::string json_text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Verdict verdict_named(const std::string& name) {
  for (Verdict verdict : {Verdict::good, Verdict::warning}) {
    if (name == name_of(verdict)) return verdict;
  }
  return Verdict::missing;
}

bool agree(const Finding& a, const Finding& b) {
  return a.subject == b.subject && a.verdict == b.verdict && a.found == b.found;
}

/// Returns the line that says the same, or a new one after those of its subject.
Line& line_of(std::vector<Line>& lines, const Finding& finding) {
  for (Line& line : lines) {
    if (agree(line.finding, finding)) return line;
  }
  const auto same_subject = [&](const Line& line) {
    return line.finding.subject == finding.subject;
  };
  const auto last = std::find_if(lines.rbegin(), lines.rend(), same_subject);
  const auto place = last == lines.rend() ? lines.end() : last.base();
  return *lines.insert(place, Line{.finding = finding, .ranks = {}});
}

std::string number(double value) { return format(value < 100 ? "%.1f" : "%.0f", value); }

/// Returns "12.0 to 13.5 GB/s a rank, 25.5 in all".
std::string figures_text(const std::vector<double>& figures, const std::string& unit) {
  if (figures.size() == 1) return text(number(figures[0]), " ", unit);
  const auto [least, most] = std::minmax_element(figures.begin(), figures.end());
  double sum = 0;
  for (double figure : figures) sum += figure;
  return text(number(*least), " to ", number(*most), " ", unit, " a rank, ", number(sum),
              " in all");
}

std::string ranks_text(const std::vector<int>& ranks) {
  constexpr size_t kNamed = 4;
  std::string out = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < std::min(kNamed, ranks.size()); ++i) {
    out += text(i ? ", " : "", ranks[i]);
  }
  if (ranks.size() > kNamed) out += text(" and ", ranks.size() - kNamed, " more");
  return out;
}

/// Indents lines below their finding.
std::string indented(const std::string& lines) {
  std::string out = std::string(26, ' ');
  for (const char c : lines) {
    out += c;
    if (c == '\n') out += std::string(29, ' ');
  }
  return out + "\n";
}

/// True if every rank that looked found the same.
bool is_common(const std::vector<Line>& lines, const Line& line) {
  return std::count_if(lines.begin(), lines.end(), [&](const Line& other) {
           return other.finding.subject == line.finding.subject;
         }) == 1;
}

/// True if every rank has something to compute on.
bool can_compute(launch::Session& session) {
  return session.peers().smallest(!drives_devices() || !usable_devices().empty()) != 0;
}

Findings look(launch::Session& session, const ExaminedFolders& folders) {
  const bool computes = can_compute(session);
  if (computes) session.start_threads(0, true);
  Findings all;
  const auto add = [&](Findings findings) {
    for (Finding& finding : findings) all.push_back(std::move(finding));
    session.peers().largest(0);
  };
  add(mpi_findings(session));
  add(core_findings(session));
  add(device_findings(session));
  if (computes) add(arithmetic_findings(session));
  add(memory_findings(session));
  add(sharing_findings(session));
  add(disk_findings(session, folders.scratch));
  // Ranks of one node share its disk.
  if (folders.nvme) add(session.leads_node() ? nvme_findings(*folders.nvme) : Findings());
  return all;
}

std::vector<Line> gather(launch::Session& session, const Findings& mine) {
  std::vector<Findings> ranks;
  for (const std::string& packed : session.peers().share(pack_findings(mine))) {
    ranks.push_back(unpack_findings(packed));
  }
  return join_findings(ranks);
}

}  // namespace

const char* name_of(Verdict verdict) {
  static constexpr const char* kNames[] = {"good", "warning", "missing"};
  return kNames[size_t(verdict)];
}

Finding asked(const std::string& subject, const std::function<std::string()>& rule,
              const std::string& advice) {
  try {
    return {.subject = subject, .found = rule()};
  } catch (const Error& error) {
    const std::string words = error.what();
    const size_t dash = advice.empty() ? words.find(" - ") : words.npos;
    return {.subject = subject,
            .verdict = Verdict::missing,
            .found = words.substr(0, dash),
            .advice = dash == words.npos ? advice : words.substr(dash + 3),
            .stops = error.exit()};
  }
}

std::string pack_findings(const Findings& findings) {
  Json json = Json::array();
  for (const Finding& finding : findings) json.push_back(json_of(finding));
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Findings unpack_findings(const std::string& packed) {
  Findings findings;
  for (const Json& json : Json::parse(packed)) {
    findings.push_back({.subject = json["subject"],
                        .verdict = verdict_named(json["verdict"]),
                        .found = json["found"],
                        .advice = json["advice"],
                        .figure = json.value("figure", 0.0),
                        .unit = json.value("unit", ""),
                        .stops = Exit(json["status_of_training"].get<int>())});
  }
  return findings;
}

std::vector<Line> join_findings(const std::vector<Findings>& ranks) {
  std::vector<Line> lines;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    for (const Finding& finding : ranks[rank]) {
      line_of(lines, finding).ranks.push_back(int(rank));
    }
  }
  for (Line& line : lines) {
    std::vector<double> measured;
    for (int rank : line.ranks) {
      for (const Finding& finding : ranks[size_t(rank)]) {
        if (agree(finding, line.finding) && finding.figure > 0) measured.push_back(finding.figure);
      }
    }
    if (measured.empty()) continue;
    line.finding.figure = 0;
    for (double figure : measured) line.finding.figure += figure;
    const std::string& what = line.finding.found;
    line.finding.found =
        figures_text(measured, line.finding.unit) + (what.empty() ? "" : ", " + what);
  }
  return lines;
}

std::string doctor_table(const std::vector<Line>& lines, int ranks) {
  std::string out;
  int counts[3] = {};
  for (const Line& line : lines) {
    const Finding& finding = line.finding;
    ++counts[size_t(finding.verdict)];
    append(out, "%-8s %-16s ", name_of(finding.verdict), finding.subject.c_str());
    const bool named = ranks > 1 && !is_common(lines, line);
    out += (named ? ranks_text(line.ranks) + ": " : "") + finding.found + "\n";
    if (!finding.advice.empty()) out += indented("-> " + finding.advice);
  }
  out += text(counts[0], " good, ", counts[1], counts[1] == 1 ? " warning, " : " warnings, ",
              counts[2], " missing: ");
  const Exit status = status_of(lines);
  return out + (status == Exit::kFinished
                    ? "training can start\n"
                    : text("training would end with status ", int(status), "\n"));
}

std::string doctor_json(const std::vector<Line>& lines, int ranks) {
  return json_text(json_of(lines, ranks));
}

Exit status_of(const std::vector<Line>& lines) {
  for (const Line& line : lines) {
    if (line.finding.stops != Exit::kFinished) return line.finding.stops;
  }
  return Exit::kFinished;
}

Examination examine_placement(launch::Session& session) {
  if (can_compute(session)) session.start_threads(0, true);
  const std::vector<launch::RankPlace> places = session.places();
  const std::vector<Line> lines = join_findings({placement_findings(places)});
  Json json = json_of(lines, session.ranks());
  for (size_t rank = 0; rank < places.size(); ++rank) {
    Json place = {{"rank", rank}};
    place.update(Json::parse(launch::pack_place(places[rank])));
    json["places"].push_back(std::move(place));
  }
  return {.table = launch::placement_table(places) + doctor_table(lines, 1),
          .json = json_text(json),
          .status = status_of(lines)};
}

Examination examine(launch::Session& session, const ExaminedFolders& folders) {
  const std::vector<Line> lines = gather(session, look(session, folders));
  return {.table = doctor_table(lines, session.ranks()),
          .json = doctor_json(lines, session.ranks()),
          .status = status_of(lines)};
}

}  // namespace zero::machine
