// What the device in use does a second: products and attention of GPT-2's shapes in bf16, the head,
// functions that memory bounds, the optimizer, and copies to and from the host, one way and both at
// once; and choices beside each other: GELU and bias gradients in a product's call or apart,
// gradients of attention in a fixed order or any, 8 algorithms of a product measured or 32. A
// figure is work over the time of as many calls as fill 20 ms, behind two that are not counted.
// Runs on the host too, for its code's sake.
//   perf_device_rates [ROWS [FILE]]     ROWS of a micro-batch, 8192; FILE gets a JSON line a
//   figure,
//                                       and FILE.products each product that was measured both ways

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "perf/device/choice_rates.hpp"
#include "perf/device/decoder_rates.hpp"
#include "perf/device/rates.hpp"
#include "zero/base/error.hpp"
#include "zero/device/device.hpp"
#include "zero/kernels/attention.hpp"
#include "zero/kernels/dropout.hpp"
#include "zero/kernels/elementwise.hpp"
#include "zero/kernels/gradients.hpp"
#include "zero/kernels/layernorm.hpp"
#include "zero/kernels/optimizer.hpp"
#include "zero/kernels/product.hpp"
#include "zero/launch/kernel_threads.hpp"

namespace zero::perf {
namespace {

using kernels::ProductSpec;

constexpr int64_t kLength = 1024;

struct Model {
  const char* name;
  int64_t width, heads;
};
constexpr Model kModels[] = {{"gpt2", 768, 12},        {"gpt2-medium", 1024, 16},
                             {"gpt2-large", 1280, 20}, {"gpt2-xl", 1600, 25},
                             {"gpt2_1.5b", 1600, 16},  {"gpt2_10b", 4096, 32}};
constexpr int64_t kWidest = 4096;

/// The products of one layer with `in` inputs and `out` outputs: forward, and both gradients.
void products(Rates& rates, const Room& room, const std::string& name, int64_t rows, int64_t in,
              int64_t out) {
  const double flops = 2.0 * double(rows) * double(in) * double(out);
  bf16* const x = room.at<bf16>(0);
  bf16* const weight = room.at<bf16>(1);
  bf16* const y = room.at<bf16>(2);
  const auto rate = [&](const char* which, const std::function<void(Stream&)>& work) {
    rates.add(text("product ", name, " ", which), flops, "TFLOP/s", work);
  };
  rate("forward with bias", [&](Stream& stream) {
    kernels::product<bf16, bf16>(stream, {.m = rows, .n = out, .k = in}, x, weight,
                                 room.at<bf16>(3), y);
  });
  rate("dx", [&](Stream& stream) {
    kernels::product<bf16, bf16>(stream, {.m = rows, .n = in, .k = out, .transpose_b = true}, y,
                                 weight, nullptr, x);
  });
  const ProductSpec dw{.m = in, .n = out, .k = rows, .transpose_a = true};
  rate("dw",
       [&](Stream& stream) { kernels::product<bf16, bf16>(stream, dw, x, y, nullptr, weight); });
  ProductSpec sum = dw;
  sum.accumulate = true;
  rate("dw += in fp32", [&](Stream& stream) {
    kernels::product<bf16, float>(stream, sum, x, y, nullptr, room.at<float>(4));
  });
}

/// `more` stands behind each name.
void products_of(Rates& rates, const Room& room, const Model& model, int64_t rows,
                 const std::string& more = "") {
  const int64_t width = model.width;
  const auto rate = [&](const char* layer, int64_t in, int64_t out) {
    products(rates, room, text(model.name, " ", layer, more), rows, in, out);
  };
  rate("qkv", width, 3 * width);
  rate("proj", width, width);
  rate("up", width, 4 * width);
  rate("down", 4 * width, width);
}

/// Multiply-adds count two, of pairs that a query sees: the lower triangle.
void attention_of(Rates& rates, const Room& room, const Model& model, int64_t rows, float dropout,
                  bool deterministic) {
  const int64_t length = std::min(rows, kLength);
  const kernels::AttentionExtents extents{.samples = rows / length,
                                          .length = length,
                                          .heads = model.heads,
                                          .head_width = model.width / model.heads};
  const double flops = 2.0 * double(rows) * double(length) * double(model.width);
  const kernels::DropoutSite site{.probability = dropout, .site = 1, .sample_offset = 0};
  const Arena scratch(kernels::attention_scratch_bytes(extents, Dtype::bf16, 1), Place::device);
  const kernels::StepInputs none{};
  const Arena inputs(sizeof none, Place::device);
  const auto* const step = reinterpret_cast<const kernels::StepInputs*>(inputs.data());
  const std::string name =
      text(model.name, dropout > 0 ? " with dropout" : "", deterministic ? "" : ", fast");
  kernels::set_attention_rules({.deterministic = deterministic});
  rates.add("attention " + name + " forward", flops, "TFLOP/s", [&](Stream& stream) {
    kernels::attention<bf16>(stream, extents, site, step,
                             {kernels::packed_attention<bf16>(extents, room.at<bf16>(0)),
                              room.at<bf16>(1), room.at<float>(4), scratch.data()});
  });
  rates.add("attention " + name + " backward", 2.5 * flops, "TFLOP/s", [&](Stream& stream) {
    bf16* const dqkv = room.at<bf16>(3);
    kernels::attention_backward<bf16>(stream, extents, site, step,
                                      {kernels::packed_attention<bf16>(extents, room.at<bf16>(0)),
                                       room.at<bf16>(2), room.at<bf16>(1), room.at<float>(4), dqkv,
                                       dqkv + model.width, dqkv + 2 * model.width, scratch.data()});
  });
}

/// Functions of rows of a model's width; bytes are those of arrays that are read and written.
void elementwise_of(Rates& rates, const Room& room, const Model& model, int64_t rows) {
  const kernels::NormExtents norm{.rows = rows, .width = model.width};
  const Arena scratch(kernels::layernorm_scratch_numel(norm, false) * int64_t(sizeof(float)),
                      Place::device);
  bf16* const x = room.at<bf16>(0);
  bf16* const dy = room.at<bf16>(1);
  bf16* const out = room.at<bf16>(2);
  bf16* const weight = room.at<bf16>(3);
  float* const mean = room.at<float>(4);
  float* const rstd = mean + rows;
  const double bytes = 2.0 * double(rows * model.width);
  const auto rate = [&](const char* what, double arrays, const auto& work) {
    rates.add(text(what, " ", model.name), arrays * bytes, "GB/s", work);
  };
  rate("layernorm", 2, [&](Stream& stream) {
    kernels::layernorm<bf16>(stream, norm, 1e-5f, {x, weight, weight, out, mean, rstd});
  });
  rate("layernorm backward, residual added", 4, [&](Stream& stream) {
    kernels::layernorm_backward<bf16>(stream, norm,
                                      {dy, x, weight, mean, rstd, dy, out, weight, weight,
                                       reinterpret_cast<float*>(scratch.data())});
  });
  rate("gelu", 8, [&](Stream& stream) {
    kernels::activate<bf16>(stream, kernels::Activation::gelu, 4 * rows * model.width, x, out);
  });
  rate("gelu backward", 12, [&](Stream& stream) {
    kernels::activate_backward<bf16>(stream, kernels::Activation::gelu, 4 * rows * model.width,
                                     {x, dy, out});
  });
  rate("residual added", 3, [&](Stream& stream) {
    kernels::dropout_add<bf16>(stream, {.probability = 0, .site = 0, .sample_offset = 0},
                               {.samples = rows, .numel_per_sample = model.width}, nullptr, x, dy,
                               out);
  });
}

/// The optimizer on as many parameters as one block of a model has.
void optimizer_of(Rates& rates, const Room& room, const Model& model) {
  const int64_t numel = 12 * model.width * model.width;
  Arena state_room(sizeof(kernels::StepState), Place::pinned);
  auto* const state = reinterpret_cast<kernels::StepState*>(state_room.data());
  *state = {};
  state->apply = 1;
  state->grad_multiplier = 1.0f;
  state->learning_rate = 1e-4f;
  state->unbias1 = 3.69f;
  state->unbias2_sqrt = 0.0547f;
  const std::vector<kernels::OptimizerSegment> segments{{0, numel, 0.1f}};
  // Moments rest behind each other in the room for sums.
  float* const momentum = room.at<float>(4);
  float* const variance = momentum + numel;
  const kernels::OptimizerArrays<bf16, bf16> arrays{
      room.at<bf16>(0), room.at<int16_t>(1), {momentum, variance}, room.at<bf16>(2)};
  rates.add(
      text("adam, one block of ", model.name), 26.0 * double(numel), "GB/s",
      [&](Stream& stream) { kernels::update<bf16, bf16>(stream, {}, segments, state, arrays); });
  rates.add(text("norm of ", model.name), 2.0 * double(numel), "GB/s", [&](Stream& stream) {
    kernels::sum_of_squares<bf16, bf16>(stream, numel, room.at<bf16>(2), true,
                                        room.at<kernels::StepSums>(3));
  });
  rates.add(text("gradients added in fp32, of ", model.name), 10.0 * double(numel), "GB/s",
            [&](Stream& stream) {
              kernels::accumulate<bf16>(stream, numel, room.at<bf16>(2), momentum, false);
            });
}

void attentions(Rates& rates, const Room& room, int64_t rows) {
  for (const Model& model : kModels) {
    for (const float dropout : {0.0f, 0.1f}) attention_of(rates, room, model, rows, dropout, true);
    attention_of(rates, room, model, rows, 0.0f, false);
  }
}

/// The models whose head and choices are measured: the smallest, and the one that is judged.
bool is_compared(const Model& model) {
  const std::string name = model.name;
  return name == "gpt2" || name == "gpt2-xl";
}

void choices(Rates& rates, const Room& room, int64_t rows, const kernels::ProductRules& rules) {
  for (const Model& model : kModels) {
    if (!is_compared(model)) continue;
    const HeadRates head(rates, room, model.name, model.width, rows);
    for (const int64_t chunk_rows : {4096, 8192}) head.add(chunk_rows);
    column_sums(rates, room, model.name, model.width, rows);
    fused_products(rates, room, model.name, model.width, rows);
  }
  kernels::ProductRules more = rules;
  more.candidates = 32;
  if (!more.cache.empty()) more.cache += "32";
  kernels::set_product_rules(more);
  rates.take_another_stream();
  for (const Model& model : kModels) {
    if (!is_compared(model)) continue;
    products_of(rates, room, model, rows, ", of 32 algorithms");
    fused_products(rates, room, text(model.name, ", of 32 algorithms,"), model.width, rows);
  }
}

int measure(int64_t rows, const char* file) {
  if (drives_devices()) use_device(0);
  const launch::KernelThreads threads(drives_devices() ? 1 : 2);
  const kernels::ProductRules rules{.measure = true, .cache = file ? text(file, ".products") : ""};
  kernels::set_product_rules(rules);
  Rates rates(file);
  const Room room(rows * 4 * kWidest, 12 * kWidest * kWidest);
  int64_t before = 0;
  for (const Model& model : kModels) {
    if (model.width != before) products_of(rates, room, model, rows);
    before = model.width;
  }
  attentions(rates, room, rows);
  for (const Model& model : kModels) elementwise_of(rates, room, model, rows);
  decoder_functions(rates, room, rows);
  for (const Model& model : kModels) optimizer_of(rates, room, model);
  copies(rates);
  choices(rates, room, rows, rules);
  return 0;
}

}  // namespace
}  // namespace zero::perf

int main(int argc, char** argv) {
  const int64_t rows = argc > 1 ? std::atoll(argv[1]) : 8192;
  if (argc > 3 || rows < 128 || rows % 128 != 0) {
    return std::fprintf(stderr, "usage: perf_device_rates [ROWS [FILE]], ROWS a multiple of 128\n"),
           2;
  }
  try {
    return zero::perf::measure(rows, argc > 2 ? argv[2] : nullptr);
  } catch (const zero::Error& error) {
    return std::fprintf(stderr, "%s\n", error.what()), int(error.exit());
  }
}
