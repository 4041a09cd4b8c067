#include "zero/config/model_sizes.hpp"

namespace zero {

std::span<const ModelSize> model_sizes() {
  static constexpr ModelSize kSizes[] = {
      {"gpt2", 12, 768, 12, 50257, 1024},        {"gpt2-medium", 24, 1024, 16, 50257, 1024},
      {"gpt2-large", 36, 1280, 20, 50257, 1024}, {"gpt2-xl", 48, 1600, 25, 50257, 1024},
      {"gpt2_1.5b", 48, 1600, 16, 50304, 1024},  {"gpt2_10b", 50, 4096, 32, 50304, 1024},
  };
  return kSizes;
}

const ModelSize* find_model_size(std::string_view name) {
  for (const ModelSize& size : model_sizes()) {
    if (size.name == name) return &size;
  }
  return nullptr;
}

ModelSize model_size(const RunConfig& config) {
  const ModelConfig& model = config.model;
  if (const ModelSize* named = find_model_size(model.name)) return *named;
  return {.name = "",
          .layers = model.layers,
          .width = model.width,
          .heads = model.heads,
          .vocab_size = model.vocab_size ? model.vocab_size : 256,
          .max_positions = model.max_positions ? model.max_positions : config.data.sequence_length};
}

}  // namespace zero
