#include "src/models/joined_weights.hpp"

#include <algorithm>
#include <vector>

namespace zero::models {
namespace {

/// Elements that go from rank to rank at a time.
constexpr size_t kPiece = 1 << 20;

/// From rank 0 to the other holders, each of which hands it on to the next one.
void hand_on(const launch::Peers& peers, int holders, std::span<float> values) {
  if (peers.rank() >= holders) return;
  for (size_t begin = 0; begin < values.size(); begin += kPiece) {
    const auto piece = values.subspan(begin, std::min(kPiece, values.size() - begin));
    if (peers.rank() > 0) peers.receive(piece, peers.rank() - 1);
    if (peers.rank() + 1 < holders) peers.send(piece, peers.rank() + 1);
  }
}

}  // namespace

void join_weights(const state::StateView& view, const launch::Peers& peers, int holders,
                  const std::function<void(int32_t, int64_t, std::span<const float>)>& set) {
  const std::vector<graph::Parameter>& parameters = view.plan->graphs[0].parameters;
  std::vector<float> whole;
  for (size_t p = 0; p < parameters.size() && holders > 1; ++p)
    whole.reserve(size_t(parameters[p].real_numel));
  for (size_t p = 0; p < parameters.size(); ++p) {
    whole.clear();
    int64_t first = 0;
    const auto take = [&](std::span<const float> piece) {
      if (holders > 1) return void(whole.insert(whole.end(), piece.begin(), piece.end()));
      set(int32_t(p), first, piece);
      first += int64_t(piece.size());
    };
    state::join_state(view, peers, state::StateKind::master, int32_t(p), take);
    if (holders == 1 || peers.rank() >= holders) continue;
    whole.resize(size_t(parameters[p].real_numel));
    hand_on(peers, holders, whole);
    set(int32_t(p), 0, whole);
  }
}

}  // namespace zero::models
