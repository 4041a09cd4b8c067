#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "zero/base/dtype.hpp"
#include "zero/config/optimizer.hpp"
#include "zero/graph/passes.hpp"

namespace zero::plan {

/// Where bytes rest; nvme is a disk, whose bytes no kernel can touch.
enum class Tier : uint8_t { device, host, nvme };
inline constexpr int kTiers = 3;
/// What is taken of each tier; of the host's memory as `device` where that is the device's.
using TierBytes = std::array<int64_t, kTiers>;
const char* name_of(Tier tier);

/// Everything a plan depends on beside the graphs. The same request and graphs give the same plan
/// on every rank; no field says which rank is asking.
struct Request {
  int stage = 0;  ///< ZeRO stage 0 to 3
  int ranks = 1;
  int micro_batches = 1;  ///< a rank and step: gradient accumulation
  /// A step of more micro-batches is a loop over those in its middle; of so many or fewer each is
  /// written out, with an order of its own. 0: 16, or 64 where every micro-batch waits for a disk,
  /// as the seams of a loop then cost more.
  int most_written = 0;
  Dtype compute = Dtype::f32;
  OptimizerForm optimizer = form_of({});
  float weight_decay = 0.0f;
  bool reproducible = false;   ///< one balanced tree over global micro-batches (doc/numerics.md)
  bool gradient_fp32 = false;  ///< numerics.gradient_dtype = "fp32": finished sums are not rounded
  int threads = 1;             ///< of the compute lane; sizes scratch
  /// At stages 0 and 1 ranks exchange sums of several micro-batches rounded to bf16, and add them
  /// in fp32. Only for bf16 runs, not in reproducible mode, nor where gradients stay unrounded.
  bool wire_bf16 = false;
  /// Products add gradients of weights to the fp32 sum of several micro-batches themselves, where a
  /// rank holds it whole; not in reproducible mode.
  bool sums_in_products = false;

  bool overlap = true;  ///< collectives run beside compute; false: one at a time
  int64_t reduce_bucket_numel = 500'000'000;
  int64_t gather_bucket_numel = 500'000'000;
  int64_t prefetch_numel = 50'000'000;  ///< stage 3: gathered ahead of use, at least one unit
  int64_t keep_below_numel = 0;         ///< stage 3: units below stay gathered from use to use
  int64_t keep_distance_numel = 0;      ///< stage 3: kept if fewer elements are used in between
  int64_t live_numel = 1'000'000'000;   ///< stage 3: kept only while fewer elements are gathered

  Tier optimizer_home = Tier::device;  ///< stages 1 to 3: masters' low bits and states
  Tier weight_home = Tier::device;     ///< stage 3: weights
  double optimizer_share = 1;          ///< of the units; the others' states stay on the device
  double device_update_share = 0;      ///< of the units whose states rest elsewhere: updated on the
                                       ///< device all the same, to which their states come and go
  double speculated_share = 0;         ///< of the units that the host updates: before the norm is
                                       ///< known
  int staged_units = 4;                ///< whose states are on their way at the same time
  bool pinned_host = true;             ///< of a device: what rests in host memory is pinned there

  Tier activation_home = Tier::device;  ///< between the passes, of what recomputation begins with
  int staged_activations = 2;           ///< blocks for which they are on their way at a time
};

}  // namespace zero::plan
