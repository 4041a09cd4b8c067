#include "zero/advise/cheapest_change.hpp"
#include "zero/advise/plan_report.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"

namespace zero::advise {
namespace {

/// Whether a disk is, and nothing else.
bool is_disk_short(const PlanReport& report) {
  MemoryLimit limit = report.limit;
  limit.disk = {};
  return !report.fits() && fits(*report.build, limit);
}

std::string advice_for(const PlanReport& report, const RunConfig& config, const state::World& world,
                       const MoreRanks& more) {
  const Fits fits = fits_in(report.limit);
  SearchTime time;
  const auto change = cheapest_change(config, world, fits, more.most, &time);
  if (!change && time.has_ended) {
    return text("no change that makes it fit was found in ", time.seconds,
                " s; use fewer layers, or try a higher stage, states in host memory or on disk, or "
                "more ranks");
  }
  if (!change) {
    return text("no batch, recompute, stage or home in host memory or on disk on up to ",
                counted(more.most, "rank"), " makes it fit; use a smaller model, ",
                is_disk_short(report) ? "a larger disk, " : "", "or more ranks on more nodes");
  }
  std::string advice = "cheapest change that fits: " + change->text;
  const bool grows = change->ranks > world.ranks && more.node_ranks;
  const int64_t node = grows ? more.node_ranks(*change) : 0;
  if (node > 0) advice += text(" --ranks-per-node ", node);
  if (change->names_folder) {
    advice += text(" (", kFolderToName, ": one on a local disk, yours to name)");
  }
  return advice;
}

}  // namespace

void refuse_unless_fits(const PlanReport& report, const RunConfig& config,
                        const state::World& world, const MoreRanks& more) {
  if (report.fits()) return;
  refuse(Exit::kDoesNotFit, "the plan needs ", shortage_text(*report.build, report.limit), " - ",
         advice_for(report, config, world, more));
}

}  // namespace zero::advise
