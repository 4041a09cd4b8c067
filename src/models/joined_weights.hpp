#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "zero/launch/peers.hpp"
#include "zero/state/state_view.hpp"

namespace zero::models {

/// Gives `set` all fp32 master weights of a model while it is trained, on each of the first
/// `holders` ranks: the index of a parameter, the first element of a piece, and its elements
/// without padding. Where there is one holder a piece has at most 4 MiB, else it is the whole
/// parameter. Nothing else may use `peers` meanwhile. Collective.
void join_weights(const state::StateView& view, const launch::Peers& peers, int holders,
                  const std::function<void(int32_t, int64_t, std::span<const float>)>& set);

}  // namespace zero::models
