// Ranks: 1
// The promise of equal bits where activations rest elsewhere.

#include <gtest/gtest.h>

#include "tests/support/one_outcome.hpp"

namespace zero::run {
namespace {

/// A case with activations that rest there, two at a time on their way.
Case with_activations(const Case& plain, graph::Recompute recompute, plan::Tier home) {
  Case c = plain;
  c.recompute = recompute;
  c.request.activation_home = home;
  return c;
}

/// All of it on disk, as far as the stage allows; each block's input travels alone.
Case with_all_on_disk(const Case& plain) {
  Case c = with_activations(plain, graph::Recompute::full, plan::Tier::nvme);
  c.request.staged_activations = 1;
  if (c.request.stage > 0) c.request.optimizer_home = plan::Tier::nvme;
  if (c.request.stage == 3) c.request.weight_home = plan::Tier::nvme;
  return c;
}

TEST(ActivationHomes, ChangeNoBit) {
  for (Dtype compute : kPrecisions) {
    for (int ranks : {1, 2}) {
      for (int stage : {0, 1, 2, 3}) {
        OneOutcome one;
        Case plain{.request = request_of(compute, ranks, stage, 2 * ranks),
                   .steps = few_steps(compute),
                   .layers = 4};
        plain.request.reproducible = false;
        one.expect(plain);
        one.expect(with_activations(plain, graph::Recompute::full, plan::Tier::host));
        one.expect(with_all_on_disk(plain));
      }
    }
  }
}

TEST(ActivationHomes, GoWithEveryChoiceOfRecompute) {
  OneOutcome one;
  Case plain{.request = request_of(Dtype::bf16, 2, 2, 6), .layers = 4};
  one.expect(plain);
  for (const plan::Tier home : {plan::Tier::host, plan::Tier::nvme}) {
    one.expect(with_activations(plain, graph::Recompute::selective, home));
    Case other = with_activations(plain, graph::Recompute::none, home);
    other.blocks = kFirstBlock;
    one.expect(other);
    other.request.overlap = false;
    one.expect(other);
  }
}

}  // namespace
}  // namespace zero::run
