#include "src/model/blenderbot.hpp"

#include <algorithm>
#include <cmath>

#include "src/model/shared_by_families.hpp"
#include "zero/base/text.hpp"
#include "zero/graph/operations.hpp"

namespace zero::model {
namespace {

using graph::GraphBuilder;
using graph::Init;
using graph::TensorId;

struct Builder {
  const Blenderbot& model;
  GraphBuilder& out;
  float dropout;  ///< 0 in evaluation
  int64_t source_length;

  TensorId norm(TensorId x, const std::string& name) {
    return layer_norm(out, x, name, model.epsilon);
  }

  TensorId linear(TensorId x, const std::string& name, const Shape& shape) {
    const TensorId weight = out.parameter({.name = name + ".weight", .shape = shape});
    const TensorId bias = out.parameter(
        {.name = name + ".bias", .shape = {shape[1]}, .decays = false, .init = Init::zeros});
    return graph::linear(out, x, weight, bias);
  }

  /// Projects `x` to queries (1 part), keys and values (2), or all three (3).
  TensorId heads_of(TensorId x, const std::string& name, int64_t parts) {
    return linear(x, name, {model.width, parts * model.width});
  }

  TensorId join(TensorId branch, TensorId x, const std::string& name) {
    return graph::dropout_add(out, branch, x, dropout, name);
  }

  TensorId projected(TensorId mixed, TensorId x, const std::string& name) {
    return join(linear(mixed, name + ".out_proj", {model.width, model.width}), x, name);
  }

  TensorId self_attention(TensorId x, const std::string& block,
                          const graph::AttentionOptions& options) {
    const std::string name = block + ".self_attn";
    const TensorId qkv = heads_of(norm(x, name + "_layer_norm"), name + ".qkv_proj", 3);
    return projected(graph::attention(out, qkv, options), x, name);
  }

  TensorId cross_attention(TensorId x, TensorId encoded, const std::string& block,
                           const graph::AttentionOptions& options) {
    const std::string name = block + ".encoder_attn";
    const TensorId q = heads_of(norm(x, name + "_layer_norm"), name + ".q_proj", 1);
    out.turn_to(graph::Side::source);
    const TensorId kv = heads_of(encoded, name + ".kv_proj", 2);
    out.turn_to(graph::Side::text);
    return projected(graph::cross_attention(out, q, kv, options), x, name);
  }

  TensorId feed_forward(TensorId x, const std::string& block, int64_t inner) {
    const TensorId hidden =
        linear(norm(x, block + ".final_layer_norm"), block + ".fc1", {model.width, inner});
    return join(linear(graph::gelu_erf(out, hidden), block + ".fc2", {inner, model.width}), x,
                block);
  }

  TensorId embedded(const std::string& stack, TensorId ids, TensorId tokens) {
    const TensorId places = out.parameter(
        {.name = stack + ".embed_positions.weight", .shape = {model.positions, model.width}});
    const TensorId x =
        graph::embedding(out, ids, tokens, places, float(std::sqrt(double(model.width))));
    return dropout > 0 ? graph::dropout_add(out, x, graph::kNone, dropout, stack) : x;
  }

  TensorId finish(TensorId x, const std::string& stack) {
    out.unit("shared");
    return norm(x, stack + ".layer_norm");
  }

  TensorId ids(const std::string& name, int64_t length) {
    const int64_t rows = out.continues() ? out.length() : length;
    return out.input({.name = name, .sample = {rows}, .ids = model.vocabulary});
  }

  graph::AttentionOptions attention_options() const {
    return {.heads = model.heads, .causal = false};
  }

  TensorId encoder(TensorId tokens, TensorId counts) {
    const std::string stack = "model.encoder";
    out.turn_to(graph::Side::source);
    TensorId x = embedded(stack, ids("source", source_length), tokens);
    graph::AttentionOptions options = attention_options();
    options.key_counts = counts;
    for (int64_t i = 0; i < model.layers; ++i) {
      const std::string name = text(stack, ".layers.", i);
      out.block(name);
      x = self_attention(x, name, options);
      x = graph::clamp_f16(out, feed_forward(x, name, model.inner));
    }
    x = finish(x, stack);
    out.turn_to(graph::Side::text);
    return x;
  }

  TensorId decoder(TensorId tokens, TensorId encoded, TensorId counts) {
    const std::string stack = "model.decoder";
    TensorId x = embedded(stack, ids("previous", out.length()), tokens);
    graph::AttentionOptions own = attention_options(), across = attention_options();
    own.causal = true;
    across.key_counts = counts;
    for (int64_t i = 0; i < model.decoder_layers; ++i) {
      const std::string name = text(stack, ".layers.", i);
      out.block(name);
      x = self_attention(x, name, own);
      x = cross_attention(x, encoded, name, across);
      x = feed_forward(x, name, model.decoder_inner);
    }
    return finish(x, stack);
  }
};

void check_heads(const Blenderbot& model) {
  if (model.width % model.heads != 0) {
    refuse(Exit::kUsage, "a width of ", model.width, " does not split into ", model.heads,
           " heads: change model.width or model.heads");
  }
}

void check(const Blenderbot& model, const graph::MicroBatch& micro) {
  check_heads(model);
  const int64_t longest = std::max(micro.length, source_length(micro));
  if (longest <= model.positions) return;
  refuse(Exit::kUsage, "texts of ", longest, " tokens, but the model has ", model.positions,
         " positions: shorten data.source_length and data.target_length or raise "
         "model.max_positions");
}

void check(const Blenderbot& model, const graph::Chunk& chunk) {
  check_heads(model);
  const int64_t longest = std::max(chunk.context, chunk.source_context);
  if (longest <= model.positions) return;
  refuse(Exit::kUsage, "texts of ", longest, " tokens, but the model has ", model.positions,
         " positions: ask for at most as many tokens, behind a source of no more");
}

/// The tables that both stacks and the head read.
struct Tables {
  TensorId tokens, bias;
};
Tables tables(const Blenderbot& model, GraphBuilder& out, bool own_head = true) {
  out.unit("shared");
  const int64_t rows = padded_rows(model.vocabulary);
  const TensorId tokens = out.parameter({.name = "model.shared.weight",
                                         .shape = {rows, model.width},
                                         .padding_rows = rows - model.vocabulary});
  if (!own_head) return {tokens, graph::kNone};
  const TensorId bias = out.parameter({.name = "final_logits_bias",
                                       .shape = {rows},
                                       .decays = false,
                                       .init = Init::zeros,
                                       .padding_rows = rows - model.vocabulary});
  return {tokens, bias};
}

/// The parameter counts of one layer of each kind, including its norm.
struct LayerCounts {
  explicit LayerCounts(const Blenderbot& model)
      : attention(4 * model.width * model.width + 6 * model.width),
        feed_forward((2 * model.width + 1) * model.inner + 3 * model.width),
        decoder_feed_forward((2 * model.width + 1) * model.decoder_inner + 3 * model.width) {}

  int64_t attention, feed_forward, decoder_feed_forward;
};

}  // namespace

int64_t parameter_count(const Blenderbot& model) {
  const LayerCounts each(model);
  return (model.vocabulary + 2 * model.positions + 4) * model.width +
         model.layers * (each.attention + each.feed_forward) +
         model.decoder_layers * (2 * each.attention + each.decoder_feed_forward);
}

Trunk blenderbot_trunk(GraphBuilder& out, const Blenderbot& model, const ForwardOptions& options) {
  check(model, options.micro);
  const float dropout = options.training ? model.dropout : 0.0f;
  Builder builder{model, out, dropout, source_length(options.micro)};
  const auto [tokens, bias] = tables(model, out, options.own_head);
  const TensorId counts = out.input({.name = "source_count", .sample = {1}});
  return {.last = builder.decoder(tokens, builder.encoder(tokens, counts), counts),
          .table = tokens,
          .bias = bias};
}

void blenderbot_head(GraphBuilder& out, const Blenderbot& model, const Trunk& trunk,
                     const ForwardOptions& options) {
  const TensorId next =
      out.input({.name = "next", .sample = {out.length()}, .ids = model.vocabulary});
  graph::classifier(out, trunk.last, trunk.table, next,
                    {.vocabulary = model.vocabulary,
                     .chunk_rows = classifier_rows(options),
                     .label_smoothing = options.training ? model.smoothing : 0.0f,
                     .logit_bias = trunk.bias});
}

graph::Graph blenderbot_decode(const Blenderbot& model, const graph::Chunk& chunk, Dtype compute) {
  check(model, chunk);
  GraphBuilder out(chunk, compute);
  Builder builder{model, out, 0.0f, chunk.source_context};
  const auto [tokens, bias] = tables(model, out);
  const TensorId counts = graph::kNone;
  const TensorId last = builder.decoder(tokens, builder.encoder(tokens, counts), counts);
  graph::logits(out, last, tokens, {.vocabulary = model.vocabulary, .bias = bias});
  return out.finish();
}

double flops_per_target(const Blenderbot& model, const graph::MicroBatch& micro) {
  const LayerCounts each(model);
  return flops_per_target({.layers = model.layers,
                           .decoder_layers = model.decoder_layers,
                           .width = model.width,
                           .attended = model.width,
                           .attention = each.attention,
                           .feed_forward = each.feed_forward,
                           .decoder_feed_forward = each.decoder_feed_forward,
                           .vocabulary = model.vocabulary},
                          micro);
}

}  // namespace zero::model
