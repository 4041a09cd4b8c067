#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "zero/launch/peers.hpp"
#include "zero/state/state_view.hpp"
#include "zero/text/text_generator.hpp"

namespace zero::writing {

/// Returns texts for all `sources`, on every rank and in their order, from a recipe's model in
/// training, whose weights the views hold. Each rank takes all fp32 master weights or, if they are
/// held together, its part. Rank r writes the texts of sources r, r + ranks, ... Texts do not
/// depend on the number of ranks or on how weights are held. Collective. REQUIRES: all ranks give
/// the same sources, and nothing else uses `peers` meanwhile.
std::vector<TokenList> generate_texts(const state::StateView& view, const launch::Peers& peers,
                                      const model::Recipe& recipe, const GenerationOptions& options,
                                      std::span<const TokenList> sources);

/// Returns texts for all `sources` as generate_texts(), by a generator that has its weights, on
/// each rank or held together. The first source is number `first` of a seed's draws. Collective.
std::vector<TokenList> write_by_ranks(TextGenerator& generator, const launch::Peers& peers,
                                      std::span<const TokenList> sources, int64_t first = 0);

/// Warns, on rank 0, of texts that ended because rules left no token: `stuck` on this rank, of
/// `count` on all. Collective.
void warn_of_stuck(const launch::Peers& peers, int64_t stuck, int64_t count);

/// Returns rank 0's texts on every rank. Throws Error(kInput) if they are too large to share.
/// Collective.
std::vector<TokenList> shared_by_first(const launch::Peers& peers,
                                       std::span<const TokenList> texts);

}  // namespace zero::writing
