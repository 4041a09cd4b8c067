#include <cstdint>

#include "kernels/vendor/cuda/lt_algorithms.hpp"
#include "zero/base/error.hpp"

namespace zero::kernels::vendor {
namespace {

cudaDataType_t type_of(Dtype dtype) {
  return dtype == Dtype::bf16 ? CUDA_R_16BF : dtype == Dtype::f16 ? CUDA_R_16F : CUDA_R_32F;
}

LtLayout layout(int64_t rows, int64_t columns, int64_t ld, Dtype dtype) {
  cublasLtMatrixLayout_t made = nullptr;
  check_lt(cublasLtMatrixLayoutCreate(&made, type_of(dtype), uint64_t(rows), uint64_t(columns), ld),
           "describing a matrix");
  return LtLayout(made);
}

/// Our matrix [rows, columns] of rows one after the other, as the library sees it.
LtLayout turned(int64_t rows, int64_t columns, int64_t ld, Dtype dtype) {
  return layout(columns, rows, ld, dtype);
}

template <class Value>
void set(const LtDescription& description, cublasLtMatmulDescAttributes_t which, Value value) {
  check_lt(cublasLtMatmulDescSetAttribute(description.get(), which, &value, sizeof value),
           "describing a product");
}

/// The library's c has our rows as its columns, so its vectors along rows are ours along n, and the
/// matrix that it sums over k for BGRADA is our b.
cublasLtEpilogue_t epilogue_of(const GemmSpec& spec, bool fuses_bias) {
  switch (spec.epilogue) {
    case Epilogue::gelu:
      return fuses_bias ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX;
    case Epilogue::gelu_gradient:
      return CUBLASLT_EPILOGUE_DGELU;
    case Epilogue::gelu_gradient_sums:
      return CUBLASLT_EPILOGUE_DGELU_BGRAD;
    case Epilogue::column_sums:
      return CUBLASLT_EPILOGUE_BGRADA;
    case Epilogue::residual:  // its matrix is added, not an epilogue's
    case Epilogue::none:
      break;
  }
  return fuses_bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

bool has_aux(const GemmSpec& spec) {
  return spec.epilogue == Epilogue::gelu || spec.epilogue == Epilogue::gelu_gradient ||
         spec.epilogue == Epilogue::gelu_gradient_sums;
}

LtDescription describe(const GemmSpec& spec, bool fuses_bias) {
  cublasLtMatmulDesc_t made = nullptr;
  // fp32 sums, and no shortened mantissa for fp32 operands.
  check_lt(cublasLtMatmulDescCreate(&made, CUBLAS_COMPUTE_32F, CUDA_R_32F), "describing a product");
  LtDescription description(made);
  set(description, CUBLASLT_MATMUL_DESC_TRANSA, spec.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(description, CUBLASLT_MATMUL_DESC_TRANSB, spec.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(description, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(spec, fuses_bias));
  if (has_aux(spec)) set(description, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, spec.ldc);
  return description;
}

}  // namespace

void check_lt(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  refuse(Exit::kInternal, what, " failed in cuBLASLt: ", cublasLtGetStatusString(status));
}

LtProduct::LtProduct(const GemmSpec& wanted, int wanted_alignment)
    : spec(wanted),
      alignment(wanted_alignment),
      fuses_bias(wanted.bias && wanted.in == wanted.out),
      description(describe(wanted, fuses_bias)),
      left(turned(spec.transpose_b ? spec.n : spec.k, spec.transpose_b ? spec.k : spec.n, spec.ldb,
                  spec.in)),
      right(turned(spec.transpose_a ? spec.k : spec.m, spec.transpose_a ? spec.m : spec.k, spec.lda,
                   spec.in)),
      out(turned(spec.m, spec.n, spec.ldc, spec.out)) {}

void LtProduct::set_epilogue_operands(const GemmOperands& operands) const {
  if (fuses_bias) set(description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, operands.bias);
  if (has_aux(spec)) set(description, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, operands.aux);
  if (operands.sums != nullptr) set(description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, operands.sums);
}

std::string LtProduct::name() const {
  static constexpr const char* kEpilogues[] = {
      "", " gelu", " gelu gradient", " gelu gradient, sums", " column sums", " residual"};
  return text(spec.m, "x", spec.n, "x", spec.k, " ld ", spec.lda, " ", spec.ldb, " ", spec.ldc, " ",
              name_of(spec.in), " to ", name_of(spec.out), spec.transpose_a ? " ta" : "",
              spec.transpose_b ? " tb" : "", spec.accumulate ? " add" : "",
              fuses_bias ? " bias" : "", kEpilogues[size_t(spec.epilogue)], " align ", alignment);
}

/// No more than the widest access asks for: what else a plan's addresses have in common differs
/// from stage to stage and would choose other algorithms there, with other bits.
int alignment_of(const GemmOperands& operands) {
  constexpr uintptr_t kMost = 16;
  const auto address = [](const void* at) { return reinterpret_cast<uintptr_t>(at); };
  const uintptr_t all = address(operands.a) | address(operands.b) | address(operands.c) |
                        address(operands.bias) | address(operands.aux) | address(operands.sums) |
                        kMost;
  return int(all & (~all + 1));
}

}  // namespace zero::kernels::vendor
