#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "zero/model/recipe.hpp"
#include "zero/plan/forecast.hpp"
#include "zero/text/continuation.hpp"
#include "zero/text/decoding_ranks.hpp"

namespace zero::writing {

/// A trained model without an encoder that continues one text token by token. It is a compiled
/// decode plan with a cache of keys and values, on this process alone or on ranks that hold the
/// weights together. If there are several ranks, one feeds and the others follow.
class Decoder {
 public:
  struct Options {
    Dtype compute = Dtype::f32;
    int64_t context = 0;  ///< tokens in the cache, at most the model's positions; 0 = all
    int threads = 1;
    std::optional<DecodingRanks> together = {};  ///< none: this process holds the whole model
    LentMemory lent = {};
  };
  /// Returns the bytes of a decoder of the recipe's model with these options, by tier.
  static plan::TierBytes bytes(const model::Recipe& recipe, const Options& options);

  /// Compiles the decode plan of the recipe's model and takes its memory.
  Decoder(const model::Recipe& recipe, const Options& options);
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  /// Returns the graph, with names and shapes of parameters in set_parameter()'s order.
  const graph::Graph& graph() const;

  /// Stores fp32 values, rounded to the compute type, from element `first` of parameter `index` on.
  /// Padding rows of the table stay zero.
  void set_parameter(int32_t index, int64_t first, std::span<const float> values);

  /// Appends tokens to the context and returns the logits [vocabulary] after the last one, valid
  /// until the next call. Throws Error(kUsage) if the context is full.
  std::span<const float> feed(std::span<const int32_t> tokens);

  /// Returns the tokens in the context.
  int64_t position() const;
  /// Empties the context.
  void clear();
  /// Returns a view for continue_tokens(), which may choose tokens below `vocabulary`.
  Language language(int64_t vocabulary);

  /// Runs each body with the rank that feeds, until that rank calls dismiss().
  void follow();
  void dismiss();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace zero::writing
