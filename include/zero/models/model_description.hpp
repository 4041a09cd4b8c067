#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "zero/model/family.hpp"

namespace zero::models {

/// What config.json of a model folder says: Hugging Face's keys of a model of its family, and an
/// object "zeroapp" of our own, without which a folder is read as well.
struct ModelDescription {
  model::Architecture model = {};
  Dtype compute = Dtype::f32;    ///< that it was trained in; torch_dtype
  std::string tokenizer = {};    ///< "bytes", a folder as open_tokenizer() takes, or "": not known
  int64_t sequence_length = 0;   ///< of its training data
  int64_t evaluation_micro = 0;  ///< samples a rank evaluated at a time; 0 = not known
};

/// Reads the text of a config.json, `name` being for messages. Throws Error(kInput) with it, the
/// key, and what would work, for a model that no family builds so.
ModelDescription parse_description(const model::Catalogue& catalogue, std::string_view content,
                                   const std::string& name);

/// Reads <folder>/config.json. A tokenizer that is not "bytes" is the folder itself, if vocab.json
/// and merges.txt lie there.
ModelDescription read_description(const model::Catalogue& catalogue, const std::string& folder);

/// The text of such a config.json.
std::string description_json(const ModelDescription& description);

}  // namespace zero::models
