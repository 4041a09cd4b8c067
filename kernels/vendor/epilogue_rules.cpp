#include "kernels/vendor/epilogue_rules.hpp"

#include <cstdint>

namespace zero::kernels::vendor {
namespace {

/// Unit of the second matrix's leading dimension, in elements:
/// CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD.
constexpr int64_t kAuxLeading = 8;
constexpr uintptr_t kAuxAlignment = 16;

bool is_aligned(const void* array) {
  return reinterpret_cast<uintptr_t>(array) % kAuxAlignment == 0;
}

bool has_aux(const GemmSpec& spec, const GemmOperands& operands) {
  return operands.aux != nullptr && is_aligned(operands.aux) && spec.ldc % kAuxLeading == 0;
}

/// True if a matrix suits tensor maps, 16-byte loads, and kernels that count rows, and elements of
/// a tile's rows, in 32 bits.
bool lies_well(const void* matrix, int64_t rows, int64_t ld) {
  constexpr int64_t kRowsMost = int64_t(1) << 30, kWidthMost = int64_t(1) << 23;
  return is_aligned(matrix) && ld % kAuxLeading == 0 && rows <= kRowsMost && ld <= kWidthMost;
}

/// True if a tree can add the sums of each kGradientSumRows rows, at most kPartsMost of them.
bool takes_sums(const GemmSpec& spec, const GemmOperands& operands) {
  constexpr int64_t kPartsMost = 1024;
  return spec.epilogue != Epilogue::gelu_gradient_sums ||
         (operands.scratch != nullptr && spec.m <= kPartsMost * kGradientSumRows);
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

bool takes_gelu_products(const GemmSpec& spec, const GemmOperands& operands) {
  const bool gradient =
      spec.epilogue == Epilogue::gelu_gradient || spec.epilogue == Epilogue::gelu_gradient_sums;
  if (!gradient && spec.epilogue != Epilogue::gelu) return false;
  if (!gradient && !(spec.bias && is_aligned(operands.bias))) return false;
  return may_fuse(spec, operands) && takes_sums(spec, operands) && spec.in == Dtype::bf16 &&
         !spec.transpose_a && spec.transpose_b == gradient && spec.ldc == spec.n &&
         spec.k % kAuxLeading == 0 && lies_well(operands.a, spec.m, spec.lda) &&
         lies_well(operands.b, gradient ? spec.n : spec.k, spec.ldb) &&
         lies_well(operands.c, spec.m, spec.ldc);
}

}  // namespace zero::kernels::vendor
