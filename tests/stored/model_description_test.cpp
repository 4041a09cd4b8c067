// Ranks: 1
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "src/model/gpt2.hpp"
#include "tests/support/models.hpp"
#include "tests/support/refusal.hpp"
#include "zero/base/error.hpp"
#include "zero/config/read_config.hpp"
#include "zero/model/objective.hpp"
#include "zero/stored/stored_model.hpp"

namespace zero::stored {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing_support::model_named;
using testing_support::refusal_of;

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
  EXPECT_EQ(model::words({found.model}),
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
      {"gelu_new", "relu", "activation_function is \"relu\": only \"gelu_new\" as in a GPT2"},
      {"\"model_type\": \"gpt2\"", "\"model_type\": \"mamba\"", "model_type"},
      {"\"n_inner\": null", "\"n_inner\": 1024", "n_inner"},
      {"\"n_inner\": null", "\"scale_attn_weights\": false", "scale_attn_weights is false: only"},
      {"\"n_inner\": null", "\"scale_attn_by_inverse_layer_idx\": true", "inverse_layer_idx"},
      {"\"n_inner\": null", "\"tie_word_embeddings\": false", "tie_word_embeddings"},
      {"1e-05", "\"small\"", "layer_norm_epsilon"},
      {"1e-05", "1e308", "layer_norm_epsilon is 1e+308: write above 0 to 1"},
      {"1e-05", "1e-300", "layer_norm_epsilon"},
      {"1e-05", "-1", "layer_norm_epsilon"},
      {"{\n", "[\n", "is no JSON object"},
  };
  for (const auto& [from, to, word] : cases) {
    EXPECT_NE(refusal(with(from, to)).find(word), std::string::npos) << to;
  }
}

TEST(ReadDescription, RefusesQuantizedWeightsAndPrunedHeads) {
  const auto beside = [](const std::string& entry) {
    return refusal(with("\"n_inner\": null", entry));
  };
  EXPECT_THAT(beside(R"("quantization_config": {"quant_method": "gptq", "bits": 4})"),
              HasSubstr("config.json: quantization_config: its weights are quantized, and only "
                        "float32, bfloat16 and float16 are read; take the model before it was"));
  EXPECT_THAT(beside(R"("compression_config": {"format": "dense"})"),
              HasSubstr("compression_config: its weights are quantized"));
  EXPECT_THAT(beside(R"("pruned_heads": {"0": [1, 3]})"),
              HasSubstr("config.json: pruned_heads: heads of its attention are gone, and only "
                        "models with all of them are built; take the model before"));
  EXPECT_THAT(beside(R"("tie_encoder_decoder": true)"), HasSubstr("tie_encoder_decoder is true"));
  for (const char* plain : {R"("quantization_config": null)", R"("quantization_config": {})",
                            R"("pruned_heads": {})", R"("tie_encoder_decoder": false)"}) {
    EXPECT_EQ(beside(plain), "") << plain;
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

GenerationConfig parsed(const std::string& content, const std::string& name = "t5-small") {
  return parse_generation(model_named(name), content, "generation_config.json");
}

TEST(ParseGeneration, TakesTheHubsFileAndPassesOverWhatChangesNoText) {
  const GenerationConfig config = parsed(R"({
    "_from_model_config": true, "decoder_start_token_id": 0, "eos_token_id": [1, 3],
    "pad_token_id": 0, "transformers_version": "5.23.0", "num_beams": 4, "early_stopping": true,
    "max_length": 300, "temperature": null, "length_penalty": 0.5 })");
  EXPECT_EQ(config, (GenerationConfig{.max_length = 300,
                                      .num_beams = 4,
                                      .length_penalty = 0.5,
                                      .early_stopping = BeamEnd::yes,
                                      .eos_token_id = std::vector<int64_t>{1, 3}}));
  EXPECT_EQ(parsed(""), GenerationConfig());
  EXPECT_EQ(parsed(R"({"max_length": 20, "max_new_tokens": 5})"),
            GenerationConfig{.max_new_tokens = 5});
}

TEST(ParseGeneration, NamesInOneWarningWhatItDoesNotKnow) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(parsed(R"({"penalty_alpha": 0.6, "num_beams": 2, "bad_words_ids": [[1], [2, 3]],
    "output_scores": false})"),
            GenerationConfig{.num_beams = 2});
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "zeroapp: warning: generation_config.json: nothing here goes by bad_words_ids, "
            "penalty_alpha; texts are generated without them\n");
}

TEST(ParseGeneration, PassesOverAValueThatNothingIsGeneratedBy) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(parsed(R"({"num_beams": 2, "temperature": 0.0, "top_p": 1.5})"),
            GenerationConfig{.num_beams = 2});
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("generation_config.json: temperature: 0.0 is out of range"));
  EXPECT_THAT(said, HasSubstr("generation_config.json: top_p: 1.5 is out of range"));
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(parsed(R"({"num_beams": "four"})"), GenerationConfig());
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("num_beams: \"four\" is a string"));
}

TEST(ParseGeneration, RefusesIdsOfAnotherModelAndTextThatIsNoJson) {
  const auto refusal = [](const std::string& content) {
    return refusal_of(Exit::kInput, [&] { parsed(content); });
  };
  EXPECT_THAT(refusal(R"({"decoder_start_token_id": 2})"),
              HasSubstr("generation_config.json: decoder_start_token_id: is 2, but a T5 has 0"));
  EXPECT_THAT(refusal(R"({"top_p": 0.5,})"), HasSubstr("byte "));
  EXPECT_EQ(parsed(R"({"pad_token_id": 7})", "gpt2"), GenerationConfig()) << "it says none";
}

TEST(ParseGeneration, PassesOverIdsBeyondTheVocabularyWithAWord) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(parsed(R"({"eos_token_id": 50256})"), GenerationConfig());
  EXPECT_EQ(parsed(R"({"eos_token_id": [1, 40000, 40001], "suppress_tokens": [7, 99999]})"),
            (GenerationConfig{.suppress_tokens = std::vector<int64_t>{7},
                              .eos_token_id = std::vector<int64_t>{1}}));
  EXPECT_EQ(parsed(R"({"begin_suppress_tokens": [32128, 5]})"),
            GenerationConfig{.begin_suppress_tokens = std::vector<int64_t>{5}});
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(said,
              HasSubstr("eos_token_id: 50256: beyond the model's vocabulary of 32128; no text "
                        "holds it, or ends there"));
  EXPECT_THAT(said, HasSubstr("eos_token_id: 40000 and 1 more: beyond"));
  EXPECT_THAT(said, HasSubstr("suppress_tokens: 99999: beyond"));
  EXPECT_THAT(said, HasSubstr("begin_suppress_tokens: 32128: beyond"));
  EXPECT_EQ(parsed(R"({"forced_bos_token_id": 40000})").forced_bos_token_id, 40000)
      << "somebody needs it";
}

/// Each key of [generation] in a file, with a value that is not its default.
const std::vector<std::string> kEveryKey = {R"("max_length": 9)",
                                            R"("max_new_tokens": 9)",
                                            R"("min_length": 3)",
                                            R"("min_new_tokens": 3)",
                                            R"("do_sample": true)",
                                            R"("temperature": 0.5)",
                                            R"("top_k": 5)",
                                            R"("top_p": 0.5)",
                                            R"("num_beams": 4)",
                                            R"("length_penalty": 2.0)",
                                            R"("early_stopping": true)",
                                            R"("repetition_penalty": 1.5)",
                                            R"("no_repeat_ngram_size": 3)",
                                            R"("encoder_no_repeat_ngram_size": 3)",
                                            R"("forced_bos_token_id": 5)",
                                            R"("forced_eos_token_id": 5)",
                                            R"("suppress_tokens": [5])",
                                            R"("begin_suppress_tokens": [5])",
                                            R"("eos_token_id": 5)"};

TEST(ReadDescription, GoesByEveryGenerationKeyOfConfigJson) {
  EXPECT_EQ(Folder(kHub).read().generation, GenerationConfig());
  for (const std::string& key : kEveryKey) {
    const Folder folder(with("\"n_inner\": null", key + ", \"n_inner\": null"));
    const GenerationConfig wanted = parsed("{" + key + "}", "gpt2");
    EXPECT_EQ(generation_values(wanted).size(), 1u) << key;
    EXPECT_EQ(folder.read().generation, wanted) << key;
    folder.write("generation_config.json", R"({"num_beams": 2})");
    EXPECT_EQ(folder.read().generation, GenerationConfig{.num_beams = 2})
        << key << " of config.json does not act beside generation_config.json";
  }
}

TEST(ReadDescription, NamesAGenerationKeyOfConfigJsonThatNothingGoesBy) {
  const auto said = [](const std::string& keys) {
    const Folder folder(with("\"n_inner\": null", keys + ", \"n_inner\": null"));
    ::testing::internal::CaptureStderr();
    folder.read();
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_THAT(said(R"("typical_p": 0.9, "bad_words_ids": [[3]])"),
              HasSubstr("config.json: nothing here goes by bad_words_ids, typical_p"));
  EXPECT_THAT(said(R"("stop_strings": ["x"], "max_time": 2.5, "forced_decoder_ids": [[1, 2]],
                      "watermarking_config": {"bias": 2.0}, "token_healing": true)"),
              HasSubstr("nothing here goes by forced_decoder_ids, max_time, stop_strings, "
                        "token_healing, watermarking_config;"));
  EXPECT_EQ(said(R"("max_time": null, "num_assistant_tokens": 20, "token_healing": false)"), "");
  EXPECT_EQ(said(R"("typical_p": 1.0, "num_beam_groups": 1, "diversity_penalty": 0.0,
                    "bad_words_ids": null, "another": {"num_beams": 4})"),
            "")
      << "they ask for nothing";
}

/// What stands in config.json of each class; its own rate, and one in another place.
TEST(ReadDescription, TakesTheDropoutOfAFolder) {
  const auto read = [](const std::string& keys) {
    return Folder(with("\"attn_pdrop\": 0.1", keys)).read();
  };
  const auto rate = [](const ModelDescription& found) {
    return found.model.numbers.rate("dropout");
  };
  const ModelDescription none = read(R"("resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0)");
  EXPECT_EQ(rate(none), 0);
  EXPECT_EQ(none.mixed_dropout, "");
  const ModelDescription usual = read(R"("summary_first_dropout": 0.1)");
  EXPECT_EQ(rate(usual), double(0.1f)) << "as in the class where nothing is said";
  EXPECT_EQ(usual.mixed_dropout, "");
  const ModelDescription mixed = read(R"("resid_pdrop": 0.2, "attn_pdrop": 0.0)");
  EXPECT_EQ(mixed.mixed_dropout, "resid_pdrop 0.2, embd_pdrop 0.1, attn_pdrop 0");
}

TEST(GenerationJson, HoldsTheFamilysIdsAndWhatIsSaidAndComesBack) {
  ModelDescription description{.model = model_named("t5-small")};
  description.generation = {.num_beams = 4,
                            .early_stopping = BeamEnd::never,
                            .suppress_tokens = std::vector<int64_t>{5, 6}};
  const std::string text = generation_json(description);
  EXPECT_EQ(text,
            "{\n  \"decoder_start_token_id\": 0,\n  \"pad_token_id\": 0,\n  \"eos_token_id\": 1,\n"
            "  \"num_beams\": 4,\n  \"early_stopping\": \"never\",\n  \"suppress_tokens\": [\n"
            "    5,\n    6\n  ]\n}\n");
  GenerationConfig expected = description.generation;
  expected.eos_token_id = std::vector<int64_t>{1};
  EXPECT_EQ(parsed(text), expected);
  description.generation.eos_token_id = std::vector<int64_t>{9};
  EXPECT_THAT(generation_json(description), HasSubstr("\"eos_token_id\": 9"));
}

TEST(GenerationJson, OfADecoderThatNothingIsSaidOfIsNoFile) {
  EXPECT_EQ(generation_json({.model = model_named("gpt2")}), "");
}

TEST(GenerationJson, OfAModelThatWritesNoTextsIsNoFile) {
  EXPECT_EQ(generation_json({.model = model_named("deberta-v3-small")}), "");
}

ModelDescription read_back(const std::string& json) {
  return parse_description(testing_support::catalogue(), json, "here");
}

TEST(Descriptions, NameClasses) {
  const ModelDescription named{.model = model_named("deberta-v3-small"),
                               .classes = {"not \"equal\"", "equal"},
                               .sequence_length = 8};
  const std::string json = description_json(named);
  EXPECT_THAT(json, HasSubstr("\"id2label\": {\n    \"0\": \"not \\\"equal\\\"\",\n    \"1\": "
                              "\"equal\"\n  }"));
  EXPECT_THAT(json, HasSubstr("\"equal\": 1"));
  EXPECT_EQ(json.find("LABEL"), json.npos);
  EXPECT_EQ(read_back(json).classes, named.classes);
  ModelDescription nameless = named;
  nameless.classes.clear();
  const std::string other = description_json(nameless);
  EXPECT_THAT(other, HasSubstr("\"LABEL_1\": 1"));
  EXPECT_THAT(read_back(other).classes, ::testing::IsEmpty());
}

TEST(Descriptions, NameNoClassOfANumber) {
  ModelDescription one{.model = model_named("deberta-v3-small"), .sequence_length = 8};
  one.model.numbers.counts["labels"] = 1;
  std::string json = description_json(one);
  json.replace(json.find("LABEL_0"), 7, "similar");
  EXPECT_THAT(read_back(json).classes, ::testing::IsEmpty());
}

TEST(Descriptions, OfTheMostClassesAreReadBack) {
  ModelDescription many{.model = model_named("deberta-v3-small"), .sequence_length = 8};
  many.model.numbers.counts["labels"] = 10'000;
  EXPECT_TRUE(read_back(description_json(many)).model == many.model);
  for (int i = 0; i < 10'000; ++i) many.classes.push_back("class " + std::to_string(i));
  EXPECT_EQ(read_back(description_json(many)).classes, many.classes);
}

TEST(Descriptions, NameTheObjectiveOfAnotherHead) {
  model::Objective objective = model::next_token_objective();
  objective.settings.name = "labels";
  objective.fits = [](const model::Family&) { return true; };
  objective.head = model::gpt2_family().head;
  std::vector<const model::Objective*> all = model::objectives();
  all.push_back(&objective);
  const model::Catalogue catalogue({&model::gpt2_family()}, all);
  const std::string config = description_json(
      {.model = model_named("gpt2"), .objective = &objective, .sequence_length = 4});
  EXPECT_EQ(parse_description(catalogue, config, "here").objective, &objective);
  const auto parse = [&] { parse_description(testing_support::catalogue(), config, "here"); };
  EXPECT_THAT(refusal_of(Exit::kInput, parse),
              HasSubstr("zeroapp.objective is \"labels\": only an objective that a GPT-2 learns"));
  const std::string own = description_json({.model = model_named("gpt2"), .sequence_length = 4});
  EXPECT_EQ(own.find("objective"), own.npos);
}

TEST(Descriptions, NameTheClassesOfLabels) {
  model::Objective objective = model::label_objective();
  objective.fits = [](const model::Family&) { return true; };
  objective.head = model::gpt2_family().head;
  std::vector<const model::Objective*> all = model::objectives();
  all.push_back(&objective);
  const model::Catalogue catalogue({&model::gpt2_family()}, all);
  ModelDescription description{.model = model_named("gpt2"),
                               .objective = &objective,
                               .classes = {"no", "yes"},
                               .sequence_length = 4};
  const std::string config = description_json(description);
  const auto json = nlohmann::json::parse(config);
  EXPECT_EQ(json["id2label"], (nlohmann::json{{"0", "no"}, {"1", "yes"}}));
  EXPECT_EQ(json["label2id"], (nlohmann::json{{"no", 0}, {"yes", 1}}));
  EXPECT_EQ(parse_description(catalogue, config, "here").classes, description.classes);
  description.classes = {"LABEL_0", "LABEL_1"};
  EXPECT_THAT(parse_description(catalogue, description_json(description), "here").classes,
              ::testing::IsEmpty())
      << "which are no names";
  description.classes = {"no", "yes"};
  description.objective = nullptr;
  EXPECT_THAT(parse_description(catalogue, description_json(description), "here").classes,
              ::testing::IsEmpty())
      << "of a task that it does not learn here";
}

}  // namespace
}  // namespace zero::stored
