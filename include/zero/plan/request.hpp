#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "zero/base/dtype.hpp"
#include "zero/config/optimizer_keys.hpp"
#include "zero/graph/graph_passes.hpp"

namespace zero::plan {

/// A kind of memory. nvme is a disk, whose bytes no kernel can touch.
enum class Tier : uint8_t { device, host, nvme };
inline constexpr int kTiers = 3;
/// Bytes by tier. If the device uses host memory, they count as `device`.
using TierBytes = std::array<int64_t, kTiers>;
const char* name_of(Tier tier);

/// The input of a plan beside the graphs. Equal requests and graphs give equal plans on every rank,
/// so no member depends on the rank.
struct Request {
  int stage = 0;  ///< ZeRO stage 0 to 3
  int ranks = 1;
  int micro_batches = 1;  ///< per rank and step: gradient accumulation
  /// Steps with at most this many micro-batches are unrolled. Longer steps loop over the
  /// micro-batches in the middle. 0: 16, or 64 if every micro-batch waits for a disk, because seams
  /// of a loop then cost more.
  int most_written = 0;
  Dtype compute = Dtype::f32;
  OptimizerForm optimizer = form_of({});
  float weight_decay = 0.0f;
  bool reproducible = false;   ///< balanced sum tree over global micro-batches (doc/numerics.md)
  bool gradient_fp32 = false;  ///< numerics.gradient_dtype = "fp32": final sums are not rounded
  int threads = 1;             ///< threads of the compute lane; determines scratch
  /// True: at stages 0 and 1 ranks exchange sums of several micro-batches in bf16 and add them in
  /// fp32. For bf16 runs only; not in reproducible mode or with unrounded gradients.
  bool wire_bf16 = false;
  /// True: products add weight gradients directly to the fp32 sum of several micro-batches if a
  /// rank holds the whole sum. Not in reproducible mode.
  bool sums_in_products = false;

  /// True: the plan can repeat a micro-batch of the next rank and digests its gradients.
  bool audits = false;

  bool overlap = true;  ///< true: collectives run beside compute; false: one at a time
  int64_t reduce_bucket_numel = 500'000'000;
  int64_t gather_bucket_numel = 500'000'000;
  int64_t prefetch_numel = 50'000'000;  ///< stage 3: gathered ahead of use, at least one unit
  int64_t keep_below_numel = 0;         ///< stage 3: units of at most so many stay gathered
  int64_t keep_distance_numel = 0;      ///< stage 3: kept if at most so many are used in between
  int64_t live_numel = 1'000'000'000;   ///< stage 3: kept while at most so many are gathered

  Tier optimizer_home = Tier::device;  ///< stages 1 to 3: home of masters' low bits and states
  Tier weight_home = Tier::device;     ///< stage 3: home of weights
  double optimizer_share = 1;  ///< share of units with this home; other states stay on the device
  /// Share of units with states beside the device that are still updated on the device. Their
  /// states move there and back.
  double device_update_share = 0;
  /// Share of host-updated units that are updated before the norm is known.
  double speculated_share = 0;
  int staged_units = 4;     ///< units staged at the same time
  bool pinned_host = true;  ///< on a device: its host memory is pinned

  Tier activation_home = Tier::device;  ///< home of recomputation's inputs between the passes
  int staged_activations = 2;           ///< blocks whose inputs are in transfer at the same time
};

}  // namespace zero::plan
