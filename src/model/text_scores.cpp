#include "zero/model/text_scores.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "zero/base/error.hpp"
#include "zero/base/keyed_hash.hpp"
#include "zero/base/white_space.hpp"

namespace zero::model {
namespace {

/// Replaces log(0), so that the mean vanishes if an order has no n-grams.
constexpr double kLogOfNothing = -9999999999;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_stop(char c) { return c == '.' || c == ','; }

/// True for ASCII punctuation that does not occur in numbers and words: all but . , - '
bool is_apart(char c) {
  return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= ' ' && c <= '&') ||
         (c >= '(' && c <= '+') || (c >= ':' && c <= '@') || c == '/';
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  for (size_t at = 0; at < text.size();) {
    const size_t blank = white_bytes(text, at);
    if (blank == 0) {
      word += text[at++];
    } else {
      if (!word.empty()) words.push_back(std::move(word));
      word.clear();
      at += blank;
    }
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

std::string_view without_end_blanks(std::string_view text) {
  return text.substr(0, bytes_before_end_blanks(text));
}

std::string_view without_outer_blanks(std::string_view text) {
  text = without_end_blanks(text);
  while (const size_t blank = text.empty() ? 0 : white_bytes(text, 0)) text.remove_prefix(blank);
  return text;
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  for (size_t at = text.find(from); at != text.npos; at = text.find(from)) {
    out.append(text.substr(0, at)).append(to);
    text.remove_prefix(at + from.size());
  }
  return out.append(text);
}

std::string unescaped(std::string_view line) {
  std::string text(line);
  for (const auto& [from, to] : {std::pair("<skipped>", ""),
                                 {"-\n", ""},
                                 {"\n", " "},
                                 {"&quot;", "\""},
                                 {"&amp;", "&"},
                                 {"&lt;", "<"},
                                 {"&gt;", ">"}}) {
    text = replaced(text, from, to);
  }
  return " " + text + " ";
}

std::string with_blanks_around_punctuation(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (is_apart(c)) {
      out += {' ', c, ' '};
    } else {
      out += c;
    }
  }
  return out;
}

/// Replaces each pair of neighbours that `is_pair` accepts by `pattern` ("1 2 "), from left to
/// right. A character belongs to one pair.
template <class IsPair>
std::string with_blanks_in_pairs(std::string_view text, IsPair is_pair, std::string_view pattern) {
  std::string out;
  for (size_t at = 0; at < text.size(); ++at) {
    if (at + 1 == text.size() || !is_pair(text[at], text[at + 1])) {
      out += text[at];
      continue;
    }
    for (const char c : pattern) out += c == '1' ? text[at] : c == '2' ? text[at + 1] : c;
    ++at;
  }
  return out;
}

using Counts = std::unordered_map<std::string, int64_t, KeyedHash>;

/// Returns counts of each n-gram, its tokens joined by a blank, which no token holds.
Counts ngrams(const std::vector<std::string>& tokens, size_t order) {
  Counts counts;
  for (size_t first = 0; first + order <= tokens.size(); ++first) {
    std::string joined = tokens[first];
    for (size_t i = 1; i < order; ++i) joined += " " + tokens[first + i];
    ++counts[joined];
  }
  return counts;
}

void count_order(const std::vector<std::string>& hypothesis,
                 const std::vector<std::string>& reference, size_t order, TextCounts& out) {
  const Counts known = ngrams(reference, order);
  for (const auto& [ngram, count] : ngrams(hypothesis, order)) {
    out.total[order - 1] += count;
    const auto found = known.find(ngram);
    if (found != known.end()) out.matched[order - 1] += std::min(count, found->second);
  }
}

}  // namespace

TextCounts& TextCounts::operator+=(const TextCounts& other) {
  for (size_t i = 0; i < kOrders; ++i) {
    matched[i] += other.matched[i];
    total[i] += other.total[i];
  }
  tokens += other.tokens;
  reference_tokens += other.reference_tokens;
  exact += other.exact;
  texts += other.texts;
  return *this;
}

TextCounts text_counts(std::span<const int64_t> numbers) {
  TextNumbers own;
  ZERO_REQUIRE(numbers.size() == own.size(), numbers.size(), " numbers for counts of texts");
  std::ranges::copy(numbers, own.begin());
  return std::bit_cast<TextCounts>(own);
}

std::vector<std::string> tokens_13a(std::string_view line) {
  std::string text = unescaped(without_end_blanks(line));
  text = with_blanks_around_punctuation(text);
  text = with_blanks_in_pairs(
      text, [](char a, char b) { return !is_digit(a) && is_stop(b); }, "1 2 ");
  text = with_blanks_in_pairs(
      text, [](char a, char b) { return is_stop(a) && !is_digit(b); }, " 1 2");
  text = with_blanks_in_pairs(
      text, [](char a, char b) { return is_digit(a) && b == '-'; }, "1 2 ");
  return split(text);
}

TextCounts count_text(std::string_view hypothesis, std::string_view reference) {
  const std::vector<std::string> own = tokens_13a(hypothesis), other = tokens_13a(reference);
  TextCounts counts{.tokens = int64_t(own.size()),
                    .reference_tokens = int64_t(other.size()),
                    .exact = without_outer_blanks(hypothesis) == without_outer_blanks(reference),
                    .texts = 1};
  for (size_t order = 1; order <= TextCounts::kOrders; ++order)
    count_order(own, other, order, counts);
  return counts;
}

std::array<double, TextCounts::kOrders> bleu_precisions(const TextCounts& counts) {
  std::array<double, TextCounts::kOrders> precisions = {};
  if (std::ranges::all_of(counts.matched, [](int64_t count) { return count == 0; }))
    return precisions;
  double smoothing = 1;
  for (size_t i = 0; i < precisions.size() && counts.total[i] > 0; ++i) {
    if (counts.matched[i] == 0) smoothing *= 2;
    precisions[i] = counts.matched[i] == 0
                        ? 100.0 / (smoothing * double(counts.total[i]))
                        : 100.0 * double(counts.matched[i]) / double(counts.total[i]);
  }
  return precisions;
}

double brevity_penalty(const TextCounts& counts) {
  if (counts.tokens >= counts.reference_tokens) return 1;
  if (counts.tokens == 0) return 0;
  return std::exp(1 - double(counts.reference_tokens) / double(counts.tokens));
}

double bleu(const TextCounts& counts) {
  if (std::ranges::all_of(counts.matched, [](int64_t count) { return count == 0; })) return 0;
  double sum = 0;
  for (const double precision : bleu_precisions(counts))
    sum += precision > 0 ? std::log(precision) : kLogOfNothing;
  return brevity_penalty(counts) * std::exp(sum / double(TextCounts::kOrders));
}

std::string bleu_signature() {
  return "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0";
}

double exact_match(const TextCounts& counts) {
  return counts.texts == 0 ? 0 : double(counts.exact) / double(counts.texts);
}

}  // namespace zero::model
