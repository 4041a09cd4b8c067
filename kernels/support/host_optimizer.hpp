#pragma once
/// The optimizer's kernels on the host's threads, of every build: files that the host's compiler
/// compiles for its processor, since nvcc would make plain code of them. Their arguments are those
/// of zero/kernels/optimizer.hpp, in memory that the host reaches; done when they return.

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
