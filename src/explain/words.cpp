#include <algorithm>
#include <nlohmann/json.hpp>

#include "zero/base/text.hpp"
#include "zero/explain/explain.hpp"

namespace zero::explain {
namespace {

using Json = nlohmann::ordered_json;

/// Most lines of advice.
constexpr size_t kMostAdvice = 8;

std::string typed(const Trial& trial) {
  std::string out;
  for (const std::string& setting : trial.settings) out += (out.empty() ? "" : " ") + setting;
  return out;
}

const char* word_of(SameBytes same) {
  constexpr const char* kWords[] = {"yes", "no", "batch changes"};
  return kWords[size_t(same)];
}

std::string more_bytes(double bytes) {
  const std::string size = bytes_text(std::abs(bytes));
  return (bytes < 0 ? "-" : "+") + size;
}

std::string line_of(const Trial& trial, const std::string& unit) {
  if (!trial.refused.empty()) return text("  ", typed(trial), "  refused: ", trial.refused, "\n");
  return text("  ", typed(trial), format("  %+.1f %% ", 100 * trial.gain), unit, "/s, ",
              more_bytes(trial.more_bytes), ", same bytes: ", word_of(trial.same_bytes),
              trial.fits ? "" : ", does not fit", "\n");
}

Json json_of(const Trial& trial) {
  Json json = {{"settings", trial.settings}};
  if (!trial.refused.empty()) {
    json["refused"] = trial.refused;
    return json;
  }
  json["gain"] = trial.gain;
  json["more_bytes"] = trial.more_bytes;
  json["same_bytes"] = word_of(trial.same_bytes);
  json["fits"] = trial.fits;
  return json;
}

Json json_of(const std::vector<Trial>& trials) {
  Json json = Json::array();
  for (const Trial& trial : trials) json.push_back(json_of(trial));
  return json;
}

}  // namespace

std::string text_of(const Explanation& e, bool all) {
  std::string out = text(
      e.run, ": ", counted(e.steps, "step"), e.is_live ? " so far" : "", " on ",
      counted(e.ranks, "rank"),
      format(", %.1f ms each, %.0f ", 1e3 * e.step_seconds, e.units_per_second), e.unit, "/s\n",
      format("forecast    %.1f ms (%+.1f %%), by rates fitted to ", 1e3 * e.forecast_seconds,
             100 * (e.forecast_seconds / e.step_seconds - 1)),
      e.has_kinds ? "each kind of op" : "each phase", "\n",
      format("bottleneck  %.0f %% of a step is time for ", 100 * e.bottleneck.share),
      e.bottleneck.part, "\n", "memory      ", e.limit, "\n");
  const size_t tried = e.advice.size() + e.others.size();
  if (e.advice.empty()) out += text("none of ", counted(tried, "change"), " gains 1 %\n");
  for (size_t i = 0; i < std::min(kMostAdvice, e.advice.size()); ++i)
    out += line_of(e.advice[i], e.unit);
  if (!all) return out;
  if (e.advice.size() > kMostAdvice) out += "more that gain:\n";
  for (size_t i = kMostAdvice; i < e.advice.size(); ++i) out += line_of(e.advice[i], e.unit);
  out += "no gain, too large or refused:\n";
  for (const Trial& trial : e.others) out += line_of(trial, e.unit);
  return out;
}

std::string json_of(const Explanation& e) {
  const Json json = {{"run", e.run},
                     {"live", e.is_live},
                     {"ranks", e.ranks},
                     {"steps", e.steps},
                     {"step_seconds", e.step_seconds},
                     {"forecast_seconds", e.forecast_seconds},
                     {"fitted_to", e.has_kinds ? "kinds" : "phases"},
                     {text(e.unit, "_per_second"), e.units_per_second},
                     {"bottleneck", {{"part", e.bottleneck.part}, {"share", e.bottleneck.share}}},
                     {"limit", e.limit},
                     {"advice", json_of(e.advice)},
                     {"others", json_of(e.others)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace zero::explain
