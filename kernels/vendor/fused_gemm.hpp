#pragma once
/// A product with an epilogue: twins, host/fused_gemm.cpp and cuda/gemm.cpp.

#include "kernels/vendor/gemm.hpp"

namespace zero::kernels::vendor {

/// A view of the kernels that a fused product stands for: it may run several times.
class Apart {
 public:
  template <class Work>
  explicit Apart(const Work& work)
      : work_(&work), call_([](const void* at) { (*static_cast<const Work*>(at))(); }) {}
  void run() const { call_(work_); }

 private:
  const void* work_;
  void (*call_)(const void*);
};

/// Whether the library has epilogues.
bool has_epilogues();

/// Does what `apart` does, by one call of the library where that is possible and was measured to be
/// faster, at the first call with a spec. As gemm(); `spec.epilogue` is one.
void fused_gemm(Stream& stream, const GemmSpec& spec, const GemmOperands& operands,
                const Apart& apart);

/// Does one of two things that add the product of `operands`, and what else `spec` says, to an fp32
/// sum: the one that was measured to be faster at the first call with a spec, else the first. Both
/// write to `c`, which is elsewhere while they are measured.
void run_faster(Stream& stream, const GemmSpec& spec, const GemmOperands& operands, float*& c,
                const Apart& first, const Apart& second);

}  // namespace zero::kernels::vendor
