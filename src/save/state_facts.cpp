#include <cmath>
#include <limits>

#include "src/save/fact_numbers.hpp"
#include "zero/base/text.hpp"
#include "zero/config/schedule.hpp"
#include "zero/save/checkpoint_facts.hpp"

namespace zero::save {
namespace {

/// The values that a member of a state may have. NaN is in kAny alone.
struct Bounds {
  double low, high;

  bool hold(double value) const { return (low <= value && value <= high) || is_any(); }
  bool is_any() const { return std::isinf(low); }
};
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Bounds kAny{-kInfinity, kInfinity}, kUnit{0, 1}, kFlag{0, 1},
    kCount{0, double(kMostRunSteps)}, kSize{0, double(std::numeric_limits<float>::max())};

/// Calls `visit` with the name, the member and the bounds of each part of a state.
template <class State, class Visit>
void visit_members(State& state, const Visit& visit) {
  visit("loss_scale", state.loss_scale, kSize);
  visit("hysteresis_left", state.hysteresis_left, Bounds{-kCount.high, kCount.high});
  visit("scaler_iteration", state.scaler_iteration, kCount);
  visit("last_overflow", state.last_overflow, Bounds{-kCount.high, kCount.high});
  visit("updates", state.updates, kCount);
  visit("beta1_power", state.beta1_power, kUnit);
  visit("beta2_power", state.beta2_power, kUnit);
  visit("apply", state.apply, kFlag);
  visit("grad_multiplier", state.grad_multiplier, kAny);
  visit("learning_rate", state.learning_rate, kSize);
  visit("unbias1", state.unbias1, kSize);
  visit("unbias2_sqrt", state.unbias2_sqrt, kSize);
  visit("skipped_in_row", state.skipped_in_row, kCount);
  visit("report.step", state.report.step, kCount);
  visit("report.loss", state.report.loss, kAny);
  visit("report.grad_norm", state.report.grad_norm, kAny);
  visit("report.learning_rate", state.report.learning_rate, kSize);
  visit("report.loss_scale", state.report.loss_scale, kSize);
  visit("report.skipped", state.report.skipped, kFlag);
  visit("report.skipped_in_row", state.report.skipped_in_row, kCount);
  visit("report.scale_exhausted", state.report.scale_exhausted, kFlag);
}

std::string name_of(const char* member) { return text("state.", member); }

}  // namespace

void add_state(const kernels::StepState& state, Facts& facts) {
  visit_members(state, [&](const char* member, const auto& number, const Bounds&) {
    facts[name_of(member)] = number_text(number);
  });
}

kernels::StepState state_in(const Facts& facts) {
  kernels::StepState state{};
  visit_members(state, [&](const char* member, auto& number, const Bounds& bounds) {
    const auto found = facts.find(name_of(member));
    if (found == facts.end()) refuse(Exit::kInput, "no fact \"", name_of(member), "\"");
    const bool is_number = read_number(found->second, number);
    if (is_number && bounds.hold(double(number))) return;
    const std::string fault =
        is_number ? text(" is not from ", bounds.low, " to ", bounds.high) : " is no number";
    refuse(Exit::kInput, "fact \"", name_of(member), "\": \"", found->second, "\"", fault);
  });
  return state;
}

}  // namespace zero::save
