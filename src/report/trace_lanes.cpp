#include "src/report/trace_lanes.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "src/report/run_files.hpp"
#include "zero/base/path.hpp"

namespace zero::report {
namespace {

using Json = nlohmann::ordered_json;

/// Longer than any event.
constexpr size_t kLineBytes = size_t(1) << 16;
/// Later lanes are passed over.
constexpr size_t kMostLanes = 64;
/// A pixel of a wide screen.
constexpr double kPixel = 1.0 / 1000;

/// An event with a time.
struct Event {
  int64_t lane = 0, step = 0;
  double begin = 0, end = 0;  ///< microseconds
};

double number(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_number() ? found->get<double>() : 0;
}

/// A reader of the events of the first rank.
class Reader {
 public:
  explicit Reader(const std::string& path) : lines_(path) {}

  TracedStep read() {
    // An overlong line, which no run wrote, ends the loop.
    std::vector<char> line(kLineBytes);
    while (lines_.getline(line.data(), std::streamsize(line.size())) && take(line.data())) {
    }
    return bodies_.empty() ? TracedStep() : step_of(bodies_.back());
  }

 private:
  /// False from the second rank on.
  bool take(std::string_view line) {
    if (!line.starts_with("{\"ph\":\"M\"") && !line.starts_with("{\"ph\":\"X\"")) return true;
    if (line.ends_with(',')) line.remove_suffix(1);
    const Json event = Json::parse(line, nullptr, false);
    if (!event.is_object()) return true;
    if (whole_in(event, "pid") != 0) return false;
    const auto arguments = event.find("args");
    if (arguments == event.end() || !arguments->is_object()) return true;
    if (text_in(event, "ph") == "M") {
      name(event, *arguments);
      return true;
    }
    const double begin = number(event, "ts"), length = number(event, "dur");
    const Event timed{.lane = whole_in(event, "tid"),
                      .step = whole_in(*arguments, "step"),
                      .begin = begin,
                      .end = begin + length};
    const bool is_body = timed.lane == bodies_lane_;
    if (is_body && text_in(event, "name").starts_with("step ")) bodies_.push_back(timed);
    if (!is_body) events_.push_back(timed);
    return true;
  }

  void name(const Json& event, const Json& arguments) {
    if (text_in(event, "name") != "thread_name") return;
    const std::string name = text_in(arguments, "name");
    const int64_t lane = whole_in(event, "tid");
    if (name == "bodies") {
      bodies_lane_ = lane;
    } else if (names_.size() < kMostLanes || names_.contains(lane)) {
      names_[lane] = name;
    }
  }

  TracedStep step_of(const Event& body) const {
    TracedStep step{.step = body.step, .ms = 1e-3 * (body.end - body.begin)};
    if (!(step.ms > 0)) return {};
    std::map<int64_t, TracedLane> lanes;
    for (const auto& [number, name] : names_) lanes[number].name = name;
    for (const Event& event : events_) {
      const auto lane = lanes.find(event.lane);
      const bool is_in_body = event.begin < body.end && event.end > body.begin;
      if (lane != lanes.end() && is_in_body) add(lane->second, event, body);
    }
    for (auto& [number, lane] : lanes) {
      if (!lane.busy.empty()) step.lanes.push_back(std::move(lane));
    }
    return step;
  }

  static void add(TracedLane& lane, const Event& event, const Event& body) {
    const double whole = body.end - body.begin;
    const double begin = std::clamp((event.begin - body.begin) / whole, 0.0, 1.0),
                 end = std::clamp((event.end - body.begin) / whole, 0.0, 1.0);
    lane.busy_ms += 1e-3 * whole * (end - begin);
    if (!lane.busy.empty() && begin - lane.busy.back().second < kPixel) {
      lane.busy.back().second = std::max(lane.busy.back().second, end);
    } else {
      lane.busy.emplace_back(begin, end);
    }
  }

  std::ifstream lines_;
  std::map<int64_t, std::string> names_;
  int64_t bodies_lane_ = -1;
  std::vector<Event> bodies_, events_;
};

}  // namespace

TracedStep read_trace(const std::string& path) {
  return look_at(path).kind == PathKind::file ? Reader(path).read() : TracedStep();
}

}  // namespace zero::report
