#include "io/data/pair_form.hpp"

#include <algorithm>

#include "zero/base/text.hpp"

namespace zero {

std::vector<DataColumn> PairForm::columns() const {
  return {{.name = "source", .numel = source_length},
          {.name = "source_count", .numel = 1},
          {.name = "previous", .numel = target_length},
          {.name = "next", .numel = target_length}};
}

PairForm PairForm::of_lengths(const LengthPair& lengths) const {
  PairForm form = *this;
  form.source_length = lengths.source;
  form.target_length = lengths.target;
  return form;
}

std::string PairForm::words() const {
  return text("at most ", source_length, " + ", target_length, " tokens");
}

void PairColumns::finish(int64_t sources, int64_t targets) const {
  std::fill(source_.begin() + sources, source_.end(), form_.pad);
  count_ = int32_t(std::max<int64_t>(sources, 1));
  std::fill(next_.begin() + targets, next_.end(), Dataset::kNotCounted);
  previous_[0] = form_.start;
  for (size_t i = 1; i < previous_.size(); ++i) {
    previous_[i] = next_[i - 1] == Dataset::kNotCounted ? form_.pad : next_[i - 1];
  }
}

std::vector<ShownIds> PairDataset::shown(int64_t position) const {
  std::vector<ShownIds> columns = Dataset::shown(position);
  ShownIds& source = columns[0];
  ShownIds& targets = columns[3];
  source.ids.resize(size_t(columns[1].ids[0]));
  std::erase(targets.ids, kNotCounted);
  source.is_text = targets.is_text = true;
  return {std::move(source), {.name = "start", .ids = {columns[2].ids[0]}}, std::move(targets)};
}

}  // namespace zero
