#pragma once
/// Products on the host, on the calling thread and its OpenMP team, finished on return; and the
/// memory that calls keep.

#include <cstddef>
#include <cstdlib>
#include <memory>

#include "kernels/vendor/gemm.hpp"
#include "zero/base/align.hpp"
#include "zero/base/error.hpp"

namespace zero::kernels {

/// A buffer that a host thread keeps between calls of a vendor file. It grows and never shrinks.
class HostBuffer {
 public:
  /// Returns at least `bytes`, page-aligned; growth loses the contents. Throws Error(kDoesNotFit).
  std::byte* reserve(size_t bytes) {
    if (bytes > bytes_) {
      const size_t rounded = round_up(bytes, kPageBytes);
      memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kPageBytes, rounded)));
      if (!memory_) refuse(Exit::kDoesNotFit, "no memory for ", rounded, " bytes of scratch");
      bytes_ = rounded;
    }
    return memory_.get();
  }

 private:
  static constexpr size_t kPageBytes = 4096;
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  size_t bytes_ = 0;
};

}  // namespace zero::kernels

namespace zero::kernels::vendor {

/// True if host_gemm() multiplies this element type itself: always f32; bf16 if the processor has
/// instructions for it.
bool multiplies(Dtype in);

/// Computes a product of a type that the twin multiplies(). Primitives and scratch belong to the
/// calling thread: threads never share one, and a repeated call makes nothing new.
void host_gemm(const GemmSpec& spec, const GemmOperands& operands, int threads);

/// Makes all that host_gemm() would make on this thread.
void prepare_host_gemm(const GemmSpec& spec, int threads);

/// Computes a product of a 16-bit type that the twin does not multiply. Widens blocks of a and b to
/// fp32, multiplies them with host_gemm(), and rounds each element of c once.
void widened_gemm(const GemmSpec& spec, const GemmOperands& operands, int threads);

}  // namespace zero::kernels::vendor
