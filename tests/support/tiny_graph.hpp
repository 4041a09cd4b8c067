#pragma once
/// A graph with every kind of op and small round numbers: 2 samples of 3 tokens, width 4, 2 heads,
/// 5 classes padded to 8. A layer is layernorm, linear to 12, attention, GELU, linear, dropout_add.

#include <string>

#include "zero/graph/graph_builder.hpp"
#include "zero/graph/operations.hpp"

namespace zero::graph {

inline TensorId tiny_linear(GraphBuilder& out, TensorId x, const std::string& name, Shape shape) {
  const TensorId weight = out.parameter({.name = name + ".weight", .shape = shape});
  const TensorId bias = out.parameter({.name = name + ".bias", .shape = {shape[1]}});
  return linear(out, x, weight, bias);
}

inline TensorId tiny_norm(GraphBuilder& out, TensorId x, const std::string& name) {
  const TensorId weight = out.parameter({.name = name + ".weight", .shape = {4}});
  const TensorId bias = out.parameter({.name = name + ".bias", .shape = {4}});
  return layernorm(out, x, weight, bias, 1e-5f);
}

inline TensorId tiny_layer(GraphBuilder& out, TensorId x, const std::string& name, float dropout) {
  out.block(name);
  const TensorId normed = tiny_norm(out, x, name + ".ln");
  const TensorId qkv = tiny_linear(out, normed, name + ".up", {4, 12});
  const TensorId bent = gelu(out, attention(out, qkv, {.heads = 2, .dropout = dropout}));
  const TensorId down = tiny_linear(out, bent, name + ".down", {4, 4});
  return dropout_add(out, down, x, dropout, name);
}

/// An input of ids below 5, one a token.
inline TensorId tiny_ids(GraphBuilder& out, const std::string& name) {
  return out.input({.name = name, .sample = {out.length()}, .ids = 5});
}

inline Graph tiny_forward(int layers, float dropout, Dtype compute = Dtype::f32) {
  GraphBuilder out({.samples = 2, .length = 3}, compute);
  out.unit("embedding");
  const TensorId wte = out.parameter({.name = "wte", .shape = {8, 4}, .padding_rows = 3});
  const TensorId wpe = out.parameter({.name = "wpe", .shape = {10, 4}});
  TensorId x = embedding(out, tiny_ids(out, "tokens"), wte, wpe);
  for (int i = 0; i < layers; ++i) x = tiny_layer(out, x, "h." + std::to_string(i), dropout);
  out.unit("embedding");
  classifier(out, tiny_norm(out, x, "ln_f"), wte, tiny_ids(out, "targets"), 5, 6);
  return out.finish();
}

/// The kinds of the graph's ops, one a word.
inline std::string kinds(const Graph& graph) {
  std::string words;
  for (const Op& op : graph.ops) {
    if (!words.empty()) words += ' ';
    words += op.kind->name;
  }
  return words;
}

/// The first op of a kind.
inline const Op& first(const Graph& graph, OpKind kind) {
  for (const Op& op : graph.ops) {
    if (op.kind == kind) return op;
  }
  ZERO_REQUIRE(false, "the graph has no ", kind->name);
  return graph.ops[0];
}

}  // namespace zero::graph
