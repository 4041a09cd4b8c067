#pragma once
/// Products on the host, on the calling thread and its OpenMP team; finished on return.

#include "kernels/vendor/gemm.hpp"

namespace zero::kernels::vendor {

/// Whether host_gemm() multiplies this element type itself: always f32; bf16 where the processor
/// has instructions for it.
bool multiplies(Dtype in);

/// The twin's product for element types that it multiplies(). Primitives and scratch belong to the
/// calling thread: threads never share one, and a repeated call makes nothing new.
void host_gemm(const GemmSpec& spec, const GemmOperands& operands, int threads);

/// Makes what host_gemm() would, for this thread.
void prepare_host_gemm(const GemmSpec& spec, int threads);

/// For 16-bit types that the twin does not multiply: widens blocks of a and b to fp32, multiplies
/// them with host_gemm(), and rounds each element of c once.
void widened_gemm(const GemmSpec& spec, const GemmOperands& operands, int threads);

}  // namespace zero::kernels::vendor
