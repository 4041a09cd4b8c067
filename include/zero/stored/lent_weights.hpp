#pragma once
/// The borrowed weights of a run: it reads them from the model that it begins with and does not
/// save them. Checkpoints keep a digest of them.

#include <span>
#include <string>

#include "zero/graph/graph.hpp"
#include "zero/save/checkpointer.hpp"
#include "zero/stored/stored_model.hpp"

namespace zero::stored {

/// Returns digests of a rank's share of the borrowed parameters of `graph` as the model holds them.
/// Reads the share.
std::string lent_share(const StoredModel& model, const graph::Graph& graph, int rank, int ranks);
/// Returns the digest of all borrowed parameters from the shares of all ranks, by rank. It has 32
/// hexadecimal digits, which do not depend on the number of ranks.
std::string lent_digest(std::span<const std::string> shares);

/// Throws Error(kInput), naming both, if `digest`, of the model's weights, is not the one in the
/// facts of the checkpoint in `folder`.
void require_lent(const StoredModel& model, const std::string& digest, const save::Facts& facts,
                  const std::string& folder);

}  // namespace zero::stored
