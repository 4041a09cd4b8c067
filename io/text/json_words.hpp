#pragma once
/// From a text to words, by the rules of a tokenizer.json.

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/text/sentencepiece.hpp"
#include "io/text/tokenizer_json.hpp"

namespace zero {

/// Returns what the normalizer makes of a piece of text.
std::string normalize(std::string_view text, const std::vector<TokenizerRules::Normal>& steps);

/// Returns `text` with U+2581 for each blank.
std::string with_marks(std::string_view text);

/// Calls visit() with the words of a piece, which steps cut one after the other.
template <class Visit>
void cut(std::string_view piece, std::span<const CutStep> steps, const Visit& visit) {
  if (steps.empty()) return visit(piece);
  const CutStep step = steps.front();
  if (step.kind == CutStep::Kind::kPrefixSpace) {
    if (piece.starts_with(' ')) return cut(piece, steps.subspan(1), visit);
    return cut(" " + std::string(piece), steps.subspan(1), visit);
  }
  for (size_t at = 0; at < piece.size();) {
    const size_t end = step.kind == CutStep::Kind::kPattern
                           ? word_end(step.pattern, piece, at)
                           : digits_end(piece, at, step.kind == CutStep::Kind::kDigitRuns);
    cut(piece.substr(at, end - at), steps.subspan(1), visit);
    at = end;
  }
}

/// Calls visit() with the words of a piece under Metaspace.
template <class Visit>
void cut_at_marks(std::string_view piece, const MarkRule& rule, bool is_first, const Visit& visit) {
  std::string marked = with_marks(piece);
  const bool prefixed = rule.prefix == MarkRule::Prefix::kAlways ||
                        (rule.prefix == MarkRule::Prefix::kFirst && is_first);
  if (prefixed && !marked.starts_with(kBlankMark)) marked.insert(0, kBlankMark);
  const std::string_view words = marked;
  if (!rule.splits) return visit(words);
  for (size_t at = 0; at < words.size();) {
    const size_t end = std::min(words.find(kBlankMark, at + 1), words.size());
    visit(words.substr(at, end - at));
    at = end;
  }
}

/// Calls visit() with the words of a normalised piece. `is_first` says that the text begins with
/// it.
template <class Visit>
void cut_words(std::string_view piece, bool is_first, const TokenizerRules& rules,
               const Visit& visit) {
  if (piece.empty()) return;
  if (rules.marks) return cut_at_marks(piece, *rules.marks, is_first, visit);
  cut(piece, rules.cuts, visit);
}

}  // namespace zero
