#pragma once
/// Updates of one rank's slice of one unit. Element i depends on element i only (LAMB: also on its
/// tensor's norms), so no partition changes a bit. zero/config/optimizer_keys.hpp lists the
/// optimizers, kernels/support/optimizers.hpp their formulas.
///
/// On a stream of the device, arrays lie on the device and calls are asynchronous. On a stream of
/// the host (zero/device/stream.hpp), arrays lie in host memory and its threads finish before the
/// call returns. Finite numbers come out as the same bits in both places.

#include <cstdint>
#include <span>

#include "zero/base/dtype.hpp"
#include "zero/base/exact_sum.hpp"
#include "zero/config/optimizer_keys.hpp"
#include "zero/device/stream.hpp"
#include "zero/kernels/step_state.hpp"

namespace zero::kernels {

/// The type that completes a weight of type T to its fp32 master. float: nothing, the weight is the
/// master. f16: a whole fp32 master. bf16: signed low 16 bits with bits(master) = (bits(weight) <<
/// 16) + low; the weight is the master rounded half up.
template <class T>
struct MasterLow;
template <>
struct MasterLow<float> {
  using type = float;  ///< never stored; the pointer is null
};
template <>
struct MasterLow<bf16> {
  using type = int16_t;
};
template <>
struct MasterLow<f16> {
  using type = float;
};

/// Returns the fp32 master of a bf16 weight and its low bits. split_master() inverts it for every
/// finite pattern, and canonicalises NaN.
ZERO_HOST_DEVICE inline float join_master(bf16 weight, int16_t low) {
  return std::bit_cast<float>((uint32_t(weight.bits) << 16) + uint32_t(int32_t(low)));
}
/// Returns the bf16 weight of an fp32 master, and writes its low bits to `low`.
ZERO_HOST_DEVICE inline bf16 split_master(float master, int16_t& low) {
  uint32_t bits = std::bit_cast<uint32_t>(master);
  if (master != master) bits = 0x7fc00000u;  // NaN; fewer instructions than from the bits
  bf16 weight;
  weight.bits = uint16_t((bits + 0x8000u) >> 16);
  low = int16_t(bits & 0xffffu);
  return weight;
}

/// The arrays of an update, [numel] each, where the stream's kernels run. G is T, or float if
/// several micro-batches are summed in fp32.
template <class T, class G>
struct OptimizerArrays {
  T* weight;                         ///< updated
  typename MasterLow<T>::type* low;  ///< updated; null for float
  float* states[kMostStates];        ///< updated; as many as form_of(settings) lists
  const G* grad;                     ///< read, still loss-scaled
};

/// A range [begin, end) of the slice, of one tensor or of neighbours with equal decay.
struct OptimizerSegment {
  int64_t begin;
  int64_t end;
  float weight_decay;
};

struct OptimizerRule {
  OptimizerConfig settings = {};  ///< learning rate and decay come from StepState and segments
  /// True: an fp32 gradient sum is rounded to T before use (doc/numerics.md).
  bool round_gradient = true;
};

/// Updates the masters and states of `segments` in `arrays` by the formula of rule.settings, for an
/// optimizer that needs no norms. The gradient is g = grad * state->grad_multiplier. Writes nothing
/// if state->apply == 0. Uses explicit fma and correctly rounded sqrt and division. REQUIRES:
/// `segments` lie in order and do not overlap. Asynchronous on `stream`.
template <class T, class G>
void update(Stream& stream, const OptimizerRule& rule, std::span<const OptimizerSegment> segments,
            const StepState* state, const OptimizerArrays<T, G>& arrays);

/// Does what update() does, but reads master and states of `from` and writes those of `to`. Ignores
/// `to.grad`. Runs on the host, whatever the stream; done on return. REQUIRES: `from` and `to` do
/// not overlap; segments begin at multiples of 32 elements, arrays of `to` at multiples of 64
/// bytes.
template <class T, class G>
void update_into(Stream& stream, const OptimizerRule& rule,
                 std::span<const OptimizerSegment> segments, const StepState* state,
                 const OptimizerArrays<T, G>& from, const OptimizerArrays<T, G>& to);

/// Copies the bytes `from` to `to`, both in host memory, by the threads of `stream`; done on
/// return. REQUIRES: `to` begins at a multiple of 64 bytes and does not overlap `from`.
void copy_on_host(Stream& stream, std::span<const std::byte> from, std::byte* to);

/// The work of a caller around the update of each piece of a slice. The thread that updates a piece
/// calls it, while the piece is in its cache. Several threads call at once.
class AroundPieces {
 public:
  virtual ~AroundPieces() = default;
  /// Runs just before the update of elements [begin, end) of the slice.
  virtual void before(int64_t begin, int64_t end) const = 0;
  /// Runs just after this update.
  virtual void after(int64_t begin, int64_t end) const = 0;
};

/// Pieces begin at multiples of this many elements: the states of one take half of a core's cache.
inline constexpr int64_t kPieceNumel = int64_t(1) << 15;

/// Does what update() does, piece by piece over all elements [0, numel) of the slice, in segments
/// or not. Calls `around` even if nothing is written. Runs on the host, whatever the stream; done
/// on return. Rethrows the first exception of `around`; a piece whose before() threw stays
/// unchanged.
template <class T, class G>
void update_in_pieces(Stream& stream, const OptimizerRule& rule,
                      std::span<const OptimizerSegment> segments, const StepState* state,
                      const OptimizerArrays<T, G>& arrays, int64_t numel,
                      const AroundPieces& around);

/// A parameter's part of this slice, and the norms that its elements add to. Tensors that stand
/// side by side in the rows of a parameter have norms each.
struct TensorSegment {
  static constexpr int64_t kOneRow = INT64_MAX;
  static constexpr int32_t kTensorsMost = 8;

  int64_t begin;
  int64_t end;
  float weight_decay;
  int32_t tensor;       ///< index into the norms, of the first tensor
  int32_t tensors = 1;  ///< tensors side by side
  /// [tensors] Column behind each tensor's last.
  int64_t ends[kTensorsMost] = {kOneRow};
  int64_t offset = 0;  ///< first element in the parameter
};

/// The squared norms of one tensor, as exact sums of fp64 block sums. A block is the tensor's part
/// in one 2048-element block of the unit, so no partition changes the norms. Rows within a block
/// are added in order.
struct TensorNorms {
  ExactSum weight;
  ExactSum update;
  static constexpr int64_t kWords = 2 * ExactSum::kLimbs;
};

/// Updates the momentum and variance in `arrays`, the first half of LAMB. Adds this slice's squares
/// of master and update direction to `norms` [tensors]. The direction is u = m unbias1 / (sqrt(v) /
/// unbias2_sqrt + epsilon) + decay master. The caller clears `norms` before and all-reduces them
/// over ranks afterwards. REQUIRES: `unit_begin`, the slice's first element within its unit, is a
/// multiple of 2048.
template <class T, class G>
void lamb_norms(Stream& stream, const OptimizerRule& rule, std::span<const TensorSegment> segments,
                const StepState* state, const OptimizerArrays<T, G>& arrays, int64_t unit_begin,
                TensorNorms* norms);

/// Updates the masters in `arrays` by LAMB's second half, with the norms of all ranks: master -= lr
/// * clamp(|w| / |u|, min_coeff, max_coeff) * u. Computes u again. The ratio is 1 where a norm is
/// zero. Source: You et al. 2020, algorithm 2 (arXiv:1904.00962); clamp to [min, max] as
/// DeepSpeed's LAMB.
template <class T, class G>
void lamb_apply(Stream& stream, const OptimizerRule& rule, std::span<const TensorSegment> segments,
                const StepState* state, const OptimizerArrays<T, G>& arrays,
                const TensorNorms* norms);

}  // namespace zero::kernels
