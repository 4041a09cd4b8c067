#include "src/advise/zero_formula.hpp"

namespace zero::advise {
namespace {

/// Returns bytes per parameter: optimizer states, and the low part that completes a weight to its
/// fp32 master.
double optimizer_bytes(const plan::Request& request) {
  double bytes = request.compute == Dtype::f32 ? 0 : request.compute == Dtype::bf16 ? 2 : 4;
  for (const OptimizerState& state : request.optimizer.states) {
    bytes += double(bytes_of(state.dtype));
  }
  return bytes;
}

double gradient_bytes(const plan::Request& request) {
  const bool summed = request.micro_batches > 1 || request.gradient_fp32 || request.has_groups();
  return summed ? 4 : double(bytes_of(request.compute));
}

}  // namespace

StateFormula state_formula(const plan::Request& request, int64_t parameters, int64_t frozen) {
  const double p = double(parameters), t = p - double(frozen), ranks = request.ranks;
  const double held = request.stage >= 3 ? p / request.groups().group_ranks : p;
  return {.weights = double(bytes_of(request.compute)) * held,
          .gradients = gradient_bytes(request) * (request.stage >= 2 ? t / ranks : t),
          .optimizer = optimizer_bytes(request) * (request.stage >= 1 ? t / ranks : t)};
}

TrafficFormula traffic_formula(const plan::Request& request, int64_t parameters, int64_t frozen) {
  const int a = request.micro_batches, group = request.groups().group_ranks;
  const auto once = [](double numel, int ranks) { return numel * (ranks - 1) / ranks; };
  const double trained = double(parameters - frozen);
  const double p = once(double(parameters), group), t = once(trained, group);
  const bool each = request.stage >= 2 || request.reproducible;
  TrafficFormula formula{.gathered = request.stage == 3 ? 2 * a * p : t,
                         .reduced = t * (each ? a : 1)};
  if (!request.has_groups()) return formula;
  const double crossing = once(trained / group, request.groups().count());
  formula.gathered += crossing;
  formula.reduced += crossing * (request.crosses_once() ? 1 : a);
  return formula;
}

}  // namespace zero::advise
