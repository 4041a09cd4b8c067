// What cuDNN would do on an H200, which is only described here, so that no GPU is needed: whether
// it has plans for the attention of our models, and whether they keep to the bytes that a plan of a
// training counts. The library makes the very plans, down to the code, which a driver's library
// without a GPU then takes. What stays with our own kernels does so for the reason that is written
// here; a case that the library should take and does not is a failure.
// usage: attention_plans DRIVER GPU.json

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

#include "kernels/vendor/cuda/attention.hpp"
#include "zero/base/error.hpp"

namespace zero::kernels::vendor {
namespace {

constexpr int kHopper = 90;
constexpr int64_t kSpareBytes = int64_t(1) << 20;

struct Case {
  std::string name;
  AttentionExtents extents;
  OperandRows rows;
  /// Every mixture of dtypes and dropout; else bf16 with dropout and fp16 without.
  bool all_mixtures = false;

  AttentionProblem problem(Dtype dtype, float dropout) const {
    return {.extents = extents, .dtype = dtype, .dropout = dropout, .rows = rows};
  }
  std::vector<AttentionProblem> problems() const {
    std::vector<AttentionProblem> all{problem(Dtype::bf16, 0.1f), problem(Dtype::f16, 0.0f)};
    if (!all_mixtures) return all;
    all.push_back(problem(Dtype::bf16, 0.0f));
    all.push_back(problem(Dtype::f16, 0.1f));
    return all;
  }
};

Case self(const std::string& name, const AttentionExtents& extents, bool all_mixtures = false) {
  return {name, extents, packed_rows(extents), all_mixtures};
}
Case cross(const std::string& name, AttentionExtents extents, bool all_mixtures = false) {
  extents.causal = false;
  extents.counted = true;
  return {name, extents, paired_rows(extents), all_mixtures};
}

/// Queries that see all keys of their own text but its padding.
AttentionExtents encoder(AttentionExtents extents) {
  extents.causal = false;
  extents.counted = true;
  return extents;
}
/// T5's scores are not divided.
AttentionExtents t5(AttentionExtents extents) {
  extents.biased = true;
  extents.divide_by = 1;
  return extents;
}

std::vector<Case> decoders() {
  return {self("gpt2-xl", {.samples = 16, .length = 1024, .heads = 25, .head_width = 64}),
          self("gpt2_1.5b",
               {.samples = 4, .length = 1024, .heads = 16, .head_width = 104, .real_width = 100}),
          self("heads of 128", {.samples = 8, .length = 1024, .heads = 32, .head_width = 128}),
          self("heads of 9",
               {.samples = 3, .length = 37, .heads = 3, .head_width = 16, .real_width = 9}),
          self("8192 tokens", {.samples = 1, .length = 8192, .heads = 2, .head_width = 64}),
          self("heads of 256", {.samples = 1, .length = 200, .heads = 2, .head_width = 256}),
          self("llama-3.2 1b",
               {.samples = 2, .length = 4096, .heads = 32, .head_width = 64, .key_heads = 8}),
          self("two tokens",
               {.samples = 1, .length = 2, .heads = 1, .head_width = 8, .real_width = 1})};
}

std::vector<Case> encoder_decoders() {
  const AttentionExtents large{.samples = 16, .length = 512, .heads = 16, .head_width = 64};
  const AttentionExtents xxl{.samples = 2, .length = 512, .heads = 128, .head_width = 128};
  const AttentionExtents answer{.samples = 16, .length = 114, .heads = 16, .head_width = 64};
  const AttentionExtents bot{.samples = 32, .length = 128, .heads = 32, .head_width = 40};
  AttentionExtents to_source = answer, to_source_of_128 = xxl, to_utterance = bot;
  to_source.keys = 512;
  to_source_of_128.length = 90;
  to_source_of_128.keys = 512;
  to_utterance.length = 40;
  to_utterance.keys = 128;
  return {self("t5-large's encoder", t5(encoder(large)), true),
          self("t5-large's decoder", t5(answer), true),
          cross("t5-large's decoder to its source", to_source, true),
          self("t5-11b's encoder", t5(encoder(xxl))),
          self("t5-11b's decoder", t5(xxl)),
          cross("t5-11b's decoder to its source", to_source_of_128),
          self("blenderbot's encoder", encoder(bot), true),
          self("blenderbot's decoder", bot, true),
          cross("blenderbot's decoder to its source", to_utterance, true)};
}

/// Lengths that fill no tile, more queries than keys, and features that no model has together.
std::vector<Case> odd_ones() {
  AttentionExtents few{.samples = 3, .length = 37, .heads = 2, .head_width = 40};
  AttentionExtents one = few, many = few;
  few.keys = 141;
  one.keys = 1;
  many.length = 601;
  many.head_width = 80;
  many.keys = 33;
  AttentionExtents causal = many;
  causal.keys = causal.length;
  causal.counted = true;
  return {cross("141 keys under a bias", t5(few)), cross("one key", one),
          cross("more queries than keys", many),
          self("padding of a causal text under a bias", t5(causal))};
}

/// Says what it is.
void print(const std::string& name, const AttentionProblem& problem,
           const CudnnForecast& forecast) {
  const AttentionExtents& e = problem.extents;
  std::puts(text(name, " (", name_of(problem.dtype), ", ", e.samples, " x ", e.length,
                 " queries and ", e.key_length(), " keys, ", e.heads, " heads of ", e.head_width,
                 e.causal ? ", causal" : "", e.biased ? ", biased" : "",
                 e.counted ? ", padded" : "", ", dropout ", problem.dropout,
                 problem.deterministic ? "): " : ", fast): ", forecast.refusal,
                 forecast.refusal.empty() ? "" : ", ", forecast.forward_bytes, " and ",
                 forecast.backward_bytes, " bytes of ", library_workspace_bytes(e))
                .c_str());
}

/// Whether the library takes it, within the bytes that a plan of a training counts.
bool keeps_to_bound(const AttentionExtents& extents, const CudnnForecast& forecast) {
  const int64_t bound = library_workspace_bytes(extents);
  return forecast.refusal.empty() && forecast.forward_bytes <= bound &&
         forecast.backward_bytes <= bound;
}

/// Both ways of adding gradients.
class Forecasts {
 public:
  Forecasts(const std::string& machine, const std::string& name, AttentionProblem problem)
      : extents_(problem.extents), fixed_(cudnn_forecast(machine, kHopper, problem)) {
    print(name, problem, fixed_);
    problem.deterministic = false;
    any_ = cudnn_forecast(machine, kHopper, problem);
    print(name, problem, any_);
  }

  /// Both have plans within the bytes that a plan of a training counts, which are no loose bound.
  bool hold() const {
    const int64_t most = std::max(fixed_.backward_bytes, any_.backward_bytes);
    const int64_t spare = library_workspace_bytes(extents_) - most;
    return keeps_to_bound(extents_, fixed_) && keeps_to_bound(extents_, any_) &&
           (spare <= kSpareBytes || is_grouped()) && flag_arrives();
  }

 private:
  /// No plan of the library with these has been seen.
  bool is_grouped() const { return extents_.heads_of_keys() < extents_.heads; }
  /// Sums in any order store no gradient of all scores, unless a bias wants it.
  bool flag_arrives() const {
    const bool is_large = score_count(extents_, extents_.samples) >= int64_t(1) << 26;
    return !is_large || extents_.biased || any_.backward_bytes < fixed_.backward_bytes;
  }

  AttentionExtents extents_;
  CudnnForecast fixed_, any_;
};

/// The first mixture is asked for both ways, the others for the one that a run has by default.
int failures_of(const std::string& machine, const std::vector<Case>& cases) {
  int failures = 0;
  const auto count = [&](const Case& one, bool holds) {
    if (!holds) std::puts(("FAILED: " + one.name).c_str());
    failures += !holds;
  };
  for (const Case& one : cases) {
    const std::vector<AttentionProblem> problems = one.problems();
    count(one, Forecasts(machine, one.name, problems[0]).hold());
    for (size_t i = 1; i < problems.size(); ++i) {
      const CudnnForecast forecast = cudnn_forecast(machine, kHopper, problems[i]);
      print(one.name, problems[i], forecast);
      count(one, keeps_to_bound(one.extents, forecast));
    }
  }
  return failures;
}

/// What our own kernels keep, and why.
int failures_of_own(const std::string& machine) {
  const AttentionExtents t5_large =
      t5(encoder({.samples = 16, .length = 512, .heads = 16, .head_width = 64}));
  AttentionExtents one = t5_large, odd = t5_large, wide = t5_large, large = t5_large;
  one.length = 1;
  one.keys = 512;
  odd.head_width = 100;
  wide.head_width = 264;
  large.length = 4096;
  const auto reason = [&](const AttentionExtents& of, Dtype dtype) {
    return cudnn_forecast(machine, kHopper, self("", of).problem(dtype, 0.1f)).refusal;
  };
  const std::pair<std::string, std::string> all[] = {
      {reason(t5_large, Dtype::f32), "fp32"},
      {reason(one, Dtype::bf16), "samples of one token"},
      {reason(odd, Dtype::bf16), "heads of 100, no multiple of 8"},
      {reason(wide, Dtype::bf16), "heads of more than 256"},
      {reason(large, Dtype::bf16), text("scratch of ", library_scratch(large).bytes,
                                        " bytes for scores, more than ", kLibraryBytesMost)}};
  int failures = 0;
  for (const auto& [got, expected] : all) {
    std::puts(text("our own: ", got).c_str());
    failures += got != expected;
  }
  return failures;
}

int check(const std::string& machine) {
  if (cudnn_name().empty()) {
    std::puts("SKIP no cuDNN that this build can use");
    return 0;
  }
  const int failures = failures_of(machine, decoders()) + failures_of(machine, encoder_decoders()) +
                       failures_of(machine, odd_ones()) + failures_of_own(machine);
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
