#include "io/data/document_samples.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "zero/base/error.hpp"
#include "zero/base/text.hpp"

namespace zero {

DocumentSamples::DocumentSamples(const DocumentSource& source, RowPlan plan, const Options& options)
    : Dataset(columns_of(plan.length, options.is_packed), plan.rows(), options.shuffle_seed),
      source_(source),
      plan_(std::move(plan)),
      is_packed_(options.is_packed) {}

std::vector<DataColumn> DocumentSamples::columns_of(int64_t length, bool is_packed) {
  std::vector<DataColumn> columns = {{.name = "tokens", .numel = length},
                                     {.name = "targets", .numel = length}};
  if (is_packed) columns.push_back({.name = "first", .numel = length});
  return columns;
}

std::string DocumentSamples::form() const {
  if (plan_.is_windows) return text(plan_.length, " + 1 tokens of documents in a row");
  return text(plan_.length, is_packed_ ? " tokens of whole documents" : " tokens of one document");
}

std::span<const RowPiece> DocumentSamples::pieces_of(int64_t sample) const {
  if (sample >= samples()) return {};
  const int64_t begin = plan_.begins[size_t(sample)], end = plan_.begins[size_t(sample) + 1];
  return std::span(plan_.pieces).subspan(size_t(begin), size_t(end - begin));
}

void DocumentSamples::read_sample(int64_t sample, ColumnSpans out) const {
  const auto tokens = values_in<int32_t>(out[0]), targets = values_in<int32_t>(out[1]);
  const auto first = is_packed_ ? values_in<int32_t>(out[2]) : std::span<int32_t>();
  std::ranges::fill(tokens, 0);
  std::ranges::fill(targets, kNotCounted);
  std::iota(first.begin(), first.end(), 0);
  size_t at = 0;
  for (const RowPiece& piece : pieces_of(sample)) {
    const size_t count = size_t(piece.count);
    source_.read(piece.first, tokens.subspan(at, count));
    source_.read_targets(piece.first + 1, targets.subspan(at, size_t(targets_of(piece))));
    if (is_packed_) std::ranges::fill(first.subspan(at, count), int32_t(at));
    at += count;
  }
}

int64_t DocumentSamples::counted_in(int64_t sample) const {
  return sample < samples() ? plan_.counted[size_t(sample)] : 0;
}

std::vector<ShownIds> DocumentSamples::shown(int64_t position) const {
  std::vector<ShownIds> columns;
  const auto pieces = pieces_of(sample_at(position));
  for (const RowPiece& piece : pieces) {
    const std::string number = pieces.size() > 1 ? text('_', columns.size() / 2 + 1) : "";
    const size_t targets = size_t(targets_of(piece));
    ShownIds all{.name = "document" + number, .ids = {}, .is_text = true};
    ShownIds learnt{.name = "learnt" + number, .ids = {}, .is_text = true};
    all.ids.resize(targets + 1);
    learnt.ids.resize(targets);
    source_.read(piece.first, all.ids);
    source_.read_targets(piece.first + 1, learnt.ids);
    std::erase(learnt.ids, kNotCounted);
    learnt.is_text = learnt.ids.size() < targets;
    if (!learnt.is_text) learnt.words = "all behind its first token";
    columns.push_back(std::move(all));
    columns.push_back(std::move(learnt));
  }
  return columns;
}

}  // namespace zero
