#pragma once

#include "src/plan/body_writer.hpp"
#include "src/plan/slack.hpp"

namespace zero::plan {

/// The optimizer's part of a body: what rests elsewhere is brought to where it runs, updated there
/// and sent home.
class Updater {
 public:
  explicit Updater(BodyWriter& writer);

  /// About the last attempt. The host's optimizer gets a copy of what is decided.
  void decide();
  /// What this rank owns of unit u and, at stages 1 and 2, the gather of its weights.
  void update(int32_t u);
  /// After the body's last op: keeps as many units on their way as the request asks for.
  void spread();

 private:
  /// An operand at home, and where the optimizer finds it: the same unless it had to be brought.
  struct Staged {
    Operand home, here;
    bool is_away() const { return home.buffer != here.buffer; }
  };
  Staged stage(int32_t u, const Operand& home);
  void send_home(int32_t u, const Staged& staged);
  void run(int32_t u, const std::array<Operand, 4>& states);
  void lamb(const PlanOp& adam);
  void gather(int32_t u);

  BodyWriter& writer_;
  int32_t host_state_ = -1;  ///< the decision in host memory
  Slack slack_;
};

}  // namespace zero::plan
