#pragma once

#include <string>

#include "zero/train/peers.hpp"
#include "zero/train/state_view.hpp"

namespace zero::train {

/// SHA-256 of the state of training as one stream of little-endian fp32: for each parameter in the
/// order of names its master, momentum and variance, without padding. The same at every stage, rank
/// count and precision that computes the same numbers. Collective; the digest is on rank 0, ""
/// elsewhere.
std::string state_sha256(const StateView& view, const Peers& peers);

}  // namespace zero::train
