#include "kernels/vendor/epilogue_rules.hpp"

#include <cstdint>

namespace zero::kernels::vendor {
namespace {

/// CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD: in elements.
constexpr int64_t kAuxLeading = 8;
constexpr uintptr_t kAuxAlignment = 16;

bool has_aux(const GemmSpec& spec, const GemmOperands& operands) {
  return operands.aux != nullptr &&
         reinterpret_cast<uintptr_t>(operands.aux) % kAuxAlignment == 0 &&
         spec.ldc % kAuxLeading == 0;
}

}  // namespace

bool may_fuse(const GemmSpec& spec, const GemmOperands& operands) {
  if (spec.in != spec.out || bytes_of(spec.in) != 2 || spec.accumulate) return false;
  const bool has_its_bias = spec.bias == (operands.bias != nullptr);
  switch (spec.epilogue) {
    case Epilogue::gelu:
      return has_its_bias && has_aux(spec, operands);
    case Epilogue::gelu_gradient:
      return !spec.bias && has_aux(spec, operands);
    case Epilogue::gelu_gradient_sums:
      return !spec.bias && has_aux(spec, operands) && operands.sums != nullptr;
    case Epilogue::residual:
      return has_its_bias && operands.aux != nullptr;
    case Epilogue::column_sums:
      return !spec.bias && !spec.transpose_b && operands.sums != nullptr;
    case Epilogue::none:
      break;
  }
  return false;
}

}  // namespace zero::kernels::vendor
