#include "zero/io/data/scored_texts.hpp"

#include <algorithm>
#include <numeric>

#include "io/data/document_samples.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/base/white_space.hpp"

namespace zero {
namespace {

int32_t prefix_of(const ScoringRules& rules) {
  if (rules.prefix >= 0) return rules.prefix;
  refuse_settings({"evaluation.prefix_token_id", "data.tokenizer"},
                  "a document or an empty context follows a token, and the tokenizer names neither "
                  "bos nor eos; write evaluation.prefix_token_id = NUMBER");
}

/// Returns a continuation of nothing. It begins with the prefix, if not by itself.
ScoredIds behind_prefix(const ScoringRules& rules, std::string_view continuation) {
  ScoredIds made{.ids = rules.tokenizer.encode(continuation, rules.names)};
  const int32_t prefix = prefix_of(rules);
  if (made.ids.empty() || made.ids.front() != prefix) made.ids.insert(made.ids.begin(), prefix);
  made.scored = int64_t(made.ids.size()) - 1;
  return made;
}

/// Cuts ids from the left to the length of a sample and its last target.
ScoredIds cut_to(int64_t length, ScoredIds made) {
  const int64_t surplus = int64_t(made.ids.size()) - (length + 1);
  if (surplus > 0) made.ids.erase(made.ids.begin(), made.ids.begin() + surplus);
  return made;
}

}  // namespace

ScoredIds scored_pair(const ScoringRules& rules, std::string_view context,
                      std::string_view continuation) {
  const std::string whole = std::string(context).append(continuation);
  context = context.substr(0, bytes_before_end_blanks(context));
  ScoredIds made{.ids = encode_prompt(rules.tokenizer, context, rules.names)};
  const bool is_empty = whole.size() == continuation.size() || made.ids.empty();
  if (is_empty) return cut_to(rules.length, behind_prefix(rules, whole));
  // A token that reaches over the border is left out, and the context's own ids stay.
  const std::vector<int32_t> joined = encode_prompt(rules.tokenizer, whole, rules.names);
  made.scored = std::max<int64_t>(std::ssize(joined) - std::ssize(made.ids), 0);
  made.ids.insert(made.ids.end(), joined.end() - made.scored, joined.end());
  return cut_to(rules.length, std::move(made));
}

std::vector<ScoredIds> scored_windows(const ScoringRules& rules, std::string_view document) {
  std::vector<int32_t> ids = encode_prompt(rules.tokenizer, document, rules.names);
  const int64_t count = std::ssize(ids);
  std::vector<ScoredIds> windows;
  if (count == 0) return windows;
  ids.insert(ids.begin(), prefix_of(rules));
  for (int64_t done = 0; done < count;) {
    const int64_t scored = std::min(rules.length, count - done), end = done + scored + 1;
    const int64_t begin = std::max<int64_t>(end - (rules.length + 1), 0);
    windows.push_back({.ids = {ids.begin() + begin, ids.begin() + end}, .scored = scored});
    done += scored;
  }
  return windows;
}

ScoredTexts::ScoredTexts(std::vector<ScoredIds> rows, int64_t length, bool is_packed)
    : Dataset(DocumentSamples::columns_of(length, is_packed), std::ssize(rows), std::nullopt),
      rows_(std::move(rows)),
      is_packed_(is_packed) {
  for (const ScoredIds& row : rows_) {
    ZERO_REQUIRE(
        row.scored > 0 && row.scored < std::ssize(row.ids) && std::ssize(row.ids) <= length + 1,
        row.scored, " of ", row.ids.size(), " ids to score in samples of ", length);
  }
}

ScoredTexts::~ScoredTexts() = default;

std::pair<int64_t, int64_t> ScoredTexts::scored(int64_t sample) const {
  const ScoredIds& row = rows_[size_t(sample)];
  const int64_t end = std::ssize(row.ids) - 1;
  return {end - row.scored, end};
}

LengthPair ScoredTexts::lengths(int64_t sample) const {
  return {.target = std::ssize(rows_[size_t(sample)].ids) - 1};
}

std::string ScoredTexts::form() const {
  return text("at most ", columns().front().numel, " + 1 tokens, of which the last are scored");
}

std::vector<DataColumn> ScoredTexts::columns_for(const LengthPair& lengths) const {
  return DocumentSamples::columns_of(lengths.target, is_packed_);
}

int64_t ScoredTexts::counted_in(int64_t sample) const {
  return sample < samples() ? rows_[size_t(sample)].scored : 0;
}

void ScoredTexts::read_sample(int64_t sample, ColumnSpans out) const {
  const auto tokens = values_in<int32_t>(out[0]), targets = values_in<int32_t>(out[1]);
  const auto first = is_packed_ ? values_in<int32_t>(out[2]) : std::span<int32_t>();
  std::ranges::fill(tokens, 0);
  std::ranges::fill(targets, kNotCounted);
  std::iota(first.begin(), first.end(), 0);
  if (sample >= samples()) return;
  const std::vector<int32_t>& ids = rows_[size_t(sample)].ids;
  const auto [begin, end] = scored(sample);
  std::copy_n(ids.begin(), end, tokens.begin());
  std::copy(ids.begin() + begin + 1, ids.end(), targets.begin() + begin);
  if (is_packed_) std::fill_n(first.begin(), end, 0);
}

}  // namespace zero
