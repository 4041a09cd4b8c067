#pragma once
/// A recipe says what is trained: a model, and what is altered in its graphs. graph_of() makes
/// every graph of the program.

#include <cstdint>
#include <functional>
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
  evaluate,  ///< the same without dropout
  decode,    ///< continues texts, chunk by chunk
  store,     ///< its parameters are what files hold
  probe      ///< times steps of a small model: as train, without alterations
};

/// A change of graphs, as a value.
struct Alteration {
  std::string name;  ///< for messages: the key that asks for it
  std::vector<Purpose> purposes;
  /// Returns the altered graph of one of its purposes. Throws Error(kUsage) where the alteration
  /// does not fit the model.
  std::function<graph::Graph(const Architecture&, graph::Graph)> apply;
};

struct Recipe {
  Architecture model = {};
  std::vector<Alteration> alterations = {};  ///< in the order in which they are applied
};

/// The sizes of a graph. A purpose reads those that it needs.
struct GraphSizes {
  graph::MicroBatch micro = {.samples = 1, .length = 1};  ///< train, evaluate, probe
  graph::Chunk chunk = {};                                ///< decode
  Dtype compute = Dtype::f32;                             ///< train, evaluate, decode, probe
  int64_t chunk_rows = 0;  ///< of the classifier, at most; 0: chosen from the shape alone
  int64_t head_unit = 1;   ///< train, evaluate: see graph::pad_heads()
};

/// Returns the graph of a recipe. Throws Error(kUsage) where the model's numbers do not fit
/// together or to the sizes, and as require_decode() and the alterations do.
graph::Graph graph_of(const Recipe& recipe, Purpose purpose, const GraphSizes& sizes = {});

/// Returns the recipe that a checked configuration asks for.
Recipe recipe_of(const RunConfig& config);

/// Returns the alteration that freezes what patterns mean (ModelConfig::freeze), by a parameter's
/// own name or those of Hugging Face's files. It throws Error(kUsage) for a pattern that means no
/// parameter, or a part of one, and where nothing is left to train.
Alteration freezing(std::vector<std::string> patterns);

/// Says which patterns mean a shared table by another of its names, and what is frozen with it; ""
/// if none does. `forward` is any graph of the model for training or evaluation.
std::string shared_names_text(const Architecture& model, std::span<const std::string> patterns,
                              const graph::Graph& forward);

}  // namespace zero::model
