#pragma once
/// Keys whose value is a list of patterns for names of parameters.

#include <span>
#include <string>
#include <vector>

#include "zero/graph/graph.hpp"
#include "zero/model/family.hpp"

namespace zero::model {

/// The patterns of one key. They match a parameter's own name, with the family's prefix or behind
/// model/ too, or its names in Hugging Face's files. * matches any letters, ? matches one.
struct Patterns {
  const char* key;
  std::span<const std::string> patterns;
  const char* whole;  ///< for the refusal of a part of a parameter: "trained or frozen"
};

/// Returns for each parameter of `graph`, a graph of the model, if a pattern matches it. Throws
/// Error(kUsage) if a pattern matches no parameter, or only some of a parameter's tensors in
/// Hugging Face's files.
std::vector<bool> matched(const Architecture& model, const graph::Graph& graph,
                          const Patterns& patterns);

/// Returns a note on each pattern that matches a shared table by another of its names, with the
/// table that it freezes. Returns "" if none does. `forward` is a graph of the model for training
/// or evaluation.
std::string shared_names_text(const Architecture& model, std::span<const std::string> patterns,
                              const graph::Graph& forward);

}  // namespace zero::model
