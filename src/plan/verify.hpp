#pragma once

#include <string>
#include <utility>
#include <vector>

#include "zero/base/error.hpp"
#include "zero/plan/plan.hpp"

namespace zero::plan {

// Its parts.

/// What verify has found, up to a limit.
class Findings {
 public:
  explicit Findings(int limit) : limit_(size_t(limit)) {}
  template <class... Parts>
  void add(const Parts&... parts) {
    if (list_.size() < limit_) list_.push_back(text(parts...));
  }
  int limit() const { return int(limit_); }
  size_t count() const { return list_.size(); }
  std::vector<std::string> take() { return std::move(list_); }

 private:
  size_t limit_;
  std::vector<std::string> list_;
};

/// Finds buffers that share bytes while both are in use. A transient one is in use from the first
/// to the last op that names it. What rests between bodies always is, also where a body writes it
/// anew: the gaps between a unit's tensors stay zero. A copy (Buffer::copy_of) is not in use
/// between the last op that names it and the one that then fills it anew.
void check_apart(const Plan& plan, BodyId body, Findings& findings);

// The forms of a graph (Plan::shorter) as verify sees them.

/// Two forms whose micro-batches take turns: those of even number run in one, the others in the
/// other.
struct FormPair {
  size_t even = 0, odd = 0;
  size_t of(int32_t micro) const { return micro % 2 == 0 ? even : odd; }
};

/// The pairs that show all that a body may run, that of the longest form first. What one
/// micro-batch finds of others is what the one before left, so each ordered pair of forms is
/// enough; where a body has one micro-batch, each form.
std::vector<FormPair> form_pairs(const Plan& plan, const Body& body);

/// What an op touches in a form of its graph.
std::vector<Operand> operands_in_form(const Plan& plan, const Body& body, const PlanOp& op,
                                      size_t form);

/// Finds what makes a shorter form other work than the longest: another op, tensor, parameter or
/// gradient, or an op of a body that reaches further than the body says.
void check_forms(const Plan& plan, Findings& findings);

}  // namespace zero::plan
