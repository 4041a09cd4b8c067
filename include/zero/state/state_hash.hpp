#pragma once

#include <string>

#include "zero/launch/peers.hpp"
#include "zero/state/state_view.hpp"

namespace zero::state {

/// SHA-256 of the state of training as one stream of little-endian fp32: for each parameter in the
/// order of names its master and the optimizer's states, without padding. The same at every stage,
/// rank count and precision that computes the same numbers. One thread of rank 0 hashes, 1 to 2
/// GB/s. Collective; the digest is on rank 0, "" elsewhere.
std::string state_sha256(const StateView& view, const launch::Peers& peers);

/// The same numbers in the same order, hashed by `threads` threads of each rank, as fast as memory
/// or the way from a device gives them. Each parameter's master and states are cut from their first
/// element on into blocks of 4 MiB of fp32, the last of which may be shorter. The digest is
/// XXH3-128 of the blocks' XXH3-128, one behind the other; it depends neither on threads nor on
/// ranks, stage or homes. 32 hexadecimal digits on rank 0, "" elsewhere. Collective.
///
/// Where ranks hold copies of one state, they share its blocks out, so that a copy that differs
/// from the others shows.
std::string state_xxh3(const StateView& view, const launch::Peers& peers, int threads);

}  // namespace zero::state
