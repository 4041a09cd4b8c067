#include <algorithm>
#include <numeric>
#include <utility>

#include "src/models/text_search.hpp"

namespace zero::models {

void CachedSearch::begin(int64_t index, std::unique_ptr<TextSearch> search,
                         std::span<const int32_t> source) {
  index_ = index;
  search_ = std::move(search);
  source_ = source;
  is_read_ = begun_ = false;
  fed_ = 0;
  slots_.resize(search_->rows().size());
  std::iota(slots_.begin(), slots_.end(), 0);
  held_.assign(slots_.size(), {});
  moves_.clear();
}

kernels::ChunkRow CachedSearch::at(int32_t text, size_t position) const {
  return {.text = text,
          .position = int32_t(position),
          .source = place_,
          .source_keys = int32_t(source_.size())};
}

void CachedSearch::add_source(std::vector<TokenRow>& rows) {
  for (size_t i = 0; i < source_.size(); ++i) rows.push_back({source_[i], at(place_, i)});
  is_read_ = true;
}

void CachedSearch::add_rows(int64_t most, std::vector<TokenRow>& rows) {
  const auto texts = search_->rows();
  if (begun_) {
    for (size_t row = 0; row < slots_.size(); ++row)
      rows.push_back({texts[row].back(), at(cache(slots_[row]), texts[row].size() - 1)});
    return;
  }
  // All rows begin alike, so one cache is enough.
  const std::vector<int32_t>& beginning = texts[0];
  const size_t end = std::min(beginning.size(), fed_ + size_t(most));
  for (; fed_ < end; ++fed_) rows.push_back({beginning[fed_], at(cache(0), fed_)});
}

int64_t CachedSearch::wanted() const {
  if (begun_) return int64_t(slots_.size());
  return fed_ == search_->rows()[0].size() ? 1 : 0;
}

void CachedSearch::take(std::span<const float> logits) {
  const size_t rows = slots_.size();
  if (begun_ || rows == 1) {
    search_->advance(logits);
  } else {
    std::vector<float> alike;
    for (size_t row = 0; row < rows; ++row) alike.insert(alike.end(), logits.begin(), logits.end());
    search_->advance(alike);
    std::ranges::fill(slots_, 0);
  }
  begun_ = true;
  if (!search_->ended()) place_rows();
}

void CachedSearch::place_rows() {
  const auto texts = search_->rows();
  const auto parents = search_->parents();
  std::vector<int32_t> next(slots_.size(), -1), unused;
  std::vector<bool> taken(held_.size(), false);
  const auto tokens_of = [&](size_t row) {
    return std::span<const int32_t>(texts[row]).first(texts[row].size() - 1);
  };
  moves_.clear();
  // The first row that goes on from a cache keeps it, so none is both read and overwritten.
  for (size_t row = 0; row < next.size(); ++row) {
    const int32_t slot = slots_[size_t(parents[row])];
    if (taken[size_t(slot)]) continue;
    taken[size_t(slot)] = true;
    held_[size_t(slot)].assign(tokens_of(row).begin(), tokens_of(row).end());
    next[row] = slot;
  }
  for (int32_t slot = 0; slot < int32_t(taken.size()); ++slot) {
    if (!taken[size_t(slot)]) unused.push_back(slot);
  }
  for (size_t row = 0; row < next.size(); ++row) {
    if (next[row] >= 0) continue;
    next[row] = unused.back();
    unused.pop_back();
    fill_slot(next[row], slots_[size_t(parents[row])], tokens_of(row));
  }
  slots_ = std::move(next);
}

/// What both caches hold of the same tokens has the same bits, and stays.
void CachedSearch::fill_slot(int32_t slot, int32_t from, std::span<const int32_t> tokens) {
  std::vector<int32_t>& held = held_[size_t(slot)];
  const auto [here, there] = std::ranges::mismatch(held, tokens);
  const int32_t same = int32_t(there - tokens.begin());
  held.assign(tokens.begin(), tokens.end());
  if (same == int32_t(tokens.size())) return;
  moves_.push_back(
      {.from = cache(from), .to = cache(slot), .begin = same, .end = int32_t(tokens.size())});
}

}  // namespace zero::models
