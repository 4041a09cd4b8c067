// Ranks: 1
// Texts of compiled plans against those of Hugging Face's generate() with the same models:
// tools/golden/texts_golden.py makes them.
#include "zero/text/text_generator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "src/model/gpt2.hpp"
#include "tests/support/arrays.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/models.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/search_options.hpp"
#include "zero/text/continuation.hpp"
#include "zero/text/text_decoder.hpp"

namespace zero::writing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using testing_support::refusal_of;

/// A model of a golden file, and its texts.
class GoldenTexts {
 public:
  explicit GoldenTexts(const std::string& name)
      : json_(json::parse(std::ifstream(ZERO_GOLDEN_FOLDER "/" + name + ".json"))) {
    model::HubConfig hub(json_["hub"].dump(), "config.json");
    model_ = model::architecture_in(testing_support::catalogue(), hub);
    for (const json& tensor : json_["tensors"]) {
      int64_t numel = 1;
      for (const int64_t extent : tensor["shape"]) numel *= extent;
      tensors_.push_back({.name = tensor["name"],
                          .shape = tensor["shape"],
                          .offset = tensor["offset"],
                          .amplitude = tensor["amplitude"],
                          .gradient = std::vector<double>(size_t(numel))});
    }
  }

  const model::Architecture& model() const { return model_; }
  const json& operator[](const char* key) const { return json_[key]; }
  std::vector<TokenList> prompts() const { return json_["prompts"]; }

  GenerationOptions options(const json& rules, int64_t batch, int threads = 1) const {
    GenerationOptions made{.rules = testing_support::search_rules(rules, json_["max_length"])};
    made.rules.scores.eos_token_id = json_["ends"].get<TokenList>();
    made.threads = threads;
    made.batch = batch;
    made.longest_source = 9;
    return made;
  }

  void fill(TextGenerator& generator) const {
    const graph::Graph& graph = generator.graph();
    for (size_t p = 0; p < graph.parameters.size(); ++p) {
      const graph::Parameter& parameter = graph.parameters[p];
      const std::vector<float> values = values_of(graph, parameter);
      generator.set_parameter(int32_t(p), 0, values);
    }
  }

  std::vector<TokenList> write(const GenerationOptions& options) const {
    TextGenerator generator({model_}, options);
    fill(generator);
    return generator.write(prompts());
  }

 private:
  std::vector<float> values_of(const graph::Graph& graph, const graph::Parameter& of) const {
    const graph::StoredForm form = model::stored_form(model_, graph[of.tensor].name);
    const Shape& shape = graph[of.tensor].shape;
    std::vector<float> stored, values(size_t(of.real_numel));
    for (const std::string& name : form.names) {
      const auto found = std::ranges::find(tensors_, name, &testing::GoldenTensor::name);
      if (found == tensors_.end()) return values;  // a buffer of zeros
      const auto part = testing::golden_weights(*found, found - tensors_.begin());
      stored.insert(stored.end(), part.begin(), part.end());
    }
    const std::vector<int64_t> extents =
        shape.rank() == 1 ? std::vector<int64_t>{of.real_numel}
                          : std::vector<int64_t>{of.real_numel / shape[1], shape[1]};
    graph::from_stored(form, extents, stored, values);
    return values;
  }

  json json_;
  model::Architecture model_;
  std::vector<testing::GoldenTensor> tensors_;
};

std::string digits(const TokenList& tokens) {
  std::string word;
  for (const int32_t token : tokens) word += "0123456789abcdefghijklmnopqrstuv"[token];
  return word;
}

class TextsOf : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Models, TextsOf,
                         ::testing::Values("texts_t5", "texts_t5_gated", "texts_blenderbot"));

/// A text may differ where two scores were as good as equal on its way, and only there.
TEST_P(TextsOf, AreThoseThatGenerateWritesUnderEachRule) {
  const GoldenTexts golden(GetParam());
  int64_t texts = 0, left_out = 0;
  for (size_t number = 0; number < golden["cases"].size(); ++number) {
    const json& test = golden["cases"][number];
    const auto written = golden.write(golden.options(test["options"], 60));
    for (size_t i = 0; i < written.size(); ++i, ++texts) {
      if (digits(written[i]) == test["texts"][i].get<std::string>()) continue;
      ++left_out;
      EXPECT_TRUE(std::ranges::find(golden["close"], json({number, i})) != golden["close"].end())
          << test["options"] << " of prompt " << i << ": " << digits(written[i]) << ", not "
          << test["texts"][i];
    }
  }
  EXPECT_EQ(texts, 50 * 60);
  EXPECT_LE(left_out, texts / 20);
  RecordProperty("left_out", int(left_out));
}

TEST_P(TextsOf, DoNotDependOnTheBatchTheyAreInNorOnThreads) {
  const GoldenTexts golden(GetParam());
  for (const json& rules : {json{{"num_beams", 4}, {"length_penalty", 2.0}},
                            json{{"do_sample", true}, {"min_length", 6}}}) {
    const auto all = golden.write(golden.options(rules, 60));
    EXPECT_EQ(golden.write(golden.options(rules, 7, 2)), all) << rules;
    EXPECT_EQ(golden.write(golden.options(rules, 1)), all) << rules;
  }
}

TEST_P(TextsOf, AreDrawnApartBySeedAndByPlace) {
  const GoldenTexts golden(GetParam());
  const std::vector<TokenList> alike(8, golden.prompts()[0]);
  const auto drawn = [&](uint64_t seed) {
    GenerationOptions options = golden.options({{"do_sample", true}, {"min_length", 9}}, 8);
    options.rules.choice.seed = seed;
    TextGenerator generator({golden.model()}, options);
    golden.fill(generator);
    return generator.write(alike);
  };
  const auto one = drawn(5), two = drawn(6);
  EXPECT_EQ(std::set<TokenList>(one.begin(), one.end()).size(), 8u);
  for (size_t i = 0; i + 1 < one.size(); ++i) {
    EXPECT_NE(two[i], one[i + 1]) << "not the next one of the seed before";
    EXPECT_NE(two[i], one[i]);
  }
}

TEST_P(TextsOf, AreThoseOfTheirSourceInAnyOrderAndTwice) {
  const GoldenTexts golden(GetParam());
  const GenerationOptions options = golden.options({{"do_sample", true}}, 5);
  TextGenerator generator({golden.model()}, options);
  golden.fill(generator);
  const std::vector<TokenList> sources = golden.prompts();
  int64_t told = 0;
  std::map<int64_t, TokenList> seen;
  const auto texts = generator.write(
      sources, {}, [&](int64_t place, const TokenList& text) { seen[place] = text; },
      [&] { told = int64_t(seen.size()); });
  EXPECT_EQ(told, 60) << "after the last step";
  for (const auto& [place, text] : seen) EXPECT_EQ(text, texts[size_t(place)]);
  const std::vector<TokenList> some = {sources[40], sources[3]};
  const std::vector<int64_t> numbers = {40, 3};
  EXPECT_THAT(generator.write(some, numbers), ::testing::ElementsAre(texts[40], texts[3]));
}

TEST(TextGenerator, RefusesWhatItCannotWrite) {
  const GoldenTexts golden("texts_blenderbot");
  GenerationOptions options = golden.options(json::object(), 2);
  TextGenerator generator({golden.model()}, options);
  const auto write = [&](const TokenList& source) {
    return refusal_of(Exit::kUsage, [&] { generator.write({{source}}); });
  };
  EXPECT_THAT(write({}), HasSubstr("a source of 0 tokens: 1 to 9"));
  EXPECT_THAT(write(TokenList(10, 4)), HasSubstr("a source of 10 tokens: 1 to 9"));
  EXPECT_THAT(write({3, 32}), HasSubstr("token 32 is none of the model's 32"));
  const auto make = [&](int64_t source, int64_t length) {
    return [&golden, options, source, length] {
      GenerationOptions wanted = options;
      wanted.longest_source = source;
      wanted.rules.scores.max_length = length;
      TextGenerator({golden.model()}, wanted);
    };
  };
  EXPECT_THAT(refusal_of(Exit::kUsage, make(15, 14)), HasSubstr("14 positions"));
  EXPECT_THAT(refusal_of(Exit::kUsage, make(9, 16)), HasSubstr("14 positions"));
  EXPECT_NO_THROW(make(14, 15)());
}

/// A model without an encoder, whose prompts have different lengths, some of several chunks.
constexpr model::Gpt2 kGpt2{
    .layers = 2, .width = 24, .heads = 2, .vocabulary = 32, .positions = 120};

class Prompts {
 public:
  Prompts() {
    for (int32_t i = 0; i < 9; ++i) {
      sources_.emplace_back();
      for (int32_t j = 0; j < 1 + 11 * i; ++j) sources_.back().push_back((3 + i * j * j) % 32);
    }
  }
  std::vector<TokenList> write(const json& rules, int64_t batch, int64_t max_length = 0) const {
    GenerationOptions options{.rules = testing_support::search_rules(rules, max_length)};
    options.rules.max_new_tokens = 12;
    options.batch = batch;
    options.longest_source = 89;
    TextGenerator generator({kGpt2}, options);
    const graph::Graph& graph = generator.graph();
    for (size_t p = 0; p < graph.parameters.size(); ++p)
      generator.set_parameter(int32_t(p), 0, values_of(graph, p));
    return generator.write(sources_);
  }
  const std::vector<TokenList>& sources() const { return sources_; }

  static std::vector<float> values_of(const graph::Graph& graph, size_t p) {
    const graph::Parameter& parameter = graph.parameters[p];
    auto values = testing::noise<float>(parameter.real_numel, p + 1, 0.4);
    if (parameter.init == graph::Init::ones) {
      for (float& value : values) value += 1.0f;
    }
    return values;
  }

 private:
  std::vector<TokenList> sources_;
};

TEST(TextGenerator, ContinuesPromptsOfAnyLengthsAsADecoderDoesOneByOne) {
  const Prompts prompts;
  const auto texts = prompts.write(json::object(), 4);
  Decoder decoder({kGpt2}, {.threads = 1});
  for (size_t p = 0; p < decoder.graph().parameters.size(); ++p)
    decoder.set_parameter(int32_t(p), 0, Prompts::values_of(decoder.graph(), p));
  const Language language{
      .feed = [&](std::span<const int32_t> tokens) { return decoder.feed(tokens); },
      .clear = [&] { decoder.clear(); },
      .context = 120,
      .vocabulary = 32};
  for (size_t i = 0; i < texts.size(); ++i) {
    decoder.clear();
    TokenList expected = prompts.sources()[i];
    continue_tokens(language, prompts.sources()[i], 12, {}, {},
                    [&](int32_t token) { expected.push_back(token); });
    EXPECT_EQ(texts[i], expected) << "prompt " << i;
  }
}

TEST(TextGenerator, EachTextEndsWhereTheFirstOfTwoLengthsDoes) {
  const Prompts prompts;
  const int64_t whole = 95;  // of the last prompt's 89 and the 12 that may be new
  auto expected = prompts.write(json::object(), 4);
  expected.back().resize(whole);
  EXPECT_EQ(prompts.write(json::object(), 4, whole), expected);
}

TEST(TextGenerator, BeamsOfPromptsDoNotDependOnTheBatch) {
  const Prompts prompts;
  const json rules = {{"num_beams", 3}, {"no_repeat_ngram_size", 2}};
  const auto all = prompts.write(rules, 9);
  EXPECT_EQ(prompts.write(rules, 1), all);
  EXPECT_EQ(prompts.write(rules, 4), all);
  for (size_t i = 0; i < all.size(); ++i)
    EXPECT_EQ(all[i].size(), prompts.sources()[i].size() + 12);
}

TEST(AnswerText, HasNeitherStartNorEndNorUnknownIds) {
  EXPECT_EQ(answer_text({0, 'a', 300, 'b', 1}, 0, 1, *open_tokenizer("bytes")), "ab");
}

}  // namespace
}  // namespace zero::writing
