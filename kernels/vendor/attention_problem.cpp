#include "kernels/vendor/attention_problem.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/vendor/attention_backward_block.hpp"
#include "zero/base/error.hpp"

namespace zero::kernels::vendor {
namespace {

/// Room for the needs of other versions of the library.
constexpr int64_t kSpareBytes = int64_t(1) << 20;
/// Bytes of a score. A library computes in 16 bits.
constexpr int64_t kScoreBytes = 2;

/// Places a piece after the others and returns its begin.
int64_t place(int64_t& end, int64_t bytes) {
  const int64_t begin = end;
  end += round_up(bytes, kExtentAlignBytes);
  return begin;
}

}  // namespace

void check_attention(const AttentionExtents& extents, const DropoutSite& site,
                     const GivenInputs& given) {
  const int64_t keys = extents.key_length();
  ZERO_REQUIRE(
      extents.samples > 0 && extents.length > 0 && extents.heads > 0 && extents.head_width > 0,
      "attention over ", extents.samples, " samples of ", extents.length, " tokens with ",
      extents.heads, " heads of ", extents.head_width, ": all must be at least 1");
  ZERO_REQUIRE(extents.key_heads >= 0 && extents.heads % extents.heads_of_keys() == 0,
               "attention of ", extents.heads, " heads to ", extents.key_heads,
               " of keys: each head of keys wants as many heads of queries");
  ZERO_REQUIRE(!extents.causal || keys == extents.length, "causal attention of ", extents.length,
               " queries to ", keys, " keys: each query wants a key in its own place");
  ZERO_REQUIRE(extents.causal || (extents.window == 0 && !extents.ranged),
               "attention that is not causal has neither a window nor first keys");
  ZERO_REQUIRE(extents.window >= 0 && extents.cap >= 0.0f && std::isfinite(extents.cap),
               "a window of ", extents.window, " keys and a cap of ", extents.cap,
               ": both must be at least 0");
  ZERO_REQUIRE(site.probability >= 0.0f && site.probability < 1.0f, "dropout probability ",
               site.probability, ": choose one in [0, 1)");
  const auto agree = [](bool wanted, bool has, const char* name) {
    ZERO_REQUIRE(wanted == has, "attention ", wanted ? "with " : "without ", name,
                 ": its arrays say otherwise");
  };
  agree(extents.biased, given.bias, "a bias");
  agree(extents.counted, given.key_counts, "counts of keys");
  agree(extents.ranged, given.first, "first keys");
}

int64_t library_workspace_bytes(const AttentionExtents& extents) {
  const int64_t heads = extents.samples * extents.heads;
  const int64_t scores =
      round_up<int64_t>(extents.length, 64) * round_up<int64_t>(extents.key_length(), 128);
  const int64_t dq = extents.length * extents.head_width;
  const int64_t dkv = 2 * extents.key_length() * extents.head_width;
  const int64_t shared = extents.heads_of_keys() < extents.heads ? 4 * dkv : 0;
  return heads * (std::max(kScoreBytes * scores, 4 * dq) + 4 * extents.length + shared) +
         kSpareBytes;
}

AttentionScratch library_scratch(const AttentionExtents& extents) {
  AttentionScratch scratch{};
  int64_t end = 0;
  const int64_t lengths =
      tells_lengths(extents) ? extents.samples * int64_t(sizeof(int32_t)) : int64_t(0);
  const auto scores = [&](int64_t samples) {
    return extents.biased ? kScoreBytes * score_count(extents, samples) : int64_t(0);
  };
  scratch.dropout = place(end, int64_t(sizeof(AttentionDropout)));
  scratch.queries = place(end, lengths);
  scratch.keys = place(end, lengths);
  scratch.bias = place(end, scores(1));
  scratch.bias_gradient = place(end, scores(extents.samples));
  scratch.workspace = place(end, library_workspace_bytes(extents));
  scratch.bytes = end;
  return scratch;
}

int64_t own_scratch_bytes(const AttentionExtents& extents) {
  const int64_t heads = extents.samples * extents.heads;
  const int64_t sums = attention_tiles(extents, Own::queries) * TileDiagonals::count_of(extents);
  return heads * (extents.length + (extents.biased ? sums : 0)) * int64_t(sizeof(float));
}

std::string reason_for_own(const AttentionProblem& problem) {
  const AttentionExtents& extents = problem.extents;
  if (problem.dtype == Dtype::f32) return "fp32";
  if (extents.length == 1) return "samples of one token";
  if (extents.head_width % kDeviceHeadUnit != 0)
    return text("heads of ", extents.head_width, ", no multiple of ", kDeviceHeadUnit);
  if (extents.head_width > kLibraryHeadWidthMost)
    return text("heads of more than ", kLibraryHeadWidthMost);
  if (extents.window > 0 && extents.window < extents.length) return "a window of keys";
  if (extents.cap > 0) return "a cap on scores";
  if (extents.ranged) return "documents in a row";
  const int64_t bytes = library_scratch(extents).bytes;
  if (bytes > kLibraryBytesMost)
    return text("scratch of ", bytes, " bytes for scores, more than ", kLibraryBytesMost);
  return "";
}

int64_t either_scratch_bytes(const AttentionExtents& extents, Dtype dtype) {
  const int64_t own = own_scratch_bytes(extents);
  const bool asked = reason_for_own({extents, dtype, 0, packed_rows(extents)}).empty();
  return asked ? std::max(own, library_scratch(extents).bytes) : own;
}

}  // namespace zero::kernels::vendor
