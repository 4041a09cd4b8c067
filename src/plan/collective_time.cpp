#include "src/plan/collective_time.hpp"

#include <algorithm>
#include <cmath>

namespace zero::plan {
namespace {

/// Seconds of a network hop in NCCL's own table (graph/tuning.cc).
constexpr double kHopSeconds = 1.4e-5;

/// A collective over several nodes, with known links.
class BetweenNodes {
 public:
  BetweenNodes(const Sending& sending, const Machine& machine)
      : bytes_(sending.bytes),
        ranks_(double(sending.ranks)),
        node_ranks_(double(machine.node_ranks)),
        nodes_(double(nodes_of(machine, sending.ranks))),
        element_bytes_(double(sending.element_bytes)),
        link_(machine.link_bandwidth),
        node_link_(machine.node_link_bandwidth) {}

  double gather() const {
    return std::min(ring(1) + (ranks_ - 1) * part() / slower(), tree(ranks_ * part()));
  }

  double sum_of_words() const {
    return std::min(ring(2) + 2 * (ranks_ - 1) / ranks_ * part() / slower(), tree(part()));
  }

  /// Returns the time of parts that grow by `widening` on their way between nodes.
  double two_levels(double widening) const {
    const double leaving = node_ranks_ * (nodes_ - 1) * part() * widening;
    return kHopSeconds +
           std::max(nodes_ * (node_ranks_ - 1) * part() / link_, leaving / node_link_);
  }
  double sums_in_two_levels() const { return two_levels(4 / element_bytes_); }

  double exchange() const {
    const double leaving = node_ranks_ * (ranks_ - node_ranks_) * part();
    return kHopSeconds + std::max(bytes_ / link_, leaving / node_link_);
  }

 private:
  double ring(double rounds) const { return rounds * (nodes_ - 1) * kHopSeconds; }
  double tree(double bytes) const {
    return 2 * (std::ceil(std::log2(nodes_)) * kHopSeconds + bytes / slower());
  }
  double slower() const { return std::min(link_, node_link_); }
  double part() const { return bytes_ / (ranks_ - 1); }

  double bytes_, ranks_, node_ranks_, nodes_, element_bytes_, link_, node_link_;
};

double seconds_between(const Sending& sending, const Machine& machine) {
  const BetweenNodes nodes(sending, machine);
  const comm::Border border = border_of(machine, sending.ranks);
  switch (sending.kind) {
    case Kind::reduce_scatter:
      return border.sums_once ? nodes.sums_in_two_levels() : nodes.exchange();
    case Kind::all_gather:
      if (border.sums_once) return nodes.two_levels(1);
      return machine.has_memory ? nodes.gather() : nodes.exchange();
    default:
      return nodes.sum_of_words();
  }
}

}  // namespace

double collective_seconds(const Sending& sending, const Machine& machine) {
  const bool apart = nodes_of(machine, sending.ranks) > 1 && machine.node_link_bandwidth > 0;
  if (apart) return machine.link_latency + seconds_between(sending, machine);
  return machine.link_latency + sending.bytes / machine.link_bandwidth;
}

}  // namespace zero::plan
