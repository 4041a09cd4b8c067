#pragma once
/// Attention by a library in plain numbers: the scope of a plan, the places of arrays in scratch,
/// and the library's share. No type of the library is known here, so plans and tests count these
/// bytes without a GPU.

#include <cstdint>
#include <string>

#include "zero/base/align.hpp"
#include "zero/kernels/attention.hpp"

namespace zero::kernels::vendor {

/// The elements from one row of q, and of k and v, to the next.
struct OperandRows {
  int64_t q, kv;

  bool operator==(const OperandRows&) const = default;
};
constexpr OperandRows packed_rows(const AttentionExtents& extents) {
  const int64_t width = extents.inner_width() + 2 * extents.key_width();
  return {.q = width, .kv = width};
}
constexpr OperandRows paired_rows(const AttentionExtents& extents) {
  return {.q = extents.inner_width(), .kv = 2 * extents.key_width()};
}

/// A problem that one plan of the library holds for. Ranks with equal problems make equal choices.
struct AttentionProblem {
  AttentionExtents extents;
  Dtype dtype;
  float dropout;  ///< probability of zeroing
  OperandRows rows;
  bool deterministic = true;  ///< true: gradients are added in a fixed order

  bool operator==(const AttentionProblem&) const = default;
};

/// The widest head for which the library has a backward pass.
inline constexpr int64_t kLibraryHeadWidthMost = 256;
/// The most scratch that the library may take. Longer texts cost our own kernels' time, not memory
/// that grows with the square of the length.
inline constexpr int64_t kLibraryBytesMost = int64_t(8) << 30;

/// The elements from one sample, head and row to the next.
struct HeadStrides {
  int64_t sample, head, row;
};
/// Returns the strides of samples of `rows` rows, `stride` elements apart, with heads side by side.
constexpr HeadStrides head_strides(const AttentionExtents& extents, int64_t rows, int64_t stride) {
  return {.sample = rows * stride, .head = extents.head_width, .row = stride};
}

/// Returns the number of scores, one for each query and key, of all heads of `samples` samples.
constexpr int64_t score_count(const AttentionExtents& extents, int64_t samples) {
  return samples * extents.heads * extents.length * extents.key_length();
}

/// True if the library is told how many queries and keys each sample has. Otherwise keys that fill
/// no tile of its backward pass have given NaN (cudnn-frontend, issues 160 and 1072). Causal
/// self-attention is safe, because its queries do not see behind the last key.
constexpr bool tells_lengths(const AttentionExtents& extents) {
  return extents.counted || extents.biased || !extents.causal;
}

/// Returns the bytes that the library may use for itself in either direction; a plan that wants
/// more is not taken. The deterministic gradient, and any with a bias gradient, keeps the gradient
/// of all scores in tiles of 64 queries by 128 keys. The other keeps dq in fp32. Both keep y . dy;
/// cuDNN 9.19 asks for 256 bytes more. Heads that share keys may have dk and dv of their own in
/// fp32 until these are added.
int64_t library_workspace_bytes(const AttentionExtents& extents);

/// The places of the pieces in the scratch of a library call, in bytes from its beginning. Each
/// begins at a multiple of kExtentAlignBytes.
struct AttentionScratch {
  int64_t dropout;        ///< AttentionDropout
  int64_t queries, keys;  ///< int32 [samples] each, where tells_lengths()
  int64_t bias;           ///< 16 bits each, [heads, length, keys]
  int64_t bias_gradient;  ///< 16 bits each, [samples, heads, length, keys]
  int64_t workspace;
  int64_t bytes;  ///< bytes of all pieces
};
AttentionScratch library_scratch(const AttentionExtents& extents);

/// Returns the bytes that our own kernels need: y . dy of every row, and for a bias the sums along
/// the diagonals of every tile of queries.
int64_t own_scratch_bytes(const AttentionExtents& extents);

/// Returns the reason why the library is never asked for a problem, "" if it is asked.
std::string reason_for_own(const AttentionProblem& problem);

/// True for the optional inputs that arrays have.
struct GivenInputs {
  bool bias, key_counts, first;
};

/// Throws Error(kInternal) for extents or a probability out of range, and if optional inputs are
/// not as the extents say.
void check_attention(const AttentionExtents& extents, const DropoutSite& site,
                     const GivenInputs& given);
template <class T>
void check_attention(const AttentionExtents& extents, const DropoutSite& site,
                     const AttentionInputs<T>& in) {
  check_attention(extents, site,
                  {in.bias != nullptr, in.key_counts != nullptr, in.first != nullptr});
}

/// Returns scratch that holds for either way of computing, since only a GPU shows which it is.
int64_t either_scratch_bytes(const AttentionExtents& extents, Dtype dtype);

/// The numbers that the library draws its masks from, as it reads them on the device.
struct AttentionDropout {
  int64_t seed, offset;

  bool operator==(const AttentionDropout&) const = default;
};

/// Returns the numbers for the masks of one micro-batch in one layer. `first_sample`, counted over
/// all steps and ranks, identifies step and global micro-batch. So masks are the same on any number
/// of ranks, and in a repeated forward pass. The words are those of a block that no element has.
ZERO_HOST_DEVICE constexpr AttentionDropout attention_dropout(uint64_t seed, uint32_t site,
                                                              int64_t first_sample) {
  const PhiloxBlock drawn = dropout_words(seed, site, first_sample, ~uint32_t(0));
  const uint64_t key = (uint64_t(drawn.word[1]) << 32 | drawn.word[0]) >> 1;
  // A multiple of 16, because the library counts several numbers a thread from it.
  return {.seed = int64_t(key), .offset = int64_t(drawn.word[2] >> 5) << 4};
}

}  // namespace zero::kernels::vendor
