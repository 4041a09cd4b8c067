#pragma once
/// The rows of each token, linked in row order, as a GPU finds them. A bit for each segment of rows
/// says which tokens it holds, so a row searches at most two segments for its token.

#include "kernels/support/elements.hpp"
#include "kernels/support/row_sums.hpp"

namespace zero::kernels {

/// A stable sort of rows by token that moves nothing.
struct Chains {
  int32_t* last;   ///< [vocabulary] last row of the token so far, -1: none; used on the host only
  int32_t* next;   ///< [rows] next row with the same token, -1: none
  int32_t* first;  ///< [rows] 1: no earlier row has this token
};

/// A division of the rows into at most 256 equal segments, one bit each in a token's eight words.
struct TokenSegments {
  static constexpr int64_t kBits = 32, kWords = 8;
  int64_t rows;
  const int32_t* tokens;
  uint32_t* words;  ///< [vocabulary, kWords]

  KOKKOS_FUNCTION int64_t length() const { return ceil_div(rows, kBits * kWords); }
  KOKKOS_FUNCTION int64_t segment(int64_t r) const { return r / length(); }
  KOKKOS_FUNCTION int64_t begin(int64_t segment) const { return segment * length(); }
  KOKKOS_FUNCTION int64_t end(int64_t segment) const { return least(rows, begin(segment + 1)); }
  KOKKOS_FUNCTION uint32_t* words_of(int32_t token) const { return words + token * kWords; }

  /// Returns the first segment after this one that holds the token, or -1.
  KOKKOS_FUNCTION int64_t next(int64_t segment, int32_t token) const {
    const uint32_t* const of_token = words_of(token);
    const int64_t from = segment + 1;
    for (int64_t w = from / kBits; w < kWords; ++w) {
      const uint32_t bits = w > from / kBits ? of_token[w] : of_token[w] >> (from % kBits);
      if (bits == 0) continue;
      const int64_t lowest = Kokkos::countr_zero(bits);
      return w > from / kBits ? w * kBits + lowest : from + lowest;
    }
    return -1;
  }
};

/// Sets the bit of row r's segment. REQUIRES: all bits are 0 before the first row.
struct MarkSegments {
  TokenSegments segments;

  KOKKOS_FUNCTION void operator()(int64_t r) const {
    const int64_t segment = segments.segment(r), bits = TokenSegments::kBits;
    Kokkos::atomic_or(segments.words_of(segments.tokens[r]) + segment / bits,
                      uint32_t(1) << (segment % bits));
  }
};

/// Links row r to the next one. REQUIRES: all first[] are 1, and all segments are marked.
struct LinkRow {
  TokenSegments segments;
  Chains chains;

  KOKKOS_FUNCTION void operator()(int64_t r) const {
    const int32_t* const tokens = segments.tokens;
    const int64_t segment = segments.segment(r);
    int64_t next = first_equal(tokens, tokens[r], {r + 1, segments.end(segment)});
    if (next < 0) {
      const int64_t other = segments.next(segment, tokens[r]);
      if (other >= 0)
        next = first_equal(tokens, tokens[r], {segments.begin(other), segments.end(other)});
    }
    chains.next[r] = int32_t(next);
    if (next >= 0) chains.first[next] = 0;
  }
};

}  // namespace zero::kernels
