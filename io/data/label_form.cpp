#include "io/data/label_form.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "zero/base/text.hpp"

namespace zero {

std::vector<DataColumn> LabelForm::columns() const {
  return {{.name = "tokens", .numel = length},
          {.name = "token_count", .numel = 1},
          {.name = "labels", .dtype = is_real ? Dtype::f32 : Dtype::i32, .numel = 1}};
}

std::string LabelForm::words() const { return text("at most ", length, " tokens and a label"); }

LengthPair longest_first(const LengthPair& lengths, int64_t most) {
  if (lengths.tokens() <= most) return lengths;
  const bool is_first_longer = lengths.source > lengths.target;
  int64_t shorter = std::min(lengths.source, lengths.target);
  int64_t longer = shorter > most ? shorter : std::max(shorter, most - shorter);
  if (shorter + longer > most) {
    shorter = most / 2;
    longer = most - shorter;
  }
  return is_first_longer ? LengthPair{longer, shorter} : LengthPair{shorter, longer};
}

LabelDataset::LabelDataset(const LabelForm& form, std::vector<std::string> classes, int64_t samples,
                           std::optional<uint64_t> shuffle_seed)
    : Dataset(form.columns(), samples, shuffle_seed), form_(form), classes_(std::move(classes)) {}

double LabelDataset::label(int64_t position) const {
  const int64_t sample = sample_at(position);
  return sample < samples() ? label_of(sample) : Dataset::label(position);
}

void LabelDataset::read_sample(int64_t sample, ColumnSpans out) const {
  const std::span<int32_t> tokens = values_in<int32_t>(out[0]);
  const bool is_there = sample < samples();
  const int64_t count = is_there ? copy_ids(sample, tokens) : 0;
  std::fill(tokens.begin() + count, tokens.end(), form_.pad);
  // A missing sample keeps one token, so that attention has a key.
  values_in<int32_t>(out[1])[0] = int32_t(std::max<int64_t>(count, 1));
  if (form_.is_real) {
    const float none = std::numeric_limits<float>::quiet_NaN();
    values_in<float>(out[2])[0] = is_there ? float(label_of(sample)) : none;
  } else {
    values_in<int32_t>(out[2])[0] = is_there ? int32_t(label_of(sample)) : kNotCounted;
  }
}

std::vector<DataColumn> LabelDataset::columns_for(const LengthPair& lengths) const {
  LabelForm form = form_;
  form.length = lengths.target;
  return form.columns();
}

std::vector<ShownIds> LabelDataset::shown(int64_t position) const {
  std::vector<ShownIds> columns = Dataset::shown(position);
  ShownIds& tokens = columns[0];
  tokens.ids.resize(size_t(columns[1].ids[0]));
  tokens.is_text = true;
  const double label = this->label(position);
  const std::string words = label != label     ? "none"
                            : classes_.empty() ? text(label)
                                               : classes_[size_t(label)];
  return {std::move(tokens), {.name = "label", .ids = {}, .words = words}};
}

}  // namespace zero
