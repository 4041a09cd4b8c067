#pragma once
/// The parts that families share. All of them: rows of a table of tokens and of the classifier, the
/// rule of heads. What those with an encoder beside a decoder count and name alike stands here too.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "zero/base/align.hpp"
#include "zero/base/text.hpp"
#include "zero/model/family.hpp"

namespace zero::model {

/// Rows of a table of tokens.
inline int64_t padded_rows(int64_t vocabulary) { return round_up<int64_t>(vocabulary, 64); }

/// Rows that the classifier works on at a time: enough for a product to run at full speed, few
/// enough that logits stay small.
inline int64_t classifier_rows(const ForwardOptions& options) {
  const int64_t most = options.chunk_rows > 0 ? options.chunk_rows : 1024;
  return std::min(options.micro.samples * options.micro.length, most);
}

/// A broken rule of model.heads and model.width: heads are equal parts of the width.
inline std::string uneven_heads(const RunConfig& config) {
  const ModelNumbers numbers = model_numbers(config);
  const int64_t width = numbers.count("width"), heads = numbers.count("heads");
  if (heads == 0 || width % heads == 0) return "";
  return text("a width of ", width, " does not divide into ", counted(heads, "head"),
              "; write a width that is a multiple of heads");
}

/// Tokens of a text that the encoder reads.
int64_t source_length(const graph::MicroBatch& micro);

/// Tokens of the longest source or target.
int64_t longest_text(const RunConfig& config);

/// What the operations of an encoder and a decoder are counted by: layers of both, and elements of
/// the weights of each, those of norms and biases among them.
struct StackCounts {
  int64_t layers, decoder_layers;
  int64_t width;
  int64_t attended;   ///< width of all heads together
  int64_t attention;  ///< of one, of which a layer of the decoder has two
  int64_t feed_forward, decoder_feed_forward;
  int64_t vocabulary;
};

/// Floating-point operations of a sample's forward and backward pass for each of its targets.
double flops_per_target(const StackCounts& counts, const graph::MicroBatch& micro);

/// Queries, keys and values that stand side by side in a parameter ...qkv<end> or ...kv<end>: the
/// names of the tensors ...q<end>, ...k<end>, ...v<end> that hold them. Empty for other names.
std::vector<std::string> unpacked(std::string_view name, std::string_view end);

/// Values of "auto": as many layers as the encoder has, and four widths.
int64_t encoder_layers(const RunConfig& config);
int64_t four_widths(const RunConfig& config);

}  // namespace zero::model
