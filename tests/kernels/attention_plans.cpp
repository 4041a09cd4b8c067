// What cuDNN would do on an H200, which is only described here, so that no GPU is needed: whether
// it has plans for the attention of our models, and whether they keep to the bytes that a plan of a
// training counts. The library makes the very plans, down to the code, which a driver's library
// without a GPU then takes.
// usage: attention_plans DRIVER GPU.json

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

#include "kernels/vendor/cuda/cudnn_attention.hpp"
#include "zero/base/error.hpp"

namespace zero::kernels::vendor {
namespace {

constexpr int kHopper = 90;
constexpr int64_t kSpareBytes = int64_t(1) << 20;

std::vector<AttentionProblem> problems() {
  std::vector<AttentionProblem> all;
  const auto add = [&](const AttentionExtents& extents, Dtype dtype, float dropout) {
    all.push_back({.extents = extents, .dtype = dtype, .dropout = dropout});
  };
  for (float dropout : {0.0f, 0.1f}) {
    add({.samples = 16, .length = 1024, .heads = 25, .head_width = 64}, Dtype::bf16, dropout);
    add({.samples = 4, .length = 1024, .heads = 16, .head_width = 104, .real_width = 100},
        Dtype::f16, dropout);
    add({.samples = 8, .length = 1024, .heads = 32, .head_width = 128}, Dtype::bf16, dropout);
    add({.samples = 3, .length = 37, .heads = 3, .head_width = 16, .real_width = 9}, Dtype::bf16,
        dropout);
  }
  add({.samples = 1, .length = 8192, .heads = 2, .head_width = 64}, Dtype::bf16, 0.1f);
  add({.samples = 1, .length = 200, .heads = 2, .head_width = 256}, Dtype::bf16, 0.1f);
  add({.samples = 1, .length = 2, .heads = 1, .head_width = 8, .real_width = 1}, Dtype::f16, 0.1f);
  return all;
}

/// Whether cuDNN takes it, and the bound on its workspace is one but, of the deterministic one, no
/// loose one; says what it is.
bool holds(const AttentionProblem& problem, const CudnnForecast& forecast) {
  const AttentionExtents& extents = problem.extents;
  const int64_t bound = library_workspace_bytes(extents);
  const int64_t most = std::max(forecast.forward_bytes, forecast.backward_bytes);
  std::puts(text(name_of(problem.dtype), ", ", extents.samples, " x ", extents.length, " tokens, ",
                 extents.heads, " heads of ", extents.head_width, ", dropout ", problem.dropout,
                 problem.deterministic ? ": " : ", fast: ", forecast.refusal,
                 forecast.refusal.empty() ? "" : ", ", forecast.forward_bytes, " and ",
                 forecast.backward_bytes, " bytes of ", bound)
                .c_str());
  const bool is_tight = bound - most <= kSpareBytes || !problem.deterministic;
  return forecast.refusal.empty() && most <= bound && is_tight;
}

/// Both ways of adding gradients have plans within the bytes that a plan of a training counts, and
/// the flag reaches the library: sums in any order store no gradient of all scores.
bool holds_both(const std::string& machine, AttentionProblem problem) {
  const CudnnForecast fixed = cudnn_forecast(machine, kHopper, problem);
  bool both = holds(problem, fixed);
  problem.deterministic = false;
  const CudnnForecast any = cudnn_forecast(machine, kHopper, problem);
  both &= holds(problem, any);
  const AttentionExtents& e = problem.extents;
  const bool is_large = e.samples * e.heads * e.length * e.length >= int64_t(1) << 26;
  return both && (!is_large || any.backward_bytes < fixed.backward_bytes);
}

int check(const std::string& machine) {
  if (cudnn_name().empty()) {
    std::puts("SKIP no cuDNN that this build can use");
    return 0;
  }
  int failures = 0;
  for (const AttentionProblem& problem : problems()) failures += !holds_both(machine, problem);
  if (failures == 0) std::puts((cudnn_name() + ": every attention has its plans").c_str());
  return failures > 0;
}

}  // namespace
}  // namespace zero::kernels::vendor

int main(int count, char** arguments) {
  if (count != 3) return std::fprintf(stderr, "usage: attention_plans DRIVER GPU.json\n"), 2;
  // First of all: whoever asks for a driver's library by its name gets this one.
  if (!dlopen(arguments[1], RTLD_NOW | RTLD_GLOBAL)) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  std::ifstream file(arguments[2]);
  const std::string machine(std::istreambuf_iterator<char>(file), {});
  return zero::kernels::vendor::check(machine);
}
