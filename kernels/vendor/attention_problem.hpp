#pragma once
/// Attention as a library is asked for it, in plain numbers: what its plan holds for, where arrays
/// lie in scratch and how much of it the library may use. No type of the library is known here: a
/// plan counts these bytes without a GPU, and tests run on the host.

#include <cstdint>
#include <string>

#include "zero/base/align.hpp"
#include "zero/kernels/attention.hpp"

namespace zero::kernels::vendor {

/// Elements from one row of q, and of k and v, to the next.
struct OperandRows {
  int64_t q, kv;

  bool operator==(const OperandRows&) const = default;
};
constexpr OperandRows packed_rows(const AttentionExtents& extents) {
  return {.q = 3 * extents.inner_width(), .kv = 3 * extents.inner_width()};
}
constexpr OperandRows paired_rows(const AttentionExtents& extents) {
  return {.q = extents.inner_width(), .kv = 2 * extents.inner_width()};
}

/// What one plan of the library holds for. Ranks with the same one make the same choice.
struct AttentionProblem {
  AttentionExtents extents;
  Dtype dtype;
  float dropout;  ///< probability of zeroing
  OperandRows rows;
  bool deterministic = true;  ///< gradients are added in a fixed order

  bool operator==(const AttentionProblem&) const = default;
};

/// The widest head that it has a backward pass for.
inline constexpr int64_t kLibraryHeadWidthMost = 256;
/// A longer text than this allows costs our own kernels' time rather than memory that grows with
/// the square of its length.
inline constexpr int64_t kLibraryBytesMost = int64_t(8) << 30;

/// Elements from one sample, head and row to the next.
struct HeadStrides {
  int64_t sample, head, row;
};
/// A sample has so many rows, `stride` elements apart, in which heads lie side by side.
constexpr HeadStrides head_strides(const AttentionExtents& extents, int64_t rows, int64_t stride) {
  return {.sample = rows * stride, .head = extents.head_width, .row = stride};
}

/// Scores of a query to every key, one number each, for one sample or for all of them.
constexpr int64_t score_count(const AttentionExtents& extents, int64_t samples) {
  return samples * extents.heads * extents.length * extents.key_length();
}

/// Whether the library is told how many queries and keys each sample has. Without it, keys that
/// fill no tile of its backward pass have given NaN (cudnn-frontend, issues 160 and 1072), but not
/// in causal self-attention, whose queries do not see behind the last key anyway.
constexpr bool tells_lengths(const AttentionExtents& extents) {
  return extents.counted || extents.biased || !extents.causal;
}

/// What the library may use for itself, in either direction. Its deterministic gradient, and any
/// that leaves that of a bias, keeps the gradient of all scores in tiles of 64 queries by 128 keys;
/// the other one keeps dq in fp32. Both keep y . dy; cuDNN 9.19 asks for 256 bytes more. A plan
/// that wants more than this bound is not taken.
int64_t library_workspace_bytes(const AttentionExtents& extents);

/// Where the pieces lie in the scratch of a call of the library, in bytes from its beginning; each
/// begins at a multiple of kExtentAlignBytes.
struct AttentionScratch {
  int64_t dropout;        ///< AttentionDropout
  int64_t queries, keys;  ///< int32 [samples] each, where tells_lengths()
  int64_t bias;           ///< 16 bits each, [heads, length, keys]
  int64_t bias_gradient;  ///< 16 bits each, [samples, heads, length, keys]
  int64_t workspace;
  int64_t bytes;  ///< of all
};
AttentionScratch library_scratch(const AttentionExtents& extents);

/// Bytes that our own kernels want: y . dy of every row, and for a bias the sums along the
/// diagonals of every tile of queries.
int64_t own_scratch_bytes(const AttentionExtents& extents);

/// Why the library is not asked for a problem whatever it could do; "" if it is asked.
std::string reason_for_own(const AttentionProblem& problem);

/// Throws Error(kInternal) for extents or a probability out of range, and where bias or counts are
/// not what the extents say.
void check_attention(const AttentionExtents& extents, const DropoutSite& site, bool has_bias,
                     bool has_counts);
template <class T>
void check_attention(const AttentionExtents& extents, const DropoutSite& site,
                     const AttentionInputs<T>& in) {
  check_attention(extents, site, in.bias != nullptr, in.key_counts != nullptr);
}

/// Scratch that holds for either way of computing, since only a GPU shows which one it is.
int64_t either_scratch_bytes(const AttentionExtents& extents, Dtype dtype);

/// What the library draws its masks from, as it reads it on the device.
struct AttentionDropout {
  int64_t seed, offset;

  bool operator==(const AttentionDropout&) const = default;
};

/// Masks of one micro-batch in one layer. Its first sample, counted over all steps and ranks, says
/// step and global micro-batch in one number: so masks are the same on any number of ranks, and
/// again where a forward pass is repeated. The words are those of a block that no element has.
ZERO_HOST_DEVICE constexpr AttentionDropout attention_dropout(uint64_t seed, uint32_t site,
                                                              int64_t first_sample) {
  const PhiloxBlock drawn = dropout_words(seed, site, first_sample, ~uint32_t(0));
  const uint64_t key = (uint64_t(drawn.word[1]) << 32 | drawn.word[0]) >> 1;
  // A multiple of 16: the library counts several numbers a thread from it.
  return {.seed = int64_t(key), .offset = int64_t(drawn.word[2] >> 5) << 4};
}

}  // namespace zero::kernels::vendor
