#include "kernels/vendor/fused_gemm.hpp"

namespace zero::kernels::vendor {

bool has_epilogues() { return false; }

void fused_gemm(Stream&, const GemmSpec&, const GemmOperands&, const Apart& apart) { apart.run(); }

void run_faster(Stream&, const GemmSpec&, const GemmOperands&, float*&, const Apart& first,
                const Apart&) {
  first.run();
}

}  // namespace zero::kernels::vendor
