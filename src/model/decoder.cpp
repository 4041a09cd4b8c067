#include "src/model/decoder.hpp"

#include <cmath>

#include "src/model/shared_by_families.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/graph/operations.hpp"

namespace zero::model {
namespace {

using graph::GraphBuilder;
using graph::Init;
using graph::TensorId;

/// The tables of rotations of a graph.
struct Turns {
  TensorId full = graph::kNone, sliding = graph::kNone;
  TensorId queries = graph::kNone;  ///< of queries, if they grow with positions
};

struct Builder {
  const Decoder& model;
  GraphBuilder& out;
  float dropout;                  ///< 0 in evaluation
  int64_t length;                 ///< positions of a text
  TensorId first = graph::kNone;  ///< see kFirstInput
  Turns turns = {};

  const DecoderRow& row() const { return *model.row; }

  TensorId vector(const std::string& name, int64_t numel, Init init) {
    return out.parameter({.name = name, .shape = {numel}, .decays = false, .init = init});
  }

  TensorId norm_weight(const std::string& name, int64_t numel) {
    return vector(name + ".weight", numel, row().one_plus ? Init::zeros : Init::ones);
  }

  float offset() const { return row().one_plus ? 1.0f : 0.0f; }

  TensorId norm(TensorId x, const std::string& name) {
    return graph::rmsnorm(out, x, norm_weight(name, model.width), model.epsilon, offset());
  }

  struct Product {
    std::string name;
    int64_t in, out;
    bool has_bias = false;
  };
  TensorId linear(TensorId x, const Product& of) {
    const TensorId weight = out.parameter(
        {.name = of.name + ".weight", .shape = {of.in, of.out}, .deviation = model.deviation});
    const TensorId bias =
        of.has_bias ? vector(of.name + ".bias", of.out, Init::zeros) : graph::kNone;
    return graph::linear(out, x, weight, bias);
  }

  TensorId table(const std::string& name) {
    const int64_t rows = padded_rows(model.vocabulary);
    return out.parameter({.name = name,
                          .shape = {rows, model.width},
                          .deviation = model.deviation,
                          .padding_rows = rows - model.vocabulary});
  }

  graph::PackedHeads heads() const { return {model.heads, model.key_heads}; }

  /// Adds the tables of rotations that any layer reads.
  Turns make_turns() {
    const RopeExtent extent{model.head_width, model.positions, length};
    graph::RotaryTable full = rotary_of(model.rope, extent);
    Turns made{.full = graph::rotary_table(out, full)};
    made.sliding = made.full;
    if (row().has_two_ropes) {
      const Rope plain{.theta = model.local_theta, .share = model.rope.share};
      made.sliding = graph::rotary_table(out, rotary_of(plain, extent));
    }
    if (model.query_growth == 0) return made;
    const double original = model.rope.original > 0 ? model.rope.original : double(model.positions);
    for (int64_t p = 0; p < length; ++p) {
      full.position_factors.push_back(1 + model.query_growth *
                                              std::log1p(std::floor(double(p) / original)));
    }
    made.queries = graph::rotary_table(out, full);
    return made;
  }

  TensorId norm_keys(TensorId qkv, const std::string& name) {
    const bool whole = row().key_norm == KeyNorm::whole;
    const int64_t width = model.head_width;
    const TensorId query =
        norm_weight(text(name, ".", row().query_norm_name), whole ? model.heads * width : width);
    const TensorId key =
        norm_weight(text(name, ".", row().key_norm_name), whole ? model.key_heads * width : width);
    return graph::head_norm(out, qkv,
                            {.packed = heads(),
                             .query_weight = query,
                             .key_weight = key,
                             .epsilon = model.epsilon,
                             .offset = offset(),
                             .whole = whole});
  }

  TensorId turn(TensorId qkv, size_t layer) {
    if (!model.turns[layer]) return qkv;
    return graph::rotate(out, qkv,
                         {.packed = heads(),
                          .table = model.slides[layer] ? turns.sliding : turns.full,
                          .query_table = turns.queries,
                          .first = first});
  }

  /// Adds attention with the products before and after it.
  TensorId attention(TensorId x, const std::string& name, size_t layer) {
    TensorId qkv =
        linear(x, {name + ".qkv_proj", model.width, model.packed_width(), model.has_bias});
    const KeyNorm norm = row().key_norm;
    if (norm == KeyNorm::before_turn || norm == KeyNorm::whole) qkv = norm_keys(qkv, name);
    qkv = turn(qkv, layer);
    if (norm == KeyNorm::behind_turn) qkv = norm_keys(qkv, name);
    const TensorId mixed = graph::attention(out, qkv,
                                            {.heads = model.heads,
                                             .dropout = dropout,
                                             .divisor = model.divisor,
                                             .key_heads = model.key_heads,
                                             .window = model.slides[layer] ? model.window : 0,
                                             .cap = model.attention_cap,
                                             .first = first});
    return linear(mixed, {name + ".o_proj", model.heads * model.head_width, model.width,
                          model.has_output_bias});
  }

  TensorId feed_forward(TensorId x, const std::string& name) {
    const std::string wide = name + (model.is_gated() ? ".gate_up_proj" : ".up_proj");
    const int64_t columns = (model.is_gated() ? 2 : 1) * model.inner;
    TensorId hidden = linear(x, {wide, model.width, columns, model.has_feed_bias});
    switch (row().feed_forward) {
      case FeedForward::silu:
        hidden = graph::gated(out, hidden, graph::Gate::silu);
        break;
      case FeedForward::gelu:
        hidden = graph::gated(out, hidden, graph::Gate::gelu_tanh);
        break;
      case FeedForward::squared_relu:
        hidden = graph::squared_relu(out, hidden);
        break;
    }
    return linear(hidden, {name + ".down_proj", model.inner, model.width, model.has_feed_bias});
  }

  /// Adds a branch to the residual stream.
  TensorId join(TensorId branch, TensorId x, const std::string& name) {
    const float rate = row().drops_residuals ? dropout : 0.0f;
    if (model.residual_scale == 1) return graph::dropout_add(out, branch, x, rate, name);
    return graph::add_to_columns(out, x, branch, {.scale = model.residual_scale});
  }

  TensorId block(TensorId x, size_t layer) {
    const std::string name = text("layers.", layer), attention_name = name + ".self_attn";
    const NormPlace place = row().norms;
    out.block(name);
    TensorId h = place == NormPlace::behind ? x : norm(x, name + ".input_layernorm");
    h = attention(h, attention_name, layer);
    if (place != NormPlace::before) h = norm(h, name + ".post_attention_layernorm");
    const TensorId middle = join(h, x, attention_name);
    h = middle;
    if (place == NormPlace::before) h = norm(h, name + ".post_attention_layernorm");
    if (place == NormPlace::both) h = norm(h, name + ".pre_feedforward_layernorm");
    h = feed_forward(h, name + ".mlp");
    if (place != NormPlace::before) h = norm(h, name + ".post_feedforward_layernorm");
    return join(h, middle, name);
  }

  /// Adds the layers from tokens to the final norm.
  Trunk trunk(bool packed) {
    out.unit("embedding");
    const TensorId embedding = table("embed_tokens.weight");
    const TensorId tokens =
        out.input({.name = "tokens", .sample = {out.length()}, .ids = model.vocabulary});
    if (packed) first = out.input({.name = kFirstInput, .sample = {out.length()}});
    turns = make_turns();
    TensorId x = graph::embedding(out, tokens, embedding,
                                  {.scale = embedding_scale(), .still = model.padding});
    for (int64_t i = 0; i < model.layers; ++i) x = block(x, size_t(i));
    out.unit("embedding");
    return {.last = norm(x, "norm"), .table = embedding};
  }

  /// Returns the scale of embeddings, which Transformers rounds to the compute type.
  float embedding_scale() const {
    if (!row().scales_embedding || out.compute() == Dtype::f32) return model.embedding_scale;
    return out.compute() == Dtype::bf16 ? float(bf16(model.embedding_scale))
                                        : float(f16(model.embedding_scale));
  }

  /// Returns the classifier's table.
  TensorId head(TensorId embedding) {
    if (model.tied) return embedding;
    out.unit("lm_head");
    return table("lm_head.weight");
  }
};

void check(const Decoder& model) {
  const std::string misfit = misfit_of(model);
  if (!misfit.empty()) refuse(Exit::kUsage, misfit);
}

}  // namespace

std::string misfit_of(const Decoder& model) {
  if (model.layers < 1 || model.width < 1 || model.heads < 1 || model.inner < 1)
    return "a decoder needs at least one layer, head and column";
  if (approximate_parameters(model) > kMostParameters) {
    return text("a model of ", kMostParameters, " parameters or more is not built; write smaller ",
                "layers, width, heads, head_width, inner or vocab_size");
  }
  if (model.heads % model.key_heads != 0) {
    return text(counted(model.heads, "head"), " do not divide into ", model.key_heads,
                " heads of keys; write key_heads that divides heads");
  }
  if (model.head_width < 2 || model.head_width % 2 != 0) {
    return text("heads of ", model.head_width,
                " columns do not turn in pairs; write an even head_width");
  }
  if (model.row->divides_width && model.width % model.heads != 0) {
    return text("a width of ", model.width, " does not divide into ", counted(model.heads, "head"),
                "; write a width that is a multiple of heads");
  }
  return "";
}

Trunk decoder_trunk(GraphBuilder& out, const Decoder& model, const ForwardOptions& options) {
  check(model);
  require_sample(options.micro.length, model.positions);
  const float dropout = options.training ? model.dropout : 0.0f;
  return Builder{model, out, dropout, options.micro.length}.trunk(options.packed);
}

void decoder_head(GraphBuilder& out, const Decoder& model, const Trunk& trunk,
                  const ForwardOptions& options) {
  const TensorId targets =
      out.input({.name = "targets", .sample = {out.length()}, .ids = model.vocabulary});
  const TensorId table = Builder{model, out, 0.0f, options.micro.length}.head(trunk.table);
  graph::classifier(out, trunk.last, table, targets,
                    {.vocabulary = model.vocabulary,
                     .chunk_rows = classifier_rows(options, model.vocabulary),
                     .logit_scale = model.logit_scale,
                     .cap = model.logit_cap,
                     .skips = true});
}

graph::Graph decoder_decode(const Decoder& model, const graph::Chunk& chunk, Dtype compute) {
  check(model);
  require_context(chunk.context, model.positions);
  if (model.rope.type == RopeType::longrope && double(chunk.context) > model.rope.original) {
    refuse(Exit::kUsage, "a context of ", chunk.context, " tokens: the model turns by other ",
           "frequencies beyond ", int64_t(model.rope.original),
           ", which no cache spans: ask for at most as many tokens");
  }
  GraphBuilder out(chunk, compute);
  Builder builder{model, out, 0.0f, chunk.context};
  const Trunk trunk = builder.trunk(false);
  graph::logits(
      out, trunk.last, builder.head(trunk.table),
      {.vocabulary = model.vocabulary, .scale = model.logit_scale, .cap = model.logit_cap});
  return out.finish();
}

}  // namespace zero::model
