#include "src/model/deberta.hpp"

#include <array>
#include <utility>

#include "src/model/shared_by_families.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/graph/operations.hpp"

namespace zero::model {
namespace {

using graph::GraphBuilder;
using graph::Init;
using graph::TensorId;

/// Weight and bias of a projection, which may have several uses.
struct Projection {
  TensorId weight, bias;
};

graph::DistanceRange range_of(const Deberta& model) {
  return {.buckets = model.buckets, .most_distance = model.distance};
}

struct Builder {
  const Deberta& model;
  GraphBuilder& out;
  float dropout;  ///< 0 in evaluation
  graph::RowRange rows;
  TensorId counts = graph::kNone;     ///< of tokens
  TensorId distances = graph::kNone;  ///< normed rows of the table
  TensorId first = graph::kNone;      ///< input of the first layer

  Projection projection(const std::string& name, int64_t in, int64_t extent) {
    const TensorId weight = out.parameter({.name = name + ".weight", .shape = {in, extent}});
    return {weight,
            out.parameter(
                {.name = name + ".bias", .shape = {extent}, .decays = false, .init = Init::zeros})};
  }

  TensorId project(TensorId x, const Projection& by) {
    return graph::linear(out, x, by.weight, by.bias);
  }

  TensorId linear(TensorId x, const std::string& name, int64_t extent) {
    return project(x, projection(name, out[x].shape[1], extent));
  }

  TensorId norm(TensorId x, const std::string& name) {
    return layer_norm(out, x, name + ".LayerNorm", model.epsilon);
  }

  TensorId drop(TensorId x, const std::string& name) {
    return dropout > 0 ? graph::dropout_add(out, x, graph::kNone, dropout, name) : x;
  }

  /// Adds a branch to x and norms the sum.
  TensorId join(TensorId branch, TensorId x, const std::string& name) {
    return norm(graph::dropout_add(out, branch, x, dropout, name), name);
  }

  void embed() {
    out.unit("embeddings");
    const int64_t length = out.length(), padded = padded_rows(model.vocabulary);
    const TensorId ids = out.input({.name = "tokens", .sample = {length}, .ids = model.vocabulary});
    counts = out.input({.name = "token_count", .sample = {1}});
    words = out.parameter({.name = "embeddings.word_embeddings.weight",
                           .shape = {padded, model.width},
                           .padding_rows = padded - model.vocabulary});
    const TensorId normed = norm(graph::embedding(out, ids, words), "embeddings");
    first = drop(graph::clear_padding(out, normed, counts), "embeddings");
    const TensorId table = out.parameter(
        {.name = "encoder.rel_embeddings.weight", .shape = {2 * model.buckets, model.width}});
    distances = norm(graph::take_rows(out, table, rows), "encoder");
  }

  /// Queries and keys of tokens and of distances have the same projections.
  TensorId attention(TensorId x, const std::string& name) {
    const TensorId positions = graph::drop_rows(out, distances, rows, dropout);
    const auto by = [&](const char* part) {
      return projection(name + ".self." + part + "_proj", model.width, model.width);
    };
    const Projection query = by("query"), key = by("key"), value = by("value");
    const TensorId q = project(x, query), k = project(x, key), v = project(x, value);
    const TensorId position_keys = project(positions, key);
    const TensorId mixed = graph::disentangled_attention(
        out,
        {.q = q,
         .k = k,
         .v = v,
         .position_keys = position_keys,
         .position_queries = project(positions, query)},
        {.heads = model.heads, .range = range_of(model), .dropout = dropout, .key_counts = counts});
    return join(linear(mixed, name + ".output.dense", model.width), x, name + ".output");
  }

  TensorId feed_forward(TensorId x, const std::string& name) {
    const TensorId hidden =
        graph::gelu_erf(out, linear(x, name + ".intermediate.dense", model.inner));
    return join(linear(hidden, name + ".output.dense", model.width), x, name + ".output");
  }

  /// Adds the convolution of the first layer's input to its output. Padding counts as zeros.
  TensorId convolve(TensorId x) {
    const std::string name = "encoder.conv";
    const TensorId places = linear(graph::neighbour_rows(out, first), name + ".conv", model.width);
    const TensorId dropped = drop(graph::clear_padding(out, places, counts), name);
    const TensorId sum = graph::add(out, x, graph::gelu_erf(out, dropped), name + ".sum");
    return graph::clear_padding(out, norm(sum, name), counts);
  }

  TensorId layers() {
    TensorId x = first;
    for (int64_t i = 0; i < model.layers; ++i) {
      const std::string name = text("encoder.layer.", i);
      out.block(name);
      x = feed_forward(attention(x, name + ".attention"), name);
      if (i == 0 && model.convolves) x = convolve(x);
    }
    return x;
  }

  /// Returns the logits of each sample.
  TensorId classify(TensorId x) {
    out.unit("head");
    const TensorId pooled =
        graph::gelu_erf(out, linear(graph::first_rows(out, x), "pooler.dense", model.width));
    return linear(drop(pooled, "pooler"), "classifier", model.labels);
  }

  TensorId words = graph::kNone;
};

Builder builder_of(GraphBuilder& out, const Deberta& model, const ForwardOptions& options) {
  return {.model = model,
          .out = out,
          .dropout = options.training ? model.dropout : 0.0f,
          .rows = graph::rows_by_distance(range_of(model), options.micro.length)};
}

void check(const Deberta& model) {
  if (model.width % model.heads != 0) {
    refuse(Exit::kUsage, "a width of ", model.width, " does not divide into ",
           counted(model.heads, "head"), ": write a width that is a multiple of heads");
  }
  if (model.buckets < 2 || model.distance < least_distance(model.buckets)) {
    refuse(Exit::kUsage, counted(model.buckets, "bucket"), " of distances up to ", model.distance,
           ": write 2 buckets or more, and a distance above half of them and one");
  }
}

/// The elements of weights that each token of a layer meets.
double weights_of_layer(const Deberta& model) {
  const auto width = double(model.width);
  return 4 * width * width + 2 * width * double(model.inner);
}

}  // namespace

int64_t parameter_count(const Deberta& model) {
  const int64_t width = model.width, norm = 2 * width, square = width * width + width;
  const int64_t layer = 4 * square + 2 * norm + 2 * width * model.inner + model.inner + width;
  const int64_t tables = (model.vocabulary + 2 * model.buckets) * width + 2 * norm;
  const int64_t convolution = model.convolves ? 3 * width * width + width + norm : 0;
  return tables + model.layers * layer + convolution + square + model.labels * (width + 1);
}

Trunk deberta_trunk(GraphBuilder& out, const Deberta& model, const ForwardOptions& options) {
  check(model);
  Builder builder = builder_of(out, model, options);
  builder.embed();
  return {.last = builder.layers(), .table = builder.words};
}

void deberta_head(GraphBuilder& out, const Deberta& model, const Trunk& trunk,
                  const ForwardOptions& options) {
  const bool is_number = model.labels == 1;
  const TensorId logits = builder_of(out, model, options).classify(trunk.last);
  const TensorId labels = out.input({.name = "labels",
                                     .sample = {1},
                                     .dtype = is_number ? Dtype::f32 : Dtype::i32,
                                     .ids = is_number ? 0 : model.labels});
  const graph::LabelOperands of{.logits = logits, .labels = labels, .scores = !options.training};
  is_number ? graph::squared_loss(out, of) : graph::class_loss(out, of);
}

double flops_per_token(const Deberta& model, const graph::MicroBatch& micro) {
  const auto width = double(model.width), length = double(micro.length);
  const auto rows = double(graph::rows_by_distance(range_of(model), micro.length).count);
  const double tokens = length * double(micro.samples);
  const double table = 2 * rows * width * width / tokens;  // a token's share of both projections
  const double layer = weights_of_layer(model) + table + 2 * (length + rows) * width;
  const double convolution = model.convolves ? 3 * width * width : 0;
  const double head = width * (width + double(model.labels)) / length;
  return 6 * (double(model.layers) * layer + convolution + head);
}

}  // namespace zero::model
