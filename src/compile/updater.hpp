#pragma once

#include "src/compile/body_writer.hpp"

namespace zero::plan {

/// Units in the order of their first use, in which every body updates them.
std::vector<int32_t> update_order(const Plan& plan);

/// The optimizer's part of a body: what rests elsewhere is brought to where it runs, updated there
/// and sent home.
class Updater {
 public:
  explicit Updater(BodyWriter& writer);

  /// About the last attempt. The host's optimizer gets a copy of what is decided.
  void decide();
  /// What this rank owns of unit u and, at stages 1 and 2, the gather of its weights. Returns where
  /// the new weight can be fetched from soonest, its home or a copy.
  Operand update(int32_t u);
  /// Where the weight of an updated unit can be fetched from again. On disk it is late where
  /// a use soon follows: of the last units that are staged a copy in host memory serves the rest of
  /// the body.
  Operand weight(int32_t u) const { return weights_[size_t(u)]; }
  /// After all updates: reads up to this share of what the next body updates first, in bytes.
  void read_ahead(double share);
  /// After the body's last op: keeps as many units on their way as the request asks for.
  void spread();

 private:
  /// An operand at home, and where the optimizer finds it: the same unless it had to be brought.
  struct Staged {
    Operand home, here;
    bool is_away() const { return home.buffer != here.buffer; }
  };
  /// A copy to be made true again.
  struct Read {
    int32_t unit, copy;
    bool begins_unit;
  };
  /// A unit's updated().
  using States = std::vector<Staged>;
  void list_units();
  const States& bring(int32_t u);
  States stage_unit(int32_t u);
  Staged stage(int32_t u, const Operand& home, int32_t copy);
  /// Returns the copy that is nearest to where weights are used.
  Operand send_home(int32_t u, const Staged& staged);
  void run(int32_t u, const States& states);
  void run_with_norms(const PlanOp& update);
  void gather(int32_t u);

  BodyWriter& writer_;
  int32_t host_state_ = -1;     ///< the decision in host memory
  std::vector<int32_t> order_;  ///< of the updates
  int ahead_;                   ///< units that are brought before one is updated
  Slack slack_;
  std::vector<States> states_;    ///< of order_, as far as they have been brought
  std::vector<bool> is_last_;     ///< [units] whether it is among the last that are staged
  std::vector<Operand> weights_;  ///< [units] once updated, where weight() has it
  std::vector<Read> reads_;       ///< ahead of the next body
  int64_t read_bytes_ = 0, ahead_bytes_ = 0;
  size_t read_ = 0;
};

}  // namespace zero::plan
