#pragma once
/// Updates of one rank's slice of one unit. Element i depends on element i only (LAMB: also on its
/// tensor's norms), so the result is bitwise the same however state is partitioned. Which
/// optimizers there are: zero/config/optimizer.hpp; their formulas: kernels/support/optimizers.hpp.
///
/// Everything is asynchronous on `stream` and all arrays lie on the device; on a stream of the host
/// (zero/device/stream.hpp) they lie in the host's memory, its threads work, and all is done when
/// the call returns. Finite numbers come out as the same bits in both places.

#include <cstdint>
#include <span>

#include "zero/base/dtype.hpp"
#include "zero/base/exact_sum.hpp"
#include "zero/config/optimizer.hpp"
#include "zero/device/stream.hpp"
#include "zero/kernels/step_state.hpp"

namespace zero::kernels {

/// What completes a weight of type T to its fp32 master.
/// float: nothing, the weight is the master. f16: a whole fp32 master. bf16: signed low 16 bits
/// with bits(master) = (bits(weight) << 16) + low, the weight being the master rounded half up.
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

/// Joins and splits bf16 masters; exactly invertible for every finite pattern, NaN is
/// canonicalised.
ZERO_HOST_DEVICE inline float join_master(bf16 weight, int16_t low) {
  return std::bit_cast<float>((uint32_t(weight.bits) << 16) + uint32_t(int32_t(low)));
}
ZERO_HOST_DEVICE inline bf16 split_master(float master, int16_t& low) {
  uint32_t bits = std::bit_cast<uint32_t>(master);
  if (master != master) bits = 0x7fc00000u;  // NaN; fewer instructions than from the bits
  bf16 weight;
  weight.bits = uint16_t((bits + 0x8000u) >> 16);
  low = int16_t(bits & 0xffffu);
  return weight;
}

/// All arrays [numel], where the stream's kernels run. G is T, or float where the sum of several
/// micro-batches rests in fp32.
template <class T, class G>
struct OptimizerArrays {
  T* weight;                         ///< updated
  typename MasterLow<T>::type* low;  ///< updated; null for float
  float* states[kMostStates];        ///< updated; as many as form_of(settings) lists
  const G* grad;                     ///< read, still loss-scaled
};

/// Elements [begin, end) of the slice belong to one tensor, or to neighbours that decay alike.
struct OptimizerSegment {
  int64_t begin;
  int64_t end;
  float weight_decay;
};

struct OptimizerRule {
  OptimizerConfig settings =
      {};  ///< all but learning rate and decay, which vary over a run or unit
  /// An fp32 gradient sum is rounded to T before use (architecture: numerics).
  bool round_gradient = true;
};

/// The update of an optimizer that needs no norms: master and states by the formula of its
/// settings, with g = grad * state->grad_multiplier; nothing is written when state->apply == 0.
/// `segments` lie in order and do not overlap. Explicit fma, correctly rounded sqrt and division.
/// Asynchronous on `stream`.
template <class T, class G>
void update(Stream& stream, const OptimizerRule& rule, std::span<const OptimizerSegment> segments,
            const StepState* state, const OptimizerArrays<T, G>& arrays);

/// As update(), which reads master and states of `from` and writes those of `to`, in memory apart;
/// `to.grad` is not used. Segments begin at multiples of 32 elements, arrays of `to` at 64 bytes.
/// On the host alone, whatever the stream; done when it returns.
template <class T, class G>
void update_into(Stream& stream, const OptimizerRule& rule,
                 std::span<const OptimizerSegment> segments, const StepState* state,
                 const OptimizerArrays<T, G>& from, const OptimizerArrays<T, G>& to);

/// Copies as many bytes as `from` has to memory apart that begins at 64 bytes, by the host's
/// threads; done when it returns.
void copy_on_host(Stream& stream, std::span<const std::byte> from, std::byte* to);

/// What a caller does with each piece of a slice around its update, on the thread that updates it
/// and while the piece is in that thread's cache. Called by several threads at once.
class AroundPieces {
 public:
  virtual ~AroundPieces() = default;
  virtual void before(int64_t begin, int64_t end) const = 0;
  virtual void after(int64_t begin, int64_t end) const = 0;
};

/// Pieces begin at multiples of this: states of one take half of a core's cache.
inline constexpr int64_t kPieceNumel = int64_t(1) << 15;

/// As update(), piece by piece over [0, numel), which also covers what no segment does; `around` is
/// called where nothing is written too. On the host alone, whatever the stream; done when it
/// returns. What `around` throws first is thrown here, with the piece of a before() as it was.
template <class T, class G>
void update_in_pieces(Stream& stream, const OptimizerRule& rule,
                      std::span<const OptimizerSegment> segments, const StepState* state,
                      const OptimizerArrays<T, G>& arrays, int64_t numel,
                      const AroundPieces& around);

/// A parameter's part of this slice, for an optimizer that needs norms: the segment, and which
/// pairs of norms its elements add to. Tensors that stand side by side in the rows of a parameter
/// have a pair each.
struct TensorSegment {
  static constexpr int64_t kOneRow = INT64_MAX;

  int64_t begin;
  int64_t end;
  float weight_decay;
  int32_t tensor;             ///< index into the norms, of the first tensor
  int32_t tensors = 1;        ///< side by side, equally wide
  int64_t columns = kOneRow;  ///< of a row of all of them
  int64_t offset = 0;         ///< of `begin` in the parameter
};

/// Squared norms of one tensor: exact sums of fp64 block sums, a block being the part of the tensor
/// in one 2048-element block of the unit, so that no partition changes them. A block that holds
/// parts of several rows adds these in their order.
struct TensorNorms {
  ExactSum weight;
  ExactSum update;
  static constexpr int64_t kWords = 2 * ExactSum::kLimbs;
};

/// First half: updates momentum and variance. Adds this slice's squares of master and of the update
/// direction u = m unbias1 / (sqrt(v) / unbias2_sqrt + epsilon) + decay master to `norms`
/// [tensors]. The caller has cleared these and all-reduces them over ranks afterwards.
/// `unit_begin` is the slice's first element within its unit, a multiple of 2048.
template <class T, class G>
void lamb_norms(Stream& stream, const OptimizerRule& rule, std::span<const TensorSegment> segments,
                const StepState* state, const OptimizerArrays<T, G>& arrays, int64_t unit_begin,
                TensorNorms* norms);

/// Second half: master -= lr * clamp(|w| / |u|, min_coeff, max_coeff) * u, recomputing u; ratio 1
/// where a norm is zero. Source: You et al. 2020, algorithm 2 (arXiv:1904.00962); clamp to [min,
/// max] as DeepSpeed's LAMB.
template <class T, class G>
void lamb_apply(Stream& stream, const OptimizerRule& rule, std::span<const TensorSegment> segments,
                const StepState* state, const OptimizerArrays<T, G>& arrays,
                const TensorNorms* norms);

}  // namespace zero::kernels
