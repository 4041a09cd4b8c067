#include "src/model/unbuilt_types.hpp"

namespace zero::model {
namespace {

struct Unbuilt {
  std::string_view begin;  ///< of model_type
  std::string_view lack;
};
constexpr std::string_view kExperts = "its layers choose between experts";
constexpr std::string_view kPairs = "its rotation turns neighbouring columns";
constexpr std::string_view kSinks = "its attention has learned sinks";
constexpr std::string_view kWrapper =
    "it also reads images, and its language model is the part text_config, which is not taken out";
constexpr Unbuilt kUnbuilt[] = {
    {"gemma3n", "its layers have embeddings of their own"},
    {"gemma3", kWrapper},
    {"mistral3", kWrapper},
    {"gemma4", "its layers have embeddings of their own and share keys"},
    {"qwen3_5", "most of its layers are a gated delta rule"},
    {"qwen3_6", "most of its layers are a gated delta rule"},
    {"qwen3_8", "most of its layers are a gated delta rule"},
    {"qwen3_next", "most of its layers are a gated delta rule"},
    {"granite_swa", kSinks},
    {"gpt_oss", kSinks},
    {"apertus", "its activation function has parameters"},
    {"nemotron", "its norms subtract means and add 1 to weights"},
    {"glm4", kPairs},
    {"ernie4_5", kPairs},
    {"cohere", kPairs},
    {"helium", kPairs},
    {"muse_glimmer", kExperts},
    {"mistral4", kExperts},
    {"mistral_large4", kExperts},
    {"qwen4_exp", kExperts},
    {"llama4", kExperts},
    {"mixtral", kExperts},
    {"deepseek", kExperts},
};

}  // namespace

std::string_view lack_for(std::string_view type) {
  if (type.find("moe") != type.npos) return kExperts;
  for (const Unbuilt& unbuilt : kUnbuilt) {
    if (type.starts_with(unbuilt.begin)) return unbuilt.lack;
  }
  return "";
}

}  // namespace zero::model
