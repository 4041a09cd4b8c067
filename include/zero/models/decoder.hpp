#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "zero/graph/graph.hpp"
#include "zero/model/family.hpp"

namespace zero::models {

/// A trained model that continues a text token by token: a compiled decode plan on this process
/// alone, with a cache of keys and values. No MPI.
class Decoder {
 public:
  struct Options {
    Dtype compute = Dtype::f32;  ///< f32 or bf16
    int64_t context = 0;         ///< tokens the cache holds; at most the model's positions; 0 = all
    int threads = 1;
  };
  /// What a decoder of this kind takes of a device's memory, or of the host's where they are one.
  static int64_t bytes(const model::Architecture& model, const Options& options);

  Decoder(const model::Architecture& model, const Options& options);
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  /// Names and shapes of the parameters, in the order that set_parameter counts them.
  const graph::Graph& graph() const;

  /// Stores fp32 values, rounded to the compute type, from element `first` of parameter `index` on.
  /// Padding rows of the table stay zero.
  void set_parameter(int32_t index, int64_t first, std::span<const float> values);

  /// Appends tokens to the context and returns the logits [vocabulary] that follow the last one,
  /// valid until the next call. Throws Error(kUsage) when the context is full.
  std::span<const float> feed(std::span<const int32_t> tokens);

  /// Tokens in the context.
  int64_t position() const;
  /// Forgets all of them.
  void clear();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace zero::models
