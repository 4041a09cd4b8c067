/// The advice for a refused plan: the part of cheapest_change.hpp for people.

#include <span>
#include <string>
#include <string_view>

#include "src/advise/memory_needs.hpp"
#include "zero/advise/cheapest_change.hpp"
#include "zero/advise/plan_report.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"

namespace zero::advise {
namespace {

/// True if only a disk is too small.
bool is_disk_short(const PlanReport& report) {
  MemoryLimit limit = report.limit;
  limit.disk = {};
  return !report.fits() && fits(*report.build, limit);
}

/// Returns the advice to write texts with a separate command.
std::string later_texts(const setup::Build& build) {
  std::string out;
  for (const setup::Texts& texts : build.texts) {
    const bool answers = std::string_view(texts.key) == "evaluation.generate";
    out += answers ? "evaluation.generate = false and zeroapp eval RUN evaluation.generate=true "
                     "afterwards, "
                   : "evaluation.show_samples = 0 and zeroapp generate RUN afterwards, ";
  }
  return out;
}

/// Returns the advice to raise a limit that the user has set.
std::string larger_limit(const PlanReport& report) {
  const auto shortage = shortage_of(*report.build, report.limit);
  const std::string_view key = shortage ? shortage->need.key : "";
  return key.empty() ? "or a machine with more memory" : text("or write a larger ", key);
}

/// Returns the settings of the command line whose keys the change sets too.
std::string replaced(const Change& change, std::span<const std::string> typed) {
  std::string words;
  for (const std::string& setting : typed) {
    const std::string key = setting.substr(0, setting.find('=')) + "=";
    const bool again = (" " + change.text).find(" " + key) != std::string::npos;
    if (again) words += (words.empty() ? "" : " ") + setting;
  }
  return words;
}

std::string advice_for(const PlanReport& report, const RunConfig& config, const setup::World& world,
                       const ChangeOptions& options) {
  const Fits fits = fits_in(report.limit);
  SearchTime time = options.time;
  const auto change = cheapest_change(config, world, fits, options.most_ranks, &time);
  if (!change && time.has_ended) {
    return text("the search was cut after ", time.seconds,
                " s, before a change that makes it fit was found; use fewer layers, or try a "
                "higher stage, states in host memory or on disk, or "
                "more ranks");
  }
  if (!change) {
    return text("no batch, recompute, stage or home in host memory or on disk on up to ",
                counted(options.most_ranks, "rank"),
                " makes it fit; use a smaller model (fewer layers, a ",
                "smaller width or vocabulary), ", later_texts(*report.build),
                options.most_ranks < comm::kMostRanks ? "more ranks, " : "",
                is_disk_short(report) ? "a larger disk" : larger_limit(report));
  }
  std::string advice = "cheapest change that fits: " + change->text;
  const bool grows = change->ranks > world.ranks && options.node_ranks;
  const int64_t node = grows ? options.node_ranks(*change) : 0;
  if (node > 0) advice += text(" --ranks-per-node ", node);
  if (change->names_folder) {
    advice += text(" (", kFolderToName, ": one on a local disk, yours to name)");
  }
  if (const std::string old = replaced(*change, options.typed); !old.empty()) {
    advice += text(" (in place of ", old, ")");
  }
  if (time.has_ended) {
    advice += text(" (the search was cut after ", time.seconds, " s, so less may do)");
  }
  return advice;
}

}  // namespace

void refuse_unless_fits(const PlanReport& report, const RunConfig& config,
                        const setup::World& world, const ChangeOptions& options) {
  if (report.fits()) return;
  refuse(Exit::kDoesNotFit, "the plan needs ", shortage_text(*report.build, report.limit), " - ",
         advice_for(report, config, world, options));
}

}  // namespace zero::advise
