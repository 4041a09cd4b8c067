#pragma once
/// The optimizer's kernels on the host's threads, in every build. The host's compiler compiles
/// these files for its processor, since nvcc would make plain code of them. Arguments are as in
/// zero/kernels/optimizer.hpp, in memory that the host reaches. Done on return.

#include "zero/kernels/optimizer.hpp"

namespace zero::kernels {

template <class T, class G>
void host_update(int threads, const OptimizerRule& rule, std::span<const OptimizerSegment> segments,
                 const StepState* state, const OptimizerArrays<T, G>& arrays);

template <class T, class G>
void host_lamb_norms(int threads, const OptimizerRule& rule,
                     std::span<const TensorSegment> segments, const StepState* state,
                     const OptimizerArrays<T, G>& arrays, TensorNorms* norms);

template <class T, class G>
void host_lamb_apply(int threads, const OptimizerRule& rule,
                     std::span<const TensorSegment> segments, const StepState* state,
                     const OptimizerArrays<T, G>& arrays, const TensorNorms* norms);

}  // namespace zero::kernels
