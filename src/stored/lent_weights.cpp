#include "zero/stored/lent_weights.hpp"

#include <span>
#include <vector>

#include "zero/base/digests.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/save/checkpoint_facts.hpp"

namespace zero::stored {
namespace {

constexpr size_t kDigits = 2 * sizeof(Xxh3Digest);

std::string digest_of(const StoredModel& model, const std::string& parameter, int64_t numel) {
  Xxh3 digest;
  digest.add(std::as_bytes(std::span(parameter)));
  read_pieces(model, parameter, 0, numel,
              [&](int64_t, std::span<const float> piece) { digest.add(std::as_bytes(piece)); });
  return hex_of(digest.digest());
}

}  // namespace

std::string lent_share(const StoredModel& model, const graph::Graph& graph, int rank, int ranks) {
  std::string digests;
  int number = 0;
  for (const graph::Parameter& parameter : graph.parameters) {
    if (!parameter.borrowed || number++ % ranks != rank) continue;
    digests += digest_of(model, graph[parameter.tensor].name, parameter.real_numel);
  }
  return digests;
}

std::string lent_digest(std::span<const std::string> shares) {
  std::string all;
  for (size_t at = 0; at < shares[0].size(); at += kDigits) {
    for (const std::string& share : shares) {
      if (at < share.size()) all += share.substr(at, kDigits);
    }
  }
  return hex_of(xxh3_of(std::as_bytes(std::span(all))));
}

void require_lent(const StoredModel& model, const std::string& digest, const save::Facts& facts,
                  const std::string& folder) {
  const auto saved = facts.find(save::kLentFact);
  const std::string there = saved == facts.end() ? "none" : saved->second;
  if (there == digest) return;
  refuse(Exit::kInput, "model.init_from: ", model.path(), ": the digest of its weights is ", digest,
         ", and ", folder, " was trained on weights of the digest ", there,
         " - restore those, or begin anew");
}

}  // namespace zero::stored
