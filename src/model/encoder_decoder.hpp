#pragma once
/// What families with an encoder beside a decoder have in common.

#include <string>
#include <string_view>
#include <vector>

#include "zero/model/family.hpp"

namespace zero::model {

/// Tokens of a text that the encoder reads.
int64_t source_length(const graph::MicroBatch& micro);

/// Tokens of the longest source or target.
int64_t longest_text(const RunConfig& config);

/// Queries, keys and values that stand side by side in a parameter ...qkv<end> or ...kv<end>: the
/// names of the tensors ...q<end>, ...k<end>, ...v<end> that hold them. Empty for other names.
std::vector<std::string> unpacked(std::string_view name, std::string_view end);

/// Refuses evaluation.show_samples; `size` is a model.name of the family.
Rule without_samples(std::string_view title, std::string_view size);

/// What "auto" comes to: as many layers as the encoder has, and four widths.
int64_t encoder_layers(const RunConfig& config);
int64_t four_widths(const RunConfig& config);

}  // namespace zero::model
