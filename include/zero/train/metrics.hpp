#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace zero::train {

/// How good texts are beside references, as counts: those of several ranks or files add up, in any
/// order, to those of all pairs, so a figure is the same at every rank count. Twelve 64-bit
/// integers, which ranks may sum one by one.
struct TextCounts {
  static constexpr size_t kOrders = 4;

  std::array<int64_t, kOrders> matched = {};  ///< n-grams of order i + 1 that the reference has too
  std::array<int64_t, kOrders> total = {};    ///< n-grams of order i + 1
  int64_t tokens = 0, reference_tokens = 0;
  int64_t exact = 0, pairs = 0;

  TextCounts& operator+=(const TextCounts& other);
  bool operator==(const TextCounts&) const = default;
};

/// Counts one pair. Both are UTF-8; tokens are those of mteval-v13a, as sacreBLEU's "13a" cuts
/// them, with case. The pair is exact if both are equal but for white space at their ends.
TextCounts count_pair(std::string_view hypothesis, std::string_view reference);

/// Corpus BLEU, 0 to 100: the geometric mean of the precisions of orders 1 to 4, clipped by the
/// reference, with the brevity penalty (Papineni et al. 2002). A precision without a match becomes
/// 1 / (2^k total), k-th of its kind (Chen and Cherry 2014, method 3). 0 where nothing matches or a
/// corpus has no 4-gram. Equal to sacreBLEU's corpus_bleu() with its defaults (Post 2018).
double bleu(const TextCounts& counts);

/// 100 times the precision of each order, smoothed where nothing matches, as bleu() takes it.
std::array<double, TextCounts::kOrders> bleu_precisions(const TextCounts& counts);
double brevity_penalty(const TextCounts& counts);

/// How the figure was made, in sacreBLEU's words, with the version that it is equal to.
std::string bleu_signature();

/// The share of exact pairs, 0 to 1; 0 of none.
double exact_match(const TextCounts& counts);

/// exp of the mean loss of a token, in nats.
double perplexity(double loss);

/// The tokens of 13a, for whoever wants to see them.
std::vector<std::string> tokens_13a(std::string_view text);

}  // namespace zero::train
