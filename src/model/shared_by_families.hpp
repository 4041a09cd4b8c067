#pragma once
/// The parts that families share. All use the rows of the token table and of the classifier, and
/// the rule of heads. Encoder-decoders also share counts and names.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "zero/base/align.hpp"
#include "zero/base/text.hpp"
#include "zero/model/family.hpp"

namespace zero::model {

/// Position limit of models that see distances instead: none.
inline constexpr int64_t kAnyLength = 1 << 24;

/// Returns the rows of a table of tokens.
inline int64_t padded_rows(int64_t vocabulary) { return round_up<int64_t>(vocabulary, 64); }

/// Returns the rows that the classifier processes at a time: enough for products at full speed, few
/// enough for small logits.
inline int64_t classifier_rows(const ForwardOptions& options) {
  const int64_t most = options.chunk_rows > 0 ? options.chunk_rows : 1024;
  return std::min(options.micro.samples * options.micro.length, most);
}

/// Returns the rows that a classifier of `classes` processes at a time: those of
/// classifier_rows(options), but whole 64s whose logits take no more bytes than those of kClasses.
/// GPT-2, T5 and BlenderBot call the other function, because the chunk is part of their arithmetic.
inline int64_t classifier_rows(const ForwardOptions& options, int64_t classes) {
  constexpr int64_t kClasses = 65536, kRows = 64;  // 256 MiB of fp32 logits in 1024 rows
  const int64_t most = options.chunk_rows > 0 ? options.chunk_rows : 1024;
  const int64_t rows = classifier_rows(options);
  if (rows * classes <= most * kClasses) return rows;
  return std::min(rows, std::max(kRows, most * kClasses / classes / kRows * kRows));
}

/// Adds a layer norm with its parameters, `name`.weight and `name`.bias.
graph::TensorId layer_norm(graph::GraphBuilder& out, graph::TensorId x, const std::string& name,
                           float epsilon);

/// Returns the error text if model.heads does not divide model.width, else "".
inline std::string uneven_heads(const RunConfig& config) {
  const ModelNumbers numbers = model_numbers(config);
  const int64_t width = numbers.count("width"), heads = numbers.count("heads");
  if (heads == 0 || width % heads == 0) return "";
  return text("a width of ", width, " does not divide into ", counted(heads, "head"),
              "; write a width that is a multiple of heads");
}

/// Returns the error text if samples are longer than model.max_positions, else "".
std::string long_sequence(const RunConfig& config);
/// Throws Error(kUsage) if samples of `length` tokens, or a context of them, exceed a model's
/// positions.
void require_sample(int64_t length, int64_t positions);
void require_context(int64_t context, int64_t positions);

/// Returns the tokens of a text for the encoder.
int64_t source_length(const graph::MicroBatch& micro);

/// Returns the tokens of the longest source or target.
int64_t longest_text(const RunConfig& config);

/// The sizes of an encoder-decoder that determine its operations: layers, and elements of their
/// weights, including norms and biases.
struct StackCounts {
  int64_t layers, decoder_layers;
  int64_t width;
  int64_t attended;   ///< width of all heads together
  int64_t attention;  ///< elements of one attention; a decoder layer has two
  int64_t feed_forward, decoder_feed_forward;
  int64_t vocabulary;
};

/// Returns a sample's floating-point operations, forward and backward, divided by its targets.
double flops_per_target(const StackCounts& counts, const graph::MicroBatch& micro);

/// Returns the names ...q<end>, ...k<end>, ...v<end> of the tensors that stand side by side in a
/// parameter ...qkv<end> or ...kv<end>. Returns none for other names.
std::vector<std::string> unpacked(std::string_view name, std::string_view end);

/// Return values of "auto": the encoder's layers, and four times the width.
int64_t encoder_layers(const RunConfig& config);
int64_t four_widths(const RunConfig& config);

}  // namespace zero::model
