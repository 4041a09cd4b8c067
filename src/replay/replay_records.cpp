#include "src/replay/replay_records.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "zero/base/error.hpp"
#include "zero/base/path.hpp"
#include "zero/base/text.hpp"
#include "zero/monitor/digest_log.hpp"
#include "zero/state/unit_digests.hpp"

namespace zero::replay {
namespace {

using Json = nlohmann::ordered_json;

/// An error of a value in a line of JSON.
struct BadValue {};

/// Calls `visit` with each whole line. Throws Error(kInput) with the place of a line that is none.
void read_lines(const std::string& path, const std::function<void(const std::string&)>& visit) {
  std::ifstream file(path);
  std::string line;
  for (int64_t number = 1; std::getline(file, line) && !file.eof(); ++number) {
    bool is_line = true;
    try {
      visit(line);
    } catch (const Json::exception&) {
      is_line = false;
    } catch (const BadValue&) {
      is_line = false;
    }
    if (!is_line)
      refuse(Exit::kInput, path, ":", number, ": no run writes such a line - restore the file");
  }
}

/// Returns the step of a line without parsing the rest of it; -1 without one.
int64_t step_of(const std::string& line) {
  constexpr std::string_view kHead = "{\"step\": ";
  int64_t step = -1;
  if (line.starts_with(kHead))
    std::from_chars(line.data() + kHead.size(), line.data() + line.size(), step);
  return step;
}

uint64_t from_hex(const std::string& word) {
  uint64_t number = 0;
  const char* const last = word.data() + word.size();
  const auto [end, error] = std::from_chars(word.data(), last, number, 16);
  if (word.size() == 16 && end == last && error == std::errc()) return number;
  throw BadValue();
}

RecordedStep step_in(const Json& line) {
  RecordedStep step{.loss_bits = from_hex(line.at("loss_hex").get<std::string>()),
                    .skipped = line.at("skipped").get<bool>(),
                    .rejected = line.value("rejected", false)};
  const Json& norm = line.at("grad_norm");
  if (!norm.is_null()) step.grad_norm = norm.get<double>();
  return step;
}

void add_digests(const Json& line, std::vector<RecordedDigest>& digests) {
  const std::string unit = line.at("unit").get<std::string>();
  for (const auto& [name, value] : line.items()) {
    if (name != "step" && name != "unit")
      digests.push_back({unit, name, from_hex(value.get<std::string>())});
  }
}

/// Requires that a file's digests can be compared with this program's.
void require_form(const std::string& path, const std::string& line) {
  const Json head = Json::parse(line);
  if (head.value("digests", "") == state::kDigestForm) return;
  refuse(Exit::kInput, path, ": its digests are of another form than this program's - replay with ",
         "the program that wrote them");
}

int64_t begin_of(const Json& launch) { return launch.value("resumed_from_step", int64_t(0)); }

template <class Float, class Bits>
uint64_t ulps(Float a, Float b) {
  if (std::isnan(a) || std::isnan(b)) {
    return std::bit_cast<Bits>(a) == std::bit_cast<Bits>(b) ? 0
                                                            : std::numeric_limits<uint64_t>::max();
  }
  // Numbers in order; both zeros are 0.
  const auto place = [](Float number) {
    const Bits bits = std::bit_cast<Bits>(std::fabs(number));
    return std::signbit(number) ? -__int128(bits) : __int128(bits);
  };
  const __int128 apart = place(a) - place(b);
  return uint64_t(apart < 0 ? -apart : apart);
}

}  // namespace

Recorded read_recorded(const std::string& folder, int64_t begin, int64_t end) {
  Recorded recorded;
  const auto is_wanted = [&](int64_t step) { return begin < step && step <= end; };
  read_lines(folder + "/metrics.jsonl", [&](const std::string& line) {
    const int64_t step = step_of(line);
    if (step < 0 || is_wanted(step)) recorded.steps[step] = step_in(Json::parse(line));
  });
  const std::string digests = folder + "/" + monitor::kDigestsName;
  read_lines(digests, [&](const std::string& line) {
    const int64_t step = step_of(line);
    if (step == 0) require_form(digests, line);
    if (step < 0 || is_wanted(step)) add_digests(Json::parse(line), recorded.digests[step]);
  });
  return recorded;
}

int64_t last_recorded(const std::string& folder) {
  int64_t last = 0;
  read_lines(folder + "/metrics.jsonl",
             [&](const std::string& line) { last = std::max(last, step_of(line)); });
  return last;
}

RecordedLaunch launch_of(const std::string& folder, int64_t step) {
  const std::string path = folder + "/launches.jsonl";
  RecordedLaunch found;
  read_lines(path, [&](const std::string& line) {
    const Json launch = Json::parse(line);
    const int64_t begin = begin_of(launch);
    if (begin < step) {
      found = {.ranks = launch.at("ranks").get<int64_t>(), .begin = begin};
    } else {
      found.is_last = false;
      found.end = std::min(found.end, begin);
    }
  });
  if (found.ranks < 1) refuse(Exit::kInput, path, ": no launch took step ", step);
  return found;
}

uint64_t ulps_between(double a, double b) { return ulps<double, uint64_t>(a, b); }
uint64_t ulps_between(float a, float b) { return ulps<float, uint32_t>(a, b); }

}  // namespace zero::replay
