#include "src/model/t5.hpp"

#include <cmath>

#include "src/model/shared_by_families.hpp"
#include "zero/base/text.hpp"
#include "zero/graph/operations.hpp"

namespace zero::model {
namespace {

using graph::GraphBuilder;
using graph::Init;
using graph::ParameterSpec;
using graph::TensorId;

/// Returns 1 / sqrt(n), the factor that keeps the size of a sum of n products.
float shrink(int64_t n) { return float(1 / std::sqrt(double(n))); }

struct Builder {
  const T5& model;
  GraphBuilder& out;
  float dropout;                         ///< 0 in evaluation
  int64_t source_length, target_length;  ///< tokens of a text; maximum if texts are continued

  int64_t attended() const { return model.heads * model.head_width; }

  TensorId drop(TensorId x, const std::string& name) {
    return dropout > 0 ? graph::dropout_add(out, x, graph::kNone, dropout, name) : x;
  }

  TensorId norm(TensorId x, const std::string& name) {
    const TensorId weight = out.parameter(
        {.name = name + ".weight", .shape = {model.width}, .decays = false, .init = Init::ones});
    return graph::rmsnorm(out, x, weight, model.epsilon);
  }

  TensorId linear(TensorId x, const ParameterSpec& weight) {
    return graph::linear(out, x, out.parameter(weight), graph::kNone);
  }

  TensorId table(const std::string& name) {
    const int64_t rows = padded_rows(model.vocabulary);
    return out.parameter({.name = name,
                          .shape = {rows, model.width},
                          .deviation = 1,
                          .padding_rows = rows - model.vocabulary});
  }

  TensorId ids(const std::string& name, int64_t length) {
    const int64_t rows = out.continues() ? out.length() : length;
    return out.input({.name = name, .sample = {rows}, .ids = model.vocabulary});
  }

  /// Returns the bias that every layer of a stack adds to its scores.
  TensorId bias(const std::string& stack, int64_t length, bool bidirectional) {
    const TensorId buckets = out.parameter(
        {.name = stack + ".block.0.layer.0.SelfAttention.relative_attention_bias.weight",
         .shape = {model.buckets, model.heads},
         .decays = false,
         .deviation = shrink(model.width)});
    return graph::relative_bias(out, buckets,
                                {.queries = length,
                                 .keys = length,
                                 .max_distance = model.distance,
                                 .bidirectional = bidirectional});
  }

  /// Adds a layer's branch to the residual stream.
  TensorId join(TensorId branch, TensorId x, const std::string& name) {
    return graph::clamp_f16(out, graph::dropout_add(out, branch, x, dropout, name));
  }

  TensorId projection(TensorId mixed, const std::string& name) {
    return linear(mixed, {.name = name + ".o.weight",
                          .shape = {attended(), model.width},
                          .deviation = shrink(attended())});
  }

  TensorId self_attention(TensorId x, const std::string& layer,
                          const graph::AttentionOptions& options) {
    const std::string name = layer + ".SelfAttention";
    const TensorId qkv = linear(norm(x, layer + ".layer_norm"),
                                {.name = name + ".qkv.weight",
                                 .shape = {model.width, 3 * attended()},
                                 .deviation = shrink(model.width),
                                 .front_columns = attended(),
                                 .front_deviation = shrink(model.width * model.head_width)});
    return join(projection(graph::attention(out, qkv, options), name), x, layer);
  }

  TensorId cross_attention(TensorId x, TensorId encoded, const std::string& layer,
                           const graph::AttentionOptions& options) {
    const std::string name = layer + ".EncDecAttention";
    const TensorId q = linear(norm(x, layer + ".layer_norm"),
                              {.name = name + ".q.weight",
                               .shape = {model.width, attended()},
                               .deviation = shrink(model.width * model.head_width)});
    out.turn_to(graph::Side::source);
    const TensorId kv = linear(encoded, {.name = name + ".kv.weight",
                                         .shape = {model.width, 2 * attended()},
                                         .deviation = shrink(model.width)});
    out.turn_to(graph::Side::text);
    return join(projection(graph::cross_attention(out, q, kv, options), name), x, layer);
  }

  TensorId wide(TensorId x, const std::string& name) {
    return linear(x, {.name = name + ".weight",
                      .shape = {model.width, model.inner},
                      .deviation = shrink(model.width)});
  }

  TensorId feed_forward(TensorId x, const std::string& layer) {
    const std::string name = layer + ".DenseReluDense";
    const TensorId in = norm(x, layer + ".layer_norm");
    TensorId hidden = graph::kNone;
    if (model.gated) {
      const TensorId gate = graph::gelu(out, wide(in, name + ".wi_0"));
      hidden = graph::multiply(out, gate, wide(in, name + ".wi_1"));
    } else {
      hidden = graph::relu(out, wide(in, name + ".wi"));
    }
    const TensorId narrow = linear(drop(hidden, name), {.name = name + ".wo.weight",
                                                        .shape = {model.inner, model.width},
                                                        .deviation = shrink(model.inner)});
    return join(narrow, x, layer);
  }

  graph::AttentionOptions attention_options() const {
    return {.heads = model.heads, .dropout = dropout, .causal = false, .divisor = 1};
  }

  /// Ends a stack with its norm.
  TensorId finish(TensorId x, const std::string& stack) {
    out.unit("shared");
    return drop(norm(x, stack + ".final_layer_norm"), stack + ".final");
  }

  TensorId encoder(TensorId tokens, TensorId counts) {
    out.turn_to(graph::Side::source);
    TensorId x =
        drop(graph::embedding(out, ids("source", source_length), tokens, graph::kNone), "encoder");
    graph::AttentionOptions options = attention_options();
    options.bias = bias("encoder", source_length, true);
    options.key_counts = counts;
    for (int64_t i = 0; i < model.layers; ++i) {
      const std::string name = text("encoder.block.", i);
      out.block(name);
      x = self_attention(x, name + ".layer.0", options);
      x = feed_forward(x, name + ".layer.1");
    }
    x = finish(x, "encoder");
    out.turn_to(graph::Side::text);
    return x;
  }

  TensorId decoder(TensorId tokens, TensorId encoded, TensorId counts) {
    TensorId x = drop(graph::embedding(out, ids("previous", target_length), tokens, graph::kNone),
                      "decoder");
    graph::AttentionOptions own = attention_options(), across = attention_options();
    own.causal = true;
    own.bias = bias("decoder", target_length, false);
    across.key_counts = counts;
    for (int64_t i = 0; i < model.decoder_layers; ++i) {
      const std::string name = text("decoder.block.", i);
      out.block(name);
      x = self_attention(x, name + ".layer.0", own);
      x = cross_attention(x, encoded, name + ".layer.1", across);
      x = feed_forward(x, name + ".layer.2");
    }
    return finish(x, "decoder");
  }

  /// Returns the classifier's table.
  TensorId head(TensorId tokens) {
    if (model.tied) return tokens;
    out.unit("lm_head");
    return table("lm_head.weight");
  }

  float logit_scale() const {
    return model.tied != model.scales_otherwise ? shrink(model.width) : 1.0f;
  }
};

Builder builder_of(GraphBuilder& out, const T5& model, const ForwardOptions& options) {
  const float dropout = options.training ? model.dropout : 0.0f;
  return {model, out, dropout, source_length(options.micro), options.micro.length};
}

void check(const T5& model) {
  if (model.buckets % 4 == 0) return;
  refuse(Exit::kUsage, counted(model.buckets, "bucket"),
         " of distances: half of them are for keys ",
         "behind a query and half of those for single distances, so write a multiple of 4");
}

/// The parameter counts of one layer of each kind, including its norm.
struct LayerCounts {
  explicit LayerCounts(const T5& model)
      : attention(model.width + 4 * model.width * model.heads * model.head_width),
        feed_forward(model.width + (model.gated ? 3 : 2) * model.width * model.inner) {}

  int64_t attention, feed_forward;
};

}  // namespace

int64_t parameter_count(const T5& model) {
  const LayerCounts each(model);
  const int64_t tables = (model.tied ? 1 : 2) * model.vocabulary * model.width;
  return tables + 2 * model.buckets * model.heads + 2 * model.width +
         model.layers * (each.attention + each.feed_forward) +
         model.decoder_layers * (2 * each.attention + each.feed_forward);
}

Trunk t5_trunk(GraphBuilder& out, const T5& model, const ForwardOptions& options) {
  check(model);
  Builder builder = builder_of(out, model, options);
  out.unit("shared");
  const TensorId tokens = builder.table("shared.weight");
  const TensorId counts = out.input({.name = "source_count", .sample = {1}});
  return {.last = builder.decoder(tokens, builder.encoder(tokens, counts), counts),
          .table = tokens};
}

void t5_head(GraphBuilder& out, const T5& model, const Trunk& trunk,
             const ForwardOptions& options) {
  Builder builder = builder_of(out, model, options);
  const TensorId next = builder.ids("next", out.length());
  graph::classifier(out, trunk.last, builder.head(trunk.table), next,
                    {.vocabulary = model.vocabulary,
                     .chunk_rows = classifier_rows(options),
                     .logit_scale = builder.logit_scale(),
                     .label_smoothing = options.training ? model.smoothing : 0.0f});
}

graph::Graph t5_decode(const T5& model, const graph::Chunk& chunk, Dtype compute) {
  check(model);
  GraphBuilder out(chunk, compute);
  Builder builder{model, out, 0.0f, chunk.source_context, chunk.context};
  out.unit("shared");
  const TensorId tokens = builder.table("shared.weight"), counts = graph::kNone;
  const TensorId last = builder.decoder(tokens, builder.encoder(tokens, counts), counts);
  graph::logits(out, last, builder.head(tokens),
                {.vocabulary = model.vocabulary, .scale = builder.logit_scale()});
  return out.finish();
}

double flops_per_target(const T5& model, const graph::MicroBatch& micro) {
  const LayerCounts each(model);
  return flops_per_target({.layers = model.layers,
                           .decoder_layers = model.decoder_layers,
                           .width = model.width,
                           .attended = model.heads * model.head_width,
                           .attention = each.attention,
                           .feed_forward = each.feed_forward,
                           .decoder_feed_forward = each.feed_forward,
                           .vocabulary = model.vocabulary},
                          micro);
}

}  // namespace zero::model
