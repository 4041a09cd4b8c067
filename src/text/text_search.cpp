#include "src/text/text_search.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "zero/base/error.hpp"
#include "zero/text/continuation.hpp"

namespace zero::writing {
namespace {

/// Score of beams that do not count, below any log probability.
constexpr float kFar = -1e9f;
/// Score of a forbidden token.
constexpr float kNone = -std::numeric_limits<float>::infinity();

using Tokens = std::vector<int32_t>;

bool holds(std::span<const int32_t> tokens, int32_t token) {
  return std::ranges::find(tokens, token) != tokens.end();
}

/// The common part of both searches.
class Search : public TextSearch {
 public:
  Search(const SearchRules& rules, std::span<const int32_t> source,
         std::span<const int32_t> beginning)
      : rules_(rules),
        source_(source.begin(), source.end()),
        beginning_(int64_t(beginning.size())) {
    ZERO_REQUIRE(beginning_ > 0 && beginning_ < rules.scores.max_length, "a beginning of ",
                 beginning_, " tokens in a text of at most ", rules.scores.max_length);
  }

  std::span<const Tokens> rows() const override { return rows_; }
  std::span<const int32_t> parents() const override { return parents_; }
  bool ended() const override { return ended_; }

 protected:
  /// False if the rules leave the text no token, so it ends.
  bool apply(const Tokens& tokens, std::span<float> scores) const {
    const WrittenText text{.source = source_, .tokens = tokens, .beginning = beginning_};
    if (rules_.stuck != nullptr) return try_rules(rules_.scores, text, scores);
    apply_rules(rules_.scores, text, scores);
    return true;
  }
  /// True if a text of this length with this last token ends.
  bool ends(int64_t length, int32_t last) const {
    return holds(rules_.scores.eos_token_id, last) || length >= rules_.scores.max_length;
  }
  int64_t length() const { return int64_t(rows_.front().size()); }

  SearchRules rules_;
  Tokens source_;
  int64_t beginning_;
  std::vector<Tokens> rows_;
  std::vector<int32_t> parents_;
  bool ended_ = false;
};

/// A search that takes the likeliest token, or a drawn one.
class Path : public Search {
 public:
  Path(const SearchRules& rules, std::span<const int32_t> source,
       std::span<const int32_t> beginning)
      : Search(rules, source, beginning) {
    rows_.emplace_back(beginning.begin(), beginning.end());
    parents_ = {0};
  }

  void advance(std::span<const float> logits) override {
    std::vector<float> scores(logits.begin(), logits.end());
    if (!apply(rows_[0], scores)) return end_stuck();
    const int32_t token = choose_token(scores, rules_.choice, uint32_t(length() - beginning_));
    rows_[0].push_back(token);
    ended_ = ends(length(), token);
  }
  const Tokens& best() const override { return rows_[0]; }

 private:
  void end_stuck() {
    ended_ = true;
    ++*rules_.stuck;
  }
};

/// A row and a token that may follow it.
struct Candidate {
  float score;  ///< sum over all tokens after the beginning
  int32_t row, token;
};

/// Keeps the `count` largest in descending order, the first of equals.
template <class Item>
void keep_best(std::vector<Item>& items, size_t count) {
  std::ranges::stable_sort(items, std::ranges::greater{}, &Item::score);
  if (items.size() > count) items.resize(count);
}

/// The `count` largest candidates offered, in descending order, the first of equals.
class BestOf {
 public:
  explicit BestOf(size_t count) : count_(count) {}

  void offer(const Candidate& candidate) {
    if (best_.size() == count_ && !(candidate.score > best_.back().score)) return;
    const auto place =
        std::ranges::upper_bound(best_, candidate.score, std::ranges::greater{}, &Candidate::score);
    best_.insert(place, candidate);
    if (best_.size() > count_) best_.pop_back();
  }
  /// Returns the score that a new candidate must exceed.
  float least() const { return best_.size() < count_ ? kNone : best_.back().score; }
  bool is_full() const { return best_.size() == count_; }
  std::vector<Candidate> take() { return std::move(best_); }

 private:
  size_t count_;
  std::vector<Candidate> best_;
};

class Beams : public Search {
 public:
  Beams(const SearchRules& rules, std::span<const int32_t> source,
        std::span<const int32_t> beginning)
      : Search(rules, source, beginning) {
    const Tokens begun(beginning.begin(), beginning.end());
    rows_.assign(beams(), begun);
    finished_.assign(beams(), {.tokens = begun, .score = kFar});
    // All rows are equal, so only the first one's candidates count.
    scores_.assign(beams(), kFar);
    scores_[0] = 0;
    parents_.resize(beams());
  }

  void advance(std::span<const float> logits) override {
    const std::vector<Candidate> best = best_candidates(logits);
    finish(best);
    go_on(best);
    const bool all_end = std::ranges::all_of(best, [&](const Candidate& c) { return is_end(c); });
    ++written_;
    look_ahead();
    const bool is_full = all_finished() && rules_.early_stopping == BeamEnd::yes;
    ended_ = !may_improve_ || is_full || all_end || !(best.front().score > kNone);
    if (ended_ && finished_.front().is_stuck) ++*rules_.stuck;
  }
  const Tokens& best() const override { return finished_.front().tokens; }

 private:
  struct Finished {
    Tokens tokens;
    float score;
    bool is_text = false;   ///< false: a free place
    bool is_stuck = false;  ///< ended because the rules left no token
  };

  size_t beams() const { return size_t(rules_.num_beams); }
  bool is_end(const Candidate& c) const { return ends(beginning_ + written_ + 1, c.token); }
  bool all_finished() const { return std::ranges::all_of(finished_, &Finished::is_text); }
  float divisor(int64_t new_tokens) const {
    return float(std::pow(double(new_tokens), rules_.length_penalty));
  }

  /// Returns the number of candidates that suffices for all beams, whatever ends.
  size_t candidates() const {
    return std::max<size_t>(2, 1 + rules_.scores.eos_token_id.size()) * beams();
  }

  /// Returns the best candidates. Candidates of a row without an allowed token rank below all
  /// others.
  std::vector<Candidate> best_candidates(std::span<const float> logits) {
    const size_t vocabulary = logits.size() / beams();
    BestOf best(candidates());
    stuck_.clear();
    std::vector<float> scores;
    for (size_t row = 0; row < beams(); ++row) {
      const auto of_row = logits.subspan(row * vocabulary, vocabulary);
      scores.assign(of_row.begin(), of_row.end());
      to_log_softmax(scores);
      if (!apply(rows_[row], scores)) stuck_.push_back(row);
      for (size_t token = 0; token < vocabulary; ++token) {
        const float score = scores[token] + scores_[row];
        if (best.is_full() && !(score > best.least())) continue;
        best.offer({.score = score, .row = int32_t(row), .token = int32_t(token)});
      }
    }
    return best.take();
  }

  Tokens continued(const Candidate& candidate) const {
    Tokens tokens = rows_[size_t(candidate.row)];
    tokens.push_back(candidate.token);
    return tokens;
  }

  /// Ends at most as many texts as there are beams. Further candidates only serve to go on.
  void finish(const std::vector<Candidate>& best) {
    const bool is_closed =
        !may_improve_ || (all_finished() && rules_.early_stopping == BeamEnd::yes);
    if (is_closed) return;
    for (const size_t row : stuck_) finish_stuck(row);
    for (size_t i = 0; i < std::min(best.size(), beams()); ++i) {
      if (!is_end(best[i])) continue;
      finished_.push_back({.tokens = continued(best[i]),
                           .score = best[i].score / divisor(written_ + 1),
                           .is_text = true});
    }
    keep_best(finished_, beams());
  }

  void finish_stuck(size_t row) {
    const bool counts = scores_[row] > kFar;
    if (!counts) return;
    finished_.push_back({.tokens = rows_[row],
                         .score = scores_[row] / divisor(std::max<int64_t>(written_, 1)),
                         .is_text = true,
                         .is_stuck = true});
  }

  void go_on(const std::vector<Candidate>& best) {
    std::vector<Candidate> running = best;
    for (Candidate& candidate : running) {
      if (is_end(candidate)) candidate.score += kFar;
    }
    keep_best(running, beams());
    std::vector<Tokens> rows;
    for (size_t row = 0; row < running.size(); ++row) {
      rows.push_back(continued(running[row]));
      scores_[row] = running[row].score;
      parents_[row] = running[row].row;
    }
    rows_ = std::move(rows);
  }

  /// Updates may_improve_: true while a running text can beat the worst ended one.
  void look_ahead() {
    const bool longest = rules_.early_stopping == BeamEnd::never && rules_.length_penalty > 0;
    const int64_t length = longest ? rules_.scores.max_length - beginning_ : written_;
    const float possible = scores_[0] / divisor(length);
    const float worst = all_finished() ? finished_.back().score : kFar;
    may_improve_ = may_improve_ && possible > worst;
  }

  std::vector<float> scores_;       ///< [rows]
  std::vector<size_t> stuck_;       ///< rows without an allowed token now
  std::vector<Finished> finished_;  ///< best first
  int64_t written_ = 0;             ///< tokens after the beginning
  bool may_improve_ = true;
};

}  // namespace

std::unique_ptr<TextSearch> search_text(const SearchRules& rules, std::span<const int32_t> source,
                                        std::span<const int32_t> beginning) {
  if (rules.num_beams > 1) return std::make_unique<Beams>(rules, source, beginning);
  return std::make_unique<Path>(rules, source, beginning);
}

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
  // The first row that continues a cache keeps it, so no cache is read and overwritten.
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

/// Copies to a slot the tokens that differ. Equal tokens have equal bits in both caches.
void CachedSearch::fill_slot(int32_t slot, int32_t from, std::span<const int32_t> tokens) {
  std::vector<int32_t>& held = held_[size_t(slot)];
  const auto [here, there] = std::ranges::mismatch(held, tokens);
  const int32_t same = int32_t(there - tokens.begin());
  held.assign(tokens.begin(), tokens.end());
  if (same == int32_t(tokens.size())) return;
  moves_.push_back(
      {.from = cache(from), .to = cache(slot), .begin = same, .end = int32_t(tokens.size())});
}

}  // namespace zero::writing
