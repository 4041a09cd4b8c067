#include <Kokkos_Core.hpp>

#include "src/machine/probes.hpp"
#include "zero/advise/machine_file.hpp"
#include "zero/base/text.hpp"
#include "zero/kernels/product.hpp"
#include "zero/train/banner.hpp"

namespace zero::machine {
namespace {

/// "4.7.0, OpenMP, 2 threads".
std::string kokkos_words(int threads) {
  return text(train::kokkos_text(), ", ", Kokkos::DefaultExecutionSpace::name(), ", ",
              counted(threads, "thread"));
}

Finding products_finding() {
  const std::string library = kernels::product_library();
  Finding finding{.subject = "products", .found = library + ", " + kernels::product_isa()};
  if (!drives_devices() && !library.starts_with("oneDNN")) {
    finding.verdict = Verdict::warning;
    finding.advice = "far slower than oneDNN: install libdnnl-dev, run cmake and build again";
  }
  return finding;
}

Finding peak_finding(const char* subject, double flops, int threads) {
  if (flops == 0) {
    return {.subject = subject,
            .verdict = Verdict::warning,
            .found = "too slow to be measured in a moment",
            .advice = "look at the products, the binding and what else runs on this node"};
  }
  return {.subject = subject,
          .found = text("with ", counted(threads, "thread")),
          .figure = flops / 1e9,
          .unit = "GFLOP/s"};
}

}  // namespace

Findings arithmetic_findings(const launch::Session& session) {
  const int threads = session.threads();
  const double fp32 = advise::measure_product_peak(threads, Dtype::f32);
  const double bf16 = advise::measure_product_peak(threads, Dtype::bf16);
  Findings findings = {{.subject = "Kokkos", .found = kokkos_words(threads)},
                       products_finding(),
                       peak_finding("peak fp32", fp32, threads),
                       peak_finding("peak bf16", bf16, threads)};
  if (bf16 > 0 && bf16 < fp32) {
    findings.back().verdict = Verdict::warning;
    findings.back().advice =
        "this processor has no bf16 products: bf16.enabled saves memory here, "
        "not time";
  }
  return findings;
}

}  // namespace zero::machine
