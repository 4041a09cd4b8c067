#include "zero/state/auditor.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "zero/base/text.hpp"
#include "zero/device/device.hpp"

namespace zero::state {
namespace {

/// Returns trained units in the order in which a step digests them.
std::vector<int32_t> digested_units(const plan::Plan& plan) {
  std::vector<int32_t> units;
  for (const plan::PlanOp& op : plan.bodies[plan::kAudit].ops) {
    const bool is_new = std::ranges::find(units, op.unit) == units.end();
    if (op.kind == plan::Kind::digest && is_new) units.push_back(op.unit);
  }
  return units;
}

int64_t sum_in(const std::string& sums, size_t place) {
  int64_t sum = 0;
  std::memcpy(&sum, sums.data() + place * sizeof sum, sizeof sum);
  return sum;
}

/// Returns the number of the rank `distance` before `rank`.
int before(int rank, int distance, int ranks) { return (rank + ranks - distance) % ranks; }

/// Returns "rank 3 on node n2, device 1,".
std::string place_text(int rank, const std::vector<std::string>& hosts,
                       const std::vector<std::string>& devices) {
  const std::string& device = devices[size_t(rank)];
  return text("rank ", rank, " on node ", hosts[size_t(rank)],
              device.empty() ? "" : ", device " + device + ",");
}

}  // namespace

std::optional<int> minority(const AuditedSums& sums) {
  if (!sums.third) return {};
  if (sums.next == *sums.third) return 0;
  if (sums.own == *sums.third) return 1;
  return sums.own == sums.next ? std::optional(2) : std::nullopt;
}

Auditor::Auditor(launch::Session& session, Engine& engine, const BatchLoader& loader,
                 StepLoader& rows)
    : session_(session),
      engine_(engine),
      loader_(loader),
      rows_(rows),
      order_(digested_units(engine.plan())),
      sums_(2 * engine.plan().units.size()),
      apart_(engine.plan().units.size()) {
  ZERO_REQUIRE(engine.plan().request.audits, "an audit by a plan without one");
}

/// Runs the first micro-batch of the rank `distance` ahead, and reads the sums of both.
void Auditor::repeat(int64_t step, int distance) {
  const int rank = session_.rank(), ranks = session_.ranks();
  kernels::StepInputs inputs = loader_.inputs(step);
  // The plan knows the next rank alone.
  inputs.first_sample +=
      ((rank + distance) % ranks - (rank + 1) % ranks) * engine_.plan().graphs[0].samples;
  engine_.run(plan::kAudit, inputs);
  engine_.executor().buffers().read(engine_.plan().audit_sums, 0,
                                    std::as_writable_bytes(std::span(sums_)));
}

std::optional<AuditFinding> Auditor::audit(int64_t step) {
  repeat(step, 1);
  const size_t units = apart_.size();
  for (size_t unit = 0; unit < units; ++unit)
    apart_[unit] = uint64_t(sums_[unit]) - uint64_t(sums_[units + unit]);
  session_.peers().add_up(apart_);
  if (std::ranges::all_of(apart_, [](uint64_t sum) { return sum == 0; })) return {};
  return explain(step);
}

std::string Auditor::sums_text() const {
  return {reinterpret_cast<const char*>(sums_.data()), sums_.size() * sizeof(int64_t)};
}

AuditedSums Auditor::sums_of(int rank, size_t order, const AllSums& seconds,
                             const AllSums& thirds) const {
  const int ranks = session_.ranks();
  const size_t unit = size_t(order_[order]), repeated = apart_.size() + unit;
  AuditedSums sums{.own = sum_in(seconds[size_t(rank)], unit),
                   .next = sum_in(seconds[size_t(before(rank, 1, ranks))], repeated)};
  if (!thirds.empty()) sums.third = sum_in(thirds[size_t(before(rank, 2, ranks))], repeated);
  return sums;
}

/// Returns the difference that backward meets first in any micro-batch, where the fault is
/// likeliest.
Auditor::Difference Auditor::first_difference(const AllSums& seconds) const {
  Difference first{.order = order_.size()};
  for (int rank = 0; rank < session_.ranks(); ++rank) {
    Difference found{.rank = rank, .order = order_.size()};
    for (size_t order = order_.size(); order-- > 0;) {
      const AuditedSums sums = sums_of(rank, order, seconds, {});
      if (sums.own == sums.next) continue;
      found.order = order;
      ++found.units;
    }
    if (found.order < first.order) first = found;
  }
  ZERO_REQUIRE(first.order < order_.size(), "an audit found a difference of no unit");
  return first;
}

AuditFinding Auditor::explain(int64_t step) {
  const int ranks = session_.ranks();
  launch::Peers& peers = session_.peers();
  const AllSums seconds = peers.share(sums_text());
  AllSums thirds;
  if (ranks > 2) {
    rows_.load_audit(step, 2);
    repeat(step, 2);
    thirds = peers.share(sums_text());
  }
  const std::vector<std::string> hosts = peers.share(session_.host());
  const std::vector<std::string> devices =
      peers.share(drives_devices() ? text(device_in_use()) : "");
  const Difference found = first_difference(seconds);
  const int one = found.rank, two = before(one, 1, ranks), three = before(one, 2, ranks);
  const std::string what =
      text(" gradients of unit ", engine_.plan().units[size_t(order_[found.order])].name,
           " in step ", step, ", in which ", found.units, " of ",
           counted(std::ssize(order_), "unit"), found.units == 1 ? " differs" : " differ");
  const auto place = [&](int rank) { return place_text(rank, hosts, devices); };
  const std::optional<int> wrong = minority(sums_of(one, found.order, seconds, thirds));
  if (wrong) {
    const int rank = before(one, *wrong, ranks);
    const int others[] = {*wrong == 0 ? two : one, *wrong == 2 ? two : three};
    return {.speaker = rank,
            .node = hosts[size_t(rank)],
            .words = text(place(rank), " computed other", what, ", than ranks ", others[0], " and ",
                          others[1], ", which agree")};
  }
  if (ranks == 1) return {0, hosts[0], text(place(0), " computed twice, and differently,", what)};
  if (ranks == 2) {
    return {.speaker = one,
            .node = hosts[0] == hosts[1] ? hosts[0] : "",
            .words = text("one of ", place(0), " and ", place(1), " computed wrong", what)};
  }
  return {.speaker = one,
          .node = "",
          .words = text(place(one), ", ", place(two), " and ", place(three),
                        " computed three different", what)};
}

}  // namespace zero::state
