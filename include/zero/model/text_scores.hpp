#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zero::model {

/// The counts that score texts against references. Counts of several ranks or files add up to those
/// of all pairs, in any order. A score is thus the same at every rank count. Twelve 64-bit
/// integers, which ranks may sum one by one.
struct TextCounts {
  static constexpr size_t kOrders = 4;

  std::array<int64_t, kOrders> matched = {};  ///< n-grams of order i + 1 that the reference has too
  std::array<int64_t, kOrders> total = {};    ///< n-grams of order i + 1
  int64_t tokens = 0, reference_tokens = 0;
  int64_t exact = 0, texts = 0;

  TextCounts& operator+=(const TextCounts& other);
  bool operator==(const TextCounts&) const = default;
};

/// The integers of TextCounts, in the order of its members.
using TextNumbers = std::array<int64_t, sizeof(TextCounts) / sizeof(int64_t)>;
/// Returns counts as integers that ranks may sum.
inline TextNumbers numbers_of(const TextCounts& counts) {
  return std::bit_cast<TextNumbers>(counts);
}
/// Returns the counts that numbers_of() turned into these integers.
TextCounts text_counts(std::span<const int64_t> numbers);

/// Returns the counts of one pair of UTF-8 texts, a model's and its reference. Tokens are those of
/// mteval-v13a with case, as sacreBLEU's "13a" cuts them. The pair is exact if both are equal but
/// for white space at their ends.
TextCounts count_text(std::string_view hypothesis, std::string_view reference);

/// Returns corpus BLEU, 0 to 100, by the counts of all pairs. It is the geometric mean of the
/// precisions of orders 1 to 4, clipped by the reference, with the brevity penalty (Papineni et al.
/// 2002). The k-th precision without a match becomes 1 / (2^k total) (Chen and Cherry 2014, method
/// 3). Returns 0 if nothing matches or a corpus has no 4-gram. Equal to sacreBLEU's corpus_bleu()
/// with its defaults (Post 2018).
double bleu(const TextCounts& counts);

/// Returns 100 times the precision of each order of n-grams by these counts, smoothed as in bleu().
std::array<double, TextCounts::kOrders> bleu_precisions(const TextCounts& counts);
/// Returns the factor of bleu() for these counts, 0 to 1: below 1 if texts have fewer tokens than
/// their references.
double brevity_penalty(const TextCounts& counts);

/// Returns the settings of bleu() in sacreBLEU's notation, with the version that gives equal
/// scores.
std::string bleu_signature();

/// Returns the share of exact pairs in these counts, 0 to 1; 0 without pairs.
double exact_match(const TextCounts& counts);

/// Returns the tokens of a line of text, as count_text() cuts them.
std::vector<std::string> tokens_13a(std::string_view text);

}  // namespace zero::model
