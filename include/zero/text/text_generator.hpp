#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "zero/io/text/tokenizer.hpp"
#include "zero/model/recipe.hpp"
#include "zero/plan/forecast.hpp"
#include "zero/text/decoding_ranks.hpp"
#include "zero/text/search_rules.hpp"

namespace zero::writing {

using TokenList = std::vector<int32_t>;

/// A callback for each text when it has ended, with its place among the sources.
using TextVisitor = std::function<void(int64_t place, const TokenList& text)>;

struct GenerationOptions {
  SearchRules rules = {};
  Dtype compute = Dtype::f32;
  int threads = 1;
  int64_t batch = 8;                           ///< sources at a time; texts do not depend on it
  int64_t longest_source = 0;                  ///< tokens of the longest source, or prompt, to come
  std::optional<DecodingRanks> together = {};  ///< none: this process holds the whole model
  LentMemory lent = {};
};

/// A writer of texts for sources, by compiled plans with caches for several texts and for an
/// encoder's results. Works on this process alone or on ranks that hold the weights together. A
/// source is the encoder's input, and its text begins with the decoder's start. Without an encoder,
/// the source begins the text.
class TextGenerator {
 public:
  /// Returns the bytes of a generator of the recipe's model with these options, by tier.
  static plan::TierBytes bytes(const model::Recipe& recipe, const GenerationOptions& options);

  /// Compiles the plans and takes their memory. Throws Error(kUsage) if the options' lengths exceed
  /// the positions of the recipe's model.
  TextGenerator(const model::Recipe& recipe, const GenerationOptions& options);
  ~TextGenerator();
  TextGenerator(const TextGenerator&) = delete;
  TextGenerator& operator=(const TextGenerator&) = delete;

  /// See Decoder.
  const graph::Graph& graph() const;
  void set_parameter(int32_t index, int64_t first, std::span<const float> values);

  /// Returns a text for each source, with its beginning and, if one ended it, its end token. Text i
  /// is number numbers[i], or i without numbers, of the draws of rules.choice.seed. No text depends
  /// on other sources. Calls `visit` for each text as it ends, and `moved` after each step. Throws
  /// Error(kUsage) if a source is empty, too long, or has an unknown token.
  /// Collective on ranks that hold the weights together. Each gives its own sources, or none, and
  /// returns when all texts of all ranks have ended.
  std::vector<TokenList> write(std::span<const TokenList> sources,
                               std::span<const int64_t> numbers = {}, const TextVisitor& visit = {},
                               const std::function<void()>& moved = {});

  /// True if ranks hold the generator's weights together.
  bool is_shared() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// Decodes the ids of an answer to text by `tokenizer`. Leaves out the ids `start` and `end`, which
/// are ordinary ones among bytes, and special and unknown ids.
std::string answer_text(TokenList ids, int64_t start, int64_t end, const Tokenizer& tokenizer);

}  // namespace zero::writing
