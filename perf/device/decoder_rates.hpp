#pragma once
/// Functions of decoders that memory bounds, beside the copy within the device: rotation, norms of
/// heads and gates, of the shapes of Llama 3.2 1B and Qwen3 0.6B.

#include "perf/device/rates.hpp"
#include "zero/kernels/gated.hpp"
#include "zero/kernels/head_norm.hpp"
#include "zero/kernels/rotate.hpp"

namespace zero::perf {

struct DecoderShape {
  const char* name;
  int64_t heads, key_heads, head_width, feed_forward;
};
inline constexpr DecoderShape kDecoders[] = {{"llama 1b", 32, 8, 64, 8192},
                                             {"qwen3 0.6b", 16, 8, 128, 3072}};

/// Rotation of packed heads and norms of them; bytes are those of rows that are read and written.
inline void packed_heads_of(Rates& rates, const Room& room, const DecoderShape& shape, int64_t rows,
                            int64_t length) {
  const kernels::PackedHeads packed{.rows = rows,
                                    .heads = shape.heads,
                                    .key_heads = shape.key_heads,
                                    .head_width = shape.head_width};
  bf16* const x = room.at<bf16>(0);
  bf16* const dy = room.at<bf16>(1);
  bf16* const out = room.at<bf16>(2);
  bf16* const weight = room.at<bf16>(3);
  float* const numbers = room.at<float>(4);
  const double bytes = 2.0 * double(rows * packed.columns());
  const auto rate = [&](const char* what, double arrays, const auto& work) {
    rates.add(text(what, " ", shape.name), arrays * bytes, "GB/s", work);
  };
  const kernels::RotateExtents of{
      .packed = packed, .length = length, .pairs = shape.head_width / 2, .positions = length};
  rate("rotation", 2, [&](Stream& stream) {
    kernels::rotate<bf16>(stream, of, {x, numbers, numbers, nullptr, nullptr, nullptr, out});
  });
  const kernels::HeadNormExtents norm{packed};
  const Arena scratch(kernels::head_norm_scratch_numel(norm) * int64_t(sizeof(float)),
                      Place::device);
  rate("norm of heads", 2, [&](Stream& stream) {
    kernels::head_norm<bf16>(stream, norm, {x, weight, weight, out, numbers, 1e-6f, 0});
  });
  rate("norm of heads backward", 3, [&](Stream& stream) {
    kernels::head_norm_backward<bf16>(stream, norm,
                                      {dy, x, weight, weight, numbers, out, weight, weight,
                                       reinterpret_cast<float*>(scratch.data()), 0});
  });
}

inline void gates_of(Rates& rates, const Room& room, const DecoderShape& shape, int64_t rows) {
  const kernels::GatedExtents of{rows, shape.feed_forward};
  const double bytes = 2.0 * double(rows * shape.feed_forward);
  bf16* const x = room.at<bf16>(0);
  bf16* const dy = room.at<bf16>(1);
  bf16* const out = room.at<bf16>(2);
  rates.add(text("gate by silu ", shape.name), 3 * bytes, "GB/s",
            [&](Stream& stream) { kernels::gated<bf16>(stream, kernels::Gate::silu, of, x, out); });
  rates.add(text("gate by silu backward ", shape.name), 5 * bytes, "GB/s", [&](Stream& stream) {
    kernels::gated_backward<bf16>(stream, kernels::Gate::silu, of, {x, dy, out});
  });
}

/// REQUIRES: `room` has places for 16384 columns of `rows`.
inline void decoder_functions(Rates& rates, const Room& room, int64_t rows) {
  for (const DecoderShape& shape : kDecoders) {
    packed_heads_of(rates, room, shape, rows, std::min<int64_t>(rows, 1024));
    gates_of(rates, room, shape, rows);
  }
}

}  // namespace zero::perf
