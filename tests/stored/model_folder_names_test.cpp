// Ranks: 1
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "src/model/blenderbot.hpp"
#include "src/model/deberta.hpp"
#include "src/model/gpt2.hpp"
#include "src/model/t5.hpp"
#include "tests/support/content_of.hpp"
#include "tests/support/decoder_trial.hpp"
#include "tests/support/models.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/small_checkpoint.hpp"
#include "zero/stored/model_folder.hpp"

namespace zero::stored {
namespace {

using ::testing::HasSubstr;
using testing_support::catalogue;
using testing_support::refusal_of;
using testing_support::TempFolder;
using Names = std::vector<std::string>;
using Renamed = std::map<std::string, Names>;  // what a file holds in place of a tensor

constexpr model::Gpt2 kGpt2{.layers = 1, .width = 8, .heads = 2, .vocabulary = 10, .positions = 4};
constexpr model::T5 kT5{.layers = 1,
                        .decoder_layers = 1,
                        .width = 8,
                        .heads = 2,
                        .head_width = 4,
                        .inner = 16,
                        .vocabulary = 10};
constexpr model::Blenderbot kBlenderbot{.layers = 1,
                                        .decoder_layers = 1,
                                        .width = 8,
                                        .heads = 2,
                                        .inner = 16,
                                        .decoder_inner = 16,
                                        .vocabulary = 10,
                                        .positions = 4};

model::T5 t5_with(bool tied, bool scales_otherwise) {
  model::T5 model = kT5;
  model.tied = tied;
  model.scales_otherwise = scales_otherwise;
  return model;
}

/// A folder of a model whose tensors stand under other names. All elements of a tensor are alike,
/// and others than those of another one but of its copies.
class StoredUnder {
 public:
  StoredUnder(const model::Architecture& model, const Renamed& renamed,
              const std::string& wrapper = "",
              const std::map<std::string, std::string>& metadata = {}) {
    write("config.json", description_json({.model = model, .sequence_length = 4}));
    SafetensorsWriter::Content content{.tensors = {}, .metadata = metadata};
    std::vector<float> values;
    for (const StoredParameter& parameter : stored_parameters({model})) {
      for (size_t t = 0; t < parameter.form.names.size(); ++t) {
        const std::string& name = parameter.form.names[t];
        const auto other = renamed.find(name);
        const float value = values_[name] = 0.5f + float(values_.size());
        for (const std::string& written :
             other == renamed.end() ? Names{model.family->stored.written(name)} : other->second) {
          content.tensors.push_back(
              {wrapper + written, graph::stored_extents(parameter.form, parameter.shape, t)});
          values.push_back(value);
        }
      }
    }
    SafetensorsWriter writer(folder_.path() + "/model.safetensors", content);
    for (size_t i = 0; i < values.size(); ++i) {
      int64_t numel = 1;
      for (const int64_t extent : content.tensors[i].shape) numel *= extent;
      const std::vector<float> elements(size_t(numel), values[i]);
      writer.write(std::as_bytes(std::span(elements)));
    }
    writer.publish();
  }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path() + "/" + name) << text;
  }
  const std::string& path() const { return folder_.path(); }
  ModelFolder open(const RunConfig* training = nullptr) const {
    return ModelFolder(catalogue(), folder_.path(), training);
  }
  std::string words() const { return model::words({open().description().model}); }
  /// True if a parameter is read from the tensor that was made for `name`.
  bool reads(const std::string& parameter, const std::string& name) const {
    std::vector<float> out(1);
    open().read(parameter, 0, out);
    return out[0] == values_.at(name);
  }
  std::string refusal(const RunConfig* training = nullptr) const {
    return refusal_of(Exit::kInput, [&] { open(training); });
  }

 private:
  TempFolder folder_{"stored-names"};
  std::map<std::string, float> values_;  // by the name that a tensor has in its family
};

TEST(StoredNames, ASharedTableMayStandUnderAnyOfItsNames) {
  for (const Names& names : {Names{"lm_head.weight"}, {"transformer.wte.weight", "lm_head.weight"}})
    EXPECT_TRUE(StoredUnder(kGpt2, {{"wte.weight", names}}).reads("wte.weight", "wte.weight"))
        << names[0];
  const Names copies = {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight",
                        "lm_head.weight"};
  for (const std::string& name : copies) {
    const StoredUnder t5(kT5, {{"shared.weight", {name}}});
    EXPECT_TRUE(t5.reads("shared.weight", "shared.weight")) << name;
    const std::string own = name == "lm_head.weight" ? name : "model." + name;
    const StoredUnder blenderbot(kBlenderbot, {{"model.shared.weight", {own}}});
    EXPECT_TRUE(blenderbot.reads("model.shared.weight", "model.shared.weight")) << own;
  }
  EXPECT_EQ(StoredUnder(kT5, {{"shared.weight", {copies[0], copies[1]}}}).refusal(), "");
  EXPECT_EQ(StoredUnder(kBlenderbot, {{"model.shared.weight", {"model." + copies[0], copies[2]}}})
                .refusal(),
            "");
  EXPECT_EQ(StoredUnder(t5_with(false, false), {{"shared.weight", {copies[1]}}}).refusal(), "")
      << "beside a head of its own";
  EXPECT_THAT(StoredUnder(t5_with(false, false), {{"shared.weight", {}}}).refusal(),
              HasSubstr("shared.weight: expected [10, 8], found nothing"))
      << "a head of its own is no table of tokens";
}

TEST(StoredNames, AFilesMetadataMayNameATensorsOtherNames) {
  const StoredUnder vision(kT5, {{"shared.weight", {"another.name"}}}, "",
                           {{"shared.weight", "another.name"}, {"format", "pt"}});
  EXPECT_THAT(vision.refusal(), HasSubstr("another.name: expected nothing"));
  const StoredUnder norm(kGpt2, {{"ln_f.weight", {}}}, "",
                         {{"transformer.ln_f.weight", "transformer.h.0.ln_1.weight"}});
  EXPECT_TRUE(norm.reads("ln_f.weight", "h.0.ln_1.weight"));
  const StoredUnder other(kGpt2, {{"ln_f.weight", {}}}, "",
                          {{"transformer.ln_f.weight", "transformer.wpe.weight"}});
  EXPECT_THAT(other.refusal(), HasSubstr("ln_f.weight: expected F32, F16 or BF16 [8], found"));
}

/// The names of a folder whose tensors have a wrapper's, as it warns.
std::string warning_of(const model::Architecture& model, const std::string& wrapper) {
  const StoredUnder folder(model, {}, wrapper);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(folder.refusal(), "") << wrapper;
  return ::testing::internal::GetCapturedStderr();
}

TEST(StoredNames, AWrappersPrefixIsSeenAndNamed) {
  for (const std::string wrapper : {"module.", "_orig_mod.", "base_model.model.", "model.",
                                    "transformer.", "module._orig_mod."}) {
    for (const model::Architecture& model :
         {model::Architecture(kGpt2), model::Architecture(kT5), model::Architecture(kBlenderbot)}) {
      EXPECT_THAT(warning_of(model, wrapper), HasSubstr("begin with \"" + wrapper + "\""));
    }
  }
  EXPECT_EQ(warning_of(kBlenderbot, ""), "");
  EXPECT_THAT(StoredUnder(kT5, {}, "net.").refusal(), HasSubstr("found nothing"));
}

TEST(StoredNames, HeadsOfOtherTasksArePassedOverAndNamed) {
  const StoredUnder gpt2(kGpt2, {{"ln_f.bias", {"ln_f.bias", "score.weight", "classifier.bias"}}});
  EXPECT_EQ(gpt2.open().other_heads(), (Names{"score.weight", "classifier.bias"}));
  EXPECT_TRUE(gpt2.reads("ln_f.bias", "ln_f.bias"));
  const StoredUnder other(kGpt2, {{"ln_f.bias", {"ln_f.bias", "scores.weight"}}});
  EXPECT_THAT(other.refusal(), HasSubstr("scores.weight: expected nothing")) << "in no list";
  const StoredUnder blenderbot(kBlenderbot, {{"final_logits_bias", {"score.weight"}}});
  EXPECT_THAT(blenderbot.refusal(), HasSubstr("score.weight: expected nothing"))
      << "in another family's list";
}

TEST(StoredNames, ATensorBesideTheHeadThatIsReadIsNotPassedOver) {
  const std::string bias = "lm_head.bias";
  const StoredUnder gpt2(kGpt2, {{"ln_f.bias", {"ln_f.bias", bias}}});
  EXPECT_THAT(gpt2.refusal(), HasSubstr(bias + ": expected nothing"));
  const StoredUnder t5(kT5, {{"shared.weight", {"shared.weight", bias}}});
  EXPECT_THAT(t5.refusal(), HasSubstr(bias + ": expected nothing"));
}

TEST(StoredNames, AHeadMayStandBesideAWrappedTrunk) {
  const std::string head = "classification_head.dense.weight";
  Renamed wrapped;
  for (const StoredParameter& parameter : stored_parameters({kT5})) {
    for (const std::string& name : parameter.form.names) wrapped[name] = {"transformer." + name};
  }
  wrapped["shared.weight"].push_back(head);
  const StoredUnder t5(kT5, wrapped);
  EXPECT_EQ(t5.open().other_heads(), Names{head});
  EXPECT_TRUE(t5.reads("shared.weight", "shared.weight"));
  const StoredUnder inside(kT5, {{"shared.weight", {"shared.weight", head}}}, "module.");
  EXPECT_EQ(inside.open().other_heads(), Names{head});
}

constexpr model::Deberta kDeberta{.layers = 1,
                                  .width = 8,
                                  .heads = 2,
                                  .inner = 16,
                                  .vocabulary = 10,
                                  .buckets = 4,
                                  .distance = 8,
                                  .convolves = true};
constexpr const char* kTable = "encoder.rel_embeddings.weight";

TEST(StoredNames, AHeadHasNoPrefixWhereTheTrunkHasOne) {
  EXPECT_TRUE(StoredUnder(kDeberta, {}).reads("pooler.dense.weight", "pooler.dense.weight"));
  Renamed bare;
  for (const StoredParameter& parameter : stored_parameters({kDeberta}))
    bare[parameter.form.names[0]] = {parameter.form.names[0]};
  EXPECT_TRUE(StoredUnder(kDeberta, bare).reads(kTable, kTable));
  const StoredUnder both(kDeberta, {{kTable, {text("deberta.", kTable), kTable}}});
  EXPECT_THAT(both.refusal(), HasSubstr("with and without deberta."));
}

TEST(StoredNames, HeadsOfMaskedTokensAndBuffersOfPositionsArePassedOver) {
  const Names others = {"cls.predictions.bias", "cls.predictions.transform.dense.weight",
                        "lm_predictions.lm_head.dense.weight", "mask_predictions.dense.weight"};
  Names all = {text("deberta.", kTable), "deberta.embeddings.position_ids",
               "deberta.embeddings.position_embeddings.weight"};
  all.insert(all.end(), others.begin(), others.end());
  const StoredUnder pretrained(kDeberta, {{kTable, all}});
  EXPECT_THAT(pretrained.open().other_heads(), ::testing::UnorderedElementsAreArray(others));
  EXPECT_THAT(StoredUnder(kDeberta, {{kTable, {text("deberta.", kTable), "cls.head"}}}).refusal(),
              HasSubstr("cls.head: expected nothing"));
}

TEST(StoredNames, APoolerAndAClassifierThatAreMissingMayBeDrawnAnew) {
  const StoredUnder base(kDeberta, {{"pooler.dense.weight", {}},
                                    {"pooler.dense.bias", {}},
                                    {"classifier.weight", {}},
                                    {"classifier.bias", {}}});
  RunConfig training = testing_support::unset_config();
  EXPECT_THAT(base.refusal(&training),
              HasSubstr("or write model.reinit = [\"pooler.*\", \"classifier.*\"] to draw them"));
  training.model.reinit = {"pooler.*", "classifier.*"};
  EXPECT_EQ(base.open(&training).anew().size(), 4u);
}

TEST(StoredNames, AClassifierOfOtherClassesIsDrawnAnewOrRefused) {
  const StoredUnder two(kDeberta, {});
  RunConfig training = testing_support::unset_config();
  EXPECT_EQ(two.open(&training).description().model.numbers.count("labels"), 2);
  training.model.numbers.counts["labels"] = 3;
  EXPECT_THAT(two.refusal(&training),
              HasSubstr("2 tensors are not as the settings say; take both from one place, or write "
                        "model.reinit = [\"classifier.*\"] to draw them anew"));
  training.model.reinit = {"classifier.*"};
  const ModelFolder three = two.open(&training);
  EXPECT_EQ(three.description().model.numbers.count("labels"), 3);
  EXPECT_EQ(three.anew(), (Names{"classifier.weight", "classifier.bias"}));
  EXPECT_EQ(two.open().description().model.numbers.count("labels"), 2) << "without a training";
}

TEST(StoredNames, AHeadIsReadAsTransformersFiveMeansIt) {
  const StoredUnder tied(t5_with(true, true), {});
  EXPECT_THAT(tied.words(), HasSubstr("tied unscaled classifier"));
  const StoredUnder copied(t5_with(true, true), {{"shared.weight", {"lm_head.weight"}}});
  EXPECT_THAT(copied.words(), HasSubstr("tied unscaled classifier"));
  StoredUnder own(t5_with(true, true), {{"shared.weight", {"shared.weight", "lm_head.weight"}}});
  EXPECT_THAT(own.words(), HasSubstr(", untied classifier"));
  EXPECT_TRUE(own.reads("lm_head.weight", "shared.weight")) << "which stand there alike";
  const StoredUnder scaled(t5_with(false, true), {});
  EXPECT_THAT(scaled.words(), HasSubstr("untied scaled classifier"));
}

model::Architecture decoder(const std::string& golden, bool tied) {
  model::Architecture model =
      testing_support::golden_model(testing::load_golden_decoder(golden).hub);
  model.numbers.counts["classifier"] = tied ? 1 : 2;
  return model;
}

TEST(StoredNames, OfDecodersTellATiedHeadFromAnotherOne) {
  const model::Architecture tied = decoder("llama_b", true), untied = decoder("llama_b", false);
  const std::string table = "model.embed_tokens.weight", head = "lm_head.weight";
  for (const Names& names : {Names{table}, {table, head}, {head}}) {
    const StoredUnder folder(tied, {{"embed_tokens.weight", names}});
    EXPECT_TRUE(folder.reads("embed_tokens.weight", "embed_tokens.weight")) << names[0];
  }
  const StoredUnder two(untied, {});
  EXPECT_TRUE(two.reads("lm_head.weight", "lm_head.weight"));
  two.write("config.json", description_json({.model = tied, .sequence_length = 4}));
  EXPECT_THAT(two.refusal(), HasSubstr("lm_head.weight differs from embed_tokens.weight: "
                                       "tie_word_embeddings says"));
  const StoredUnder one(tied, {});
  one.write("config.json", description_json({.model = untied, .sequence_length = 4}));
  EXPECT_THAT(one.refusal(), HasSubstr("lm_head.weight: expected [131, 48], found nothing"));
}

TEST(StoredNames, OfDecodersMayLackTheirPrefixAndHaveBuffers) {
  const model::Architecture model = decoder("qwen3_a", true);
  Renamed short_names;
  for (const StoredParameter& parameter : stored_parameters({model})) {
    for (const std::string& name : parameter.form.names) short_names[name] = {name};
  }
  const std::string qkv = "layers.2.self_attn.qkv_proj.weight";
  EXPECT_TRUE(StoredUnder(model, short_names).reads(qkv, "layers.2.self_attn.q_proj.weight"));
  const auto beside = [&](const std::string& name) {
    return StoredUnder(model, {{"norm.weight", {"model.norm.weight", name}}}).refusal();
  };
  EXPECT_EQ(beside("model.layers.0.self_attn.rotary_emb.inv_freq"), "");
  EXPECT_THAT(beside("model.layers.0.self_attn.other"),
              HasSubstr("layers.0.self_attn.other: expected nothing"));
  EXPECT_THAT(beside("score.weight"), HasSubstr("score.weight: expected nothing"));
}

TEST(StoredNames, OfDecodersArePartsOfOneParameterWithWidthsOfTheirOwn) {
  const StoredUnder folder(decoder("qwen3_a", true), {});
  const ModelFolder model = folder.open();
  // 4 heads of queries and 2 of keys and of values, of 24 columns, stand side by side in a row.
  std::vector<float> row(4 * 24 + 4 * 24);
  model.read("layers.0.self_attn.qkv_proj.weight", 0, row);
  EXPECT_EQ(std::set<float>(row.begin(), row.end()).size(), 3u);
  EXPECT_EQ(row[95], row[0]);
  EXPECT_NE(row[96], row[95]);
  EXPECT_EQ(row[96 + 47], row[96]);
  EXPECT_NE(row[96 + 48], row[96]);
}

}  // namespace
}  // namespace zero::stored
