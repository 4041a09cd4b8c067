#include "zero/state/set_scores.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "zero/base/error.hpp"

namespace zero::state {
namespace {

/// The bits of a score that another rank has: the greatest number, so that the smallest of all
/// ranks' bits is the score.
constexpr int32_t kElsewhere = std::numeric_limits<int32_t>::max();
constexpr size_t kPieceScores = size_t(1) << 14;

void require_room(int64_t samples, int64_t labels) {
  if (samples <= SetScores::kMost / labels) return;
  refuse(Exit::kInput, "data.max_validation_samples: metrics of labels keep the scores of all ",
         samples, " samples, ", labels, " each, and at most ", SetScores::kMost,
         " scores are kept; write ", SetScores::kMost / labels, " or less");
}

}  // namespace

SetScores::SetScores(const Dataset& validation, int64_t labels)
    : validation_(validation), labels_(labels) {
  const int64_t samples = validation.samples();
  require_room(samples, labels);
  scores_.resize(size_t(samples * labels));
  truths_.resize(size_t(samples));
  for (int64_t at = 0; at < samples; ++at)
    truths_[size_t(validation.sample_at(at))] = validation.label(at);
  room_.resize(size_t(model::room_numel(samples, labels)));
  piece_.resize(std::min(kPieceScores, scores_.size()));
  clear();
}

void SetScores::clear() { std::ranges::fill(scores_, std::bit_cast<float>(kElsewhere)); }

void SetScores::take(int64_t first, std::span<const float> scores) {
  const int64_t count = int64_t(scores.size()) / labels_;
  const int64_t end = std::min(first + count, validation_.samples());
  for (int64_t at = first; at < end; ++at) {
    const auto row = scores.subspan(size_t((at - first) * labels_), size_t(labels_));
    std::ranges::copy(row, scores_.begin() + validation_.sample_at(at) * labels_);
  }
}

void SetScores::share(const launch::Peers& peers) {
  if (peers.ranks() == 1) return;
  for (size_t first = 0; first < scores_.size(); first += piece_.size()) {
    const size_t count = std::min(piece_.size(), scores_.size() - first);
    std::memcpy(piece_.data(), &scores_[first], count * sizeof(float));
    peers.smallest(std::span(piece_).first(count));
    std::memcpy(&scores_[first], piece_.data(), count * sizeof(float));
  }
}

model::LabelScores SetScores::view() {
  return {.labels = labels_, .scores = scores_, .truths = truths_, .room = room_};
}

}  // namespace zero::state
