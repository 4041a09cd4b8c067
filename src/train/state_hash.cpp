#include "zero/train/state_hash.hpp"

#include "zero/base/sha256.hpp"
#include "zero/train/state_reader.hpp"

namespace zero::train {

std::string state_sha256(const StateView& view, const Peers& peers) {
  Sha256 hash;
  for (int32_t parameter : parameters_by_name(view.plan->graphs[0])) {
    for (StateKind kind : {StateKind::master, StateKind::momentum, StateKind::variance}) {
      join_state(view, peers, kind, parameter,
                 [&](std::span<const float> piece) { hash.add(std::as_bytes(piece)); });
    }
  }
  return view.rank == 0 ? hash.digest() : "";
}

}  // namespace zero::train
