#pragma once
/// The forms of a graph (Plan::shorter) as verify sees them.

#include <vector>

#include "src/plan/verify.hpp"
#include "zero/plan/plan.hpp"

namespace zero::plan {

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
