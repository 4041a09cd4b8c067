#pragma once
/// The graphs of the program. A recipe is a model, what it is trained on, and alterations of its
/// graphs.
/// graph_of() makes every graph.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "zero/config/run_config.hpp"
#include "zero/graph/graph.hpp"
#include "zero/model/family.hpp"

namespace zero::model {

/// A reason to make a graph.
enum class Purpose : uint8_t {
  train,     ///< forward pass with the loss, before differentiate()
  evaluate,  ///< as train, without dropout
  decode,    ///< continues texts, chunk by chunk
  store,     ///< has the parameters that files hold
  probe      ///< times steps of a small model: as train, without alterations
};

/// A change of graphs, as a value. It may add parameters, whose stored forms are in the graph.
struct Alteration {
  std::string name;  ///< for messages: the key that asks for it
  std::vector<Purpose> purposes;
  /// Returns a model's graph, made for one of the purposes, with the alteration. Throws
  /// Error(kUsage) if the alteration does not fit the model.
  std::function<graph::Graph(const Architecture&, graph::Graph)> apply;
  std::string fact = {};  ///< words of another network, "adapters of rank 4"; "": the same network
};

/// A kind of alteration, which settings ask for.
struct AlterationKind {
  /// Returns the alteration that a checked configuration asks for; none if it asks for none.
  std::optional<Alteration> (*asked)(const RunConfig&);
};

struct Recipe {
  Architecture model = {};
  const Objective* objective = nullptr;      ///< nullptr: whatever the family's own head learns
  std::vector<Alteration> alterations = {};  ///< in the order of their application
};

/// The sizes of a graph. Each purpose reads those that it needs.
struct GraphSizes {
  graph::MicroBatch micro = {.samples = 1, .length = 1};  ///< train, evaluate, probe
  graph::Chunk chunk = {};                                ///< decode
  Dtype compute = Dtype::f32;                             ///< train, evaluate, decode, probe
  int64_t chunk_rows = 0;      ///< most rows of the classifier at a time; 0: chosen by the shape
  int64_t head_unit = 1;       ///< train, evaluate: see graph::pad_heads()
  bool packed = false;         ///< train, evaluate: see ForwardOptions
  bool scores_tokens = false;  ///< evaluate: see graph::score_tokens()
};

/// Returns the graph of a recipe for `purpose`, of `sizes`. Throws Error(kUsage) if the model's
/// numbers do not fit together or to the sizes. Throws as require_decode() and the alterations.
graph::Graph graph_of(const Recipe& recipe, Purpose purpose, const GraphSizes& sizes = {});

/// Returns the recipe that a checked configuration asks for.
Recipe recipe_of(const RunConfig& config);

/// Throws Error(kUsage), naming a command that works, if the recipe's family or head writes no
/// texts.
void require_decode(const Recipe& recipe);

/// Returns the number of parameters of a recipe's model, with its head and alterations, without
/// padding.
int64_t parameter_count(const Recipe& recipe);

/// Returns the floating-point operations of a recipe's model for one of `micro.length` tokens,
/// forward and backward, with its share of a source and without recompute. Omits those of added
/// parameters.
double flops_per_token(const Recipe& recipe, const graph::MicroBatch& micro);

/// Returns a recipe's model as checkpoints describe it: "gpt2 of 2 layers of 64 with 2 heads, 256
/// tokens, 32 positions". It omits rates that only affect training.
std::string fact(const Recipe& recipe);

/// Returns a recipe's model in words for sentences, which include constants such as epsilon.
std::string words(const Recipe& recipe);

/// Returns the alteration that freezes parameters matching the patterns (ModelConfig::freeze) by
/// their own names or Hugging Face's. Its apply() throws Error(kUsage) if a pattern matches no
/// parameter or a part of one, or nothing is left to train.
Alteration freezing(std::vector<std::string> patterns);

}  // namespace zero::model
