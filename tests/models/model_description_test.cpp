// Ranks: 1
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "src/model/gpt2.hpp"
#include "tests/support/models.hpp"
#include "tests/support/refusal.hpp"
#include "zero/base/error.hpp"
#include "zero/models/stored_model.hpp"

namespace zero::models {
namespace {

namespace fs = std::filesystem;

/// A folder with a config.json.
class Folder {
 public:
  explicit Folder(const std::string& config)
      : path_(fs::temp_directory_path() / ("zero-description-" + std::to_string(getpid()))) {
    fs::create_directory(path_);
    write("config.json", config);
  }
  ~Folder() { fs::remove_all(path_); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
  }
  ModelDescription read() const {
    return read_description(testing_support::catalogue(), path_.string());
  }
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

/// As the hub has it, in what matters.
const std::string kHub = R"({
  "activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1,
  "layer_norm_epsilon": 1e-05, "model_type": "gpt2", "n_ctx": 1024, "n_embd": 768, "n_head": 12,
  "n_layer": 12, "n_positions": 1024, "n_inner": null,
  "task_specific_params": {"text-generation": {"do_sample": true, "max_length": 50}},
  "vocab_size": 50257 })";

std::string with(const std::string& from, const std::string& to) {
  std::string config = kHub;
  return config.replace(config.find(from), from.size(), to);
}

std::string refusal(const std::string& config) {
  const Folder folder(config);
  return testing_support::refusal_of(Exit::kInput, [&] { folder.read(); });
}

TEST(ReadDescription, TakesTheHubsAsItIs) {
  const Folder folder(kHub);
  const ModelDescription found = folder.read();
  EXPECT_EQ(model::words(found.model),
            "12 layers of 768 with 12 heads, 50257 tokens, 1024 positions, epsilon 1e-05");
  EXPECT_EQ(found.compute, Dtype::f32);
  EXPECT_EQ(found.tokenizer, "") << "its files are not there";
  EXPECT_EQ(found.sequence_length, 1024);
  folder.write("vocab.json", "{}");
  folder.write("merges.txt", "");
  EXPECT_EQ(folder.read().tokenizer, folder.path());
}

TEST(ReadDescription, RefusesAnotherNetworkNamingTheKey) {
  EXPECT_EQ(refusal(kHub), "");
  const std::vector<std::array<std::string, 3>> cases = {
      {"\"n_embd\": 768", "\"n_embd\": 770", "n_head"},
      {"\"n_embd\": 768", "\"n_embd\": -1", "n_embd"},
      {"\"n_embd\": 768", "\"n_embd\": \"768\"", "n_embd"},
      {"\"n_layer\": 12", "\"n_layer\": 100000000000", "n_layer"},
      {"\"n_layer\": 12,", "", "n_layer: is missing"},
      {"\"n_layer\": 12", "\"n_layer\": null", "n_layer: is missing"},
      {"\"n_layer\": 12", "\"n_layer\": 12, \"n_layer\": 12", "stands twice"},
      {"gelu_new", "relu", "activation_function"},
      {"\"model_type\": \"gpt2\"", "\"model_type\": \"llama\"", "model_type"},
      {"\"n_inner\": null", "\"n_inner\": 1024", "n_inner"},
      {"\"n_inner\": null", "\"scale_attn_weights\": false", "scale_attn_weights"},
      {"\"n_inner\": null", "\"scale_attn_by_inverse_layer_idx\": true", "inverse_layer_idx"},
      {"\"n_inner\": null", "\"tie_word_embeddings\": false", "tie_word_embeddings"},
      {"1e-05", "\"small\"", "layer_norm_epsilon"},
      {"1e-05", "1e308", "layer_norm_epsilon: is not readable: write above 0 to 1"},
      {"1e-05", "1e-300", "layer_norm_epsilon"},
      {"1e-05", "-1", "layer_norm_epsilon"},
      {"{\n", "[\n", "is no JSON object"},
  };
  for (const auto& [from, to, word] : cases) {
    EXPECT_NE(refusal(with(from, to)).find(word), std::string::npos) << to;
  }
}

TEST(DescriptionJson, IsReadBackAsItWas) {
  const ModelDescription written{.model = model::Gpt2{.layers = 2,
                                                      .width = 64,
                                                      .heads = 4,
                                                      .vocabulary = 256,
                                                      .positions = 32,
                                                      .dropout = 0.1f,
                                                      .epsilon = 1e-5f},
                                 .compute = Dtype::bf16,
                                 .tokenizer = "bytes",
                                 .sequence_length = 16,
                                 .evaluation_micro = 3};
  const std::string json = description_json(written);
  EXPECT_NE(json.find("\"layer_norm_epsilon\": 1e-05"), std::string::npos) << json;
  EXPECT_NE(json.find("\"torch_dtype\": \"bfloat16\""), std::string::npos) << json;
  EXPECT_NE(json.find("\"attn_pdrop\": 0.1"), std::string::npos) << json;
  const ModelDescription found = Folder(json).read();
  EXPECT_TRUE(found.model == written.model);
  EXPECT_EQ(found.compute, Dtype::bf16);
  EXPECT_EQ(found.tokenizer, "bytes");
  EXPECT_EQ(found.sequence_length, 16);
  EXPECT_EQ(found.evaluation_micro, 3);
}

}  // namespace
}  // namespace zero::models
