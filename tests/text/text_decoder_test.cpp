// Ranks: 1

#include "zero/text/text_decoder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "src/model/gpt2.hpp"
#include "src/text/row_decoder.hpp"
#include "tests/support/arrays.hpp"
#include "tests/support/count_allocations.hpp"
#include "tests/support/decoder_trial.hpp"
#include "tests/support/forward_of.hpp"
#include "tests/support/naive.hpp"
#include "tests/support/refusal.hpp"
#include "zero/base/error.hpp"

namespace zero::writing {
namespace {

using ::testing::HasSubstr;
using testing_support::refusal_of;

/// Padding rows in the table, a head width that is no whole vector.
constexpr model::Gpt2 kSmall{
    .layers = 3, .width = 72, .heads = 3, .vocabulary = 300, .positions = 240};

std::vector<float> values_of(const graph::Graph& graph, int32_t index) {
  const graph::Parameter& parameter = graph.parameters[size_t(index)];
  auto values = testing::noise<float>(parameter.real_numel, uint64_t(index) + 1, 0.2);
  if (parameter.init == graph::Init::ones) {
    for (float& value : values) value += 1.0f;
  }
  return values;
}

Decoder make_decoder(Dtype compute, int threads) {
  return Decoder({kSmall}, {.compute = compute, .context = 0, .threads = threads});
}

void fill(Decoder& decoder) {
  for (size_t p = 0; p < decoder.graph().parameters.size(); ++p)
    decoder.set_parameter(int32_t(p), 0, values_of(decoder.graph(), int32_t(p)));
}

int32_t largest(std::span<const float> logits) {
  return int32_t(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

std::vector<int32_t> prompt() {
  std::vector<int32_t> tokens;
  for (int32_t i = 0; i < 37; ++i) tokens.push_back(i * i % 300);
  return tokens;
}

/// The prompt and `count` tokens, each the likeliest; `seen` gets the logits of every step.
std::vector<int32_t> continue_greedily(Decoder& decoder, int count,
                                       const std::function<void(std::span<const float>)>& seen) {
  std::vector<int32_t> text = prompt();
  std::span<const float> logits = decoder.feed(text);
  for (int i = 0; i < count; ++i) {
    seen(logits);
    text.push_back(largest(logits));
    logits = decoder.feed({&text.back(), 1});
  }
  return text;
}

class DecoderOf : public ::testing::TestWithParam<Dtype> {};
INSTANTIATE_TEST_SUITE_P(Types, DecoderOf, ::testing::Values(Dtype::f32, Dtype::bf16, Dtype::f16));

TEST_P(DecoderOf, EqualsRecomputeWithoutACacheBitForBit) {
  Decoder cached = make_decoder(GetParam(), 2), anew = make_decoder(GetParam(), 1);
  fill(cached);
  fill(anew);
  std::vector<std::vector<float>> steps;
  const std::vector<int32_t> text = continue_greedily(
      cached, 200, [&](auto logits) { steps.emplace_back(logits.begin(), logits.end()); });
  for (size_t i = 0; i < steps.size(); ++i) {
    anew.clear();
    const auto logits = anew.feed(std::span(text).first(prompt().size() + i));
    ASSERT_EQ(largest(logits), text[prompt().size() + i]) << "token " << i;
    ASSERT_TRUE(testing::same_bits(std::vector<float>(logits.begin(), logits.end()), steps[i]))
        << "token " << i;
  }
}

/// Logits at every position by the graph that training evaluates, all at once, in other products
/// and other attention.
std::vector<std::vector<double>> logits_of_training(Dtype compute,
                                                    const std::vector<int32_t>& text) {
  const graph::Graph graph =
      model::forward_of(kSmall, {.micro = {.samples = 1, .length = int64_t(text.size())},
                                 .compute = compute,
                                 .training = false});
  run::NaiveExecutor naive(graph, 1);
  const auto numbers = [&](graph::TensorId tensor) {
    std::vector<double> list;
    if (compute == Dtype::f32)
      return testing::doubles<float>(
          {naive.values<float>(tensor).begin(), naive.values<float>(tensor).end()});
    if (compute == Dtype::f16)
      return testing::doubles<f16>(
          {naive.values<f16>(tensor).begin(), naive.values<f16>(tensor).end()});
    return testing::doubles<bf16>(
        {naive.values<bf16>(tensor).begin(), naive.values<bf16>(tensor).end()});
  };
  for (size_t p = 0; p < graph.parameters.size(); ++p) {
    const graph::TensorId tensor = graph.parameters[p].tensor;
    const std::vector<float> values = values_of(graph, int32_t(p));
    std::ranges::fill(naive.bytes(tensor), std::byte{0});
    for (size_t i = 0; i < values.size(); ++i) {
      if (compute == Dtype::f32) naive.values<float>(tensor)[i] = values[i];
      if (compute == Dtype::bf16) naive.values<bf16>(tensor)[i] = bf16(values[i]);
      if (compute == Dtype::f16) naive.values<f16>(tensor)[i] = f16(values[i]);
    }
  }
  std::ranges::copy(text, naive.values<int32_t>(graph.input("tokens")).begin());
  std::ranges::fill(naive.bytes(graph.input("targets")), std::byte{0xFF});
  std::ranges::fill(naive.bytes(graph.output(graph::kLossOutput)), std::byte{0});
  naive.run(0);
  const graph::Op& head = graph.ops.back();
  const std::vector<double> x = numbers(head.inputs[0]), table = numbers(head.inputs[1]);
  const size_t width = size_t(kSmall.width), classes = size_t(kSmall.vocabulary);
  std::vector<std::vector<double>> logits(text.size(), std::vector<double>(classes));
  for (size_t r = 0; r < text.size(); ++r)
    for (size_t c = 0; c < classes; ++c)
      for (size_t j = 0; j < width; ++j) logits[r][c] += x[r * width + j] * table[c * width + j];
  return logits;
}

TEST_P(DecoderOf, GivesTheLogitsOfTheGraphThatTrains) {
  Decoder decoder = make_decoder(GetParam(), 2);
  fill(decoder);
  std::vector<std::vector<float>> steps;
  const std::vector<int32_t> text = continue_greedily(
      decoder, 200, [&](auto logits) { steps.emplace_back(logits.begin(), logits.end()); });
  const auto expected = logits_of_training(GetParam(), text);
  const bool single = GetParam() == Dtype::f32;
  for (size_t i = 0; i < steps.size(); ++i) {
    const std::vector<double>& row = expected[prompt().size() + i - 1];
    ASSERT_LT(testing::relative_error(steps[i], row), single ? 3e-6 : 3e-2) << "token " << i;
    const auto likeliest = std::max_element(row.begin(), row.end()) - row.begin();
    if (single) {
      ASSERT_EQ(likeliest, text[prompt().size() + i]) << "token " << i;
    }
  }
}

TEST_P(DecoderOf, ATokenAllocatesNothing) {
  zero::testing::allocations = 0;
  zero::testing::counting = true;
  ::operator delete(::operator new(1));
  EXPECT_EQ(zero::testing::allocations, 1) << "what is allocated is counted";
  zero::testing::counting = false;
  Decoder decoder = make_decoder(GetParam(), 2);
  fill(decoder);
  const std::vector<int32_t> text = prompt();
  decoder.feed(text);
  decoder.feed(std::span(text).first(1));
  zero::testing::allocations = 0;
  zero::testing::counting = true;
  for (int i = 0; i < 20; ++i) decoder.feed(std::span(text).first(1));
  decoder.feed(text);
  zero::testing::counting = false;
  EXPECT_EQ(zero::testing::allocations, 0);
}

TEST(Decoder, SetsParametersInPieces) {
  Decoder whole = make_decoder(Dtype::f32, 1), pieces = make_decoder(Dtype::f32, 1);
  fill(whole);
  fill(pieces);
  const std::vector<float> table = values_of(whole.graph(), 0);
  pieces.set_parameter(0, 0, std::vector<float>(table.size()));
  pieces.set_parameter(0, 0, std::span(table).first(1000));
  pieces.set_parameter(0, 1000, std::span(table).subspan(1000));
  const auto a = whole.feed(prompt()), b = pieces.feed(prompt());
  EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end()));
}

TEST(Decoder, CountsAndForgetsTokens) {
  Decoder decoder = make_decoder(Dtype::bf16, 1);
  fill(decoder);
  const auto first = decoder.feed(prompt());
  const std::vector<float> before(first.begin(), first.end());
  EXPECT_EQ(decoder.position(), 37);
  decoder.feed(prompt());
  EXPECT_EQ(decoder.position(), 74);
  decoder.clear();
  EXPECT_EQ(decoder.position(), 0);
  EXPECT_THAT(decoder.feed(prompt()), ::testing::ElementsAreArray(before));
}

TEST(Decoder, RefusesWhatItHasNoRoomOrNoRowFor) {
  Decoder decoder({kSmall}, {.compute = Dtype::f32, .context = 40, .threads = 1});
  decoder.feed(prompt());
  EXPECT_THAT(refusal_of(Exit::kUsage, [&] { decoder.feed(prompt()); }),
              HasSubstr("37 in a context of 40"));
  EXPECT_EQ(decoder.position(), 37) << "nothing was fed";
  for (int32_t token : {-1, 300}) {
    EXPECT_THAT(refusal_of(Exit::kUsage,
                           [&] {
                             decoder.feed({&token, 1});
                           }),
                HasSubstr("none of the model's 300"));
  }
  EXPECT_THAT(refusal_of(Exit::kInternal, [&] { decoder.feed({}); }), HasSubstr("no token"));
  const std::vector<float> row(73);
  EXPECT_THAT(refusal_of(Exit::kInternal, [&] { decoder.set_parameter(0, 72 * 299, row); }),
              HasSubstr("wte.weight"))
      << "the padding of the table";
}

TEST(Decoder, RefusesContextsThatItCannotHave) {
  const auto make = [](int64_t context) {
    return [=] { Decoder({kSmall}, {.context = context, .threads = 1}); };
  };
  EXPECT_THAT(refusal_of(Exit::kUsage, make(241)), HasSubstr("240 positions"));
  EXPECT_THAT(refusal_of(Exit::kUsage, make(-1)), HasSubstr("at least 1"));
}

/// Stores the weights of a golden file.
template <class Rows>
void fill(Rows& rows, const testing::GoldenDecoder& golden) {
  const graph::Graph& graph = rows.graph();
  for (size_t p = 0; p < graph.parameters.size(); ++p) {
    const graph::Parameter& parameter = graph.parameters[p];
    const std::vector<float> stored =
        testing_support::golden_values(golden.tensors, parameter.stored);
    std::vector<float> own(stored.size());
    graph::from_stored(parameter.stored, testing_support::real_extents(graph, parameter), stored,
                       own);
    rows.set_parameter(int32_t(p), 0, own);
  }
}

class GoldenTextOf : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Rows, GoldenTextOf, ::testing::ValuesIn(testing_support::kGoldenDecoders),
                         [](const auto& of) { return std::string(of.param); });

TEST_P(GoldenTextOf, IsHuggingFaces) {
  const testing::GoldenDecoder golden = testing::load_golden_decoder(GetParam());
  const model::Architecture model = testing_support::golden_model(golden.hub);
  Decoder decoder({model}, {.context = golden.drawn});
  fill(decoder, golden);
  std::span<const float> logits =
      decoder.feed(std::span(golden.tokens).first(size_t(golden.prompt)));
  ASSERT_EQ(logits.size(), golden.logits.size());
  for (size_t i = 0; i < logits.size(); ++i) EXPECT_NEAR(logits[i], golden.logits[i], 2e-5) << i;
  for (int64_t i = 0; i + golden.prompt < golden.drawn; ++i) {
    const int32_t chosen = largest(logits);
    ASSERT_EQ(chosen, golden.text[size_t(i)]) << "token " << i;
    if (i + golden.prompt + 1 < golden.drawn) logits = decoder.feed({&chosen, 1});
  }
  decoder.clear();
  logits = decoder.feed(testing::drawn_tokens(golden, int64_t(logits.size())));
  for (size_t i = 0; i < logits.size(); ++i) EXPECT_NEAR(logits[i], golden.far[i], 2e-5) << i;
}

TEST(Decoder, OfAllPositionsHasThoseThatOneCacheSpans) {
  const auto bytes = [](int64_t context) {
    return Decoder::bytes(
        {testing_support::golden_model(testing::load_golden_decoder("phi3_long").hub)},
        {.context = context});
  };
  EXPECT_EQ(bytes(0), bytes(64));
  EXPECT_THAT(refusal_of(Exit::kUsage, [&] { bytes(65); }), HasSubstr("which no cache spans"));
}

TEST(Decoder, KeepsARingOfTheKeysThatWindowsSee) {
  // 3 layers with windows of 7, 2 heads of 12 of keys: rings of 7 + 63 rows, so of 128 columns.
  const auto bytes = [](const char* name, int64_t context) {
    const model::Architecture model =
        testing_support::golden_model(testing::load_golden_decoder(name).hub);
    return Decoder::bytes({model}, {.context = context})[size_t(plan::Tier::device)];
  };
  const auto grown = [&](const char* name) { return bytes(name, 256) - bytes(name, 128); };
  constexpr int64_t kKeys = 2 * 2 * 12 * 4 * 128, kWideKeys = 2 * 2 * 16 * 4 * 128;
  EXPECT_LT(grown("mistral_b"), kKeys) << "no layer";
  EXPECT_GE(grown("ministral"), kKeys) << "the layer without a window";
  EXPECT_LT(grown("ministral"), 2 * kKeys);
  EXPECT_GE(grown("mistral_a"), 3 * kWideKeys) << "all layers";
}

TEST_P(GoldenTextOf, IsTheSameWithoutACacheOfEarlierTokens) {
  const testing::GoldenDecoder golden = testing::load_golden_decoder(GetParam());
  const model::Architecture model = testing_support::golden_model(golden.hub);
  const auto length = size_t(golden.drawn), prompt = size_t(golden.prompt);
  std::vector<int32_t> text(golden.tokens.begin(), golden.tokens.begin() + golden.prompt);
  text.insert(text.end(), golden.text.begin(), golden.text.end());
  std::vector<TokenRow> chunk;
  std::vector<int32_t> wanted;
  for (size_t i = 0; i < length; ++i)
    chunk.push_back({.token = text[i], .place = {.text = 0, .position = int32_t(i)}});
  // A chunk of the whole text has one row of logits, so `texts` makes room for more.
  const graph::Chunk whole{.length = golden.drawn, .context = golden.drawn, .texts = golden.drawn};
  RowDecoder rows({model}, {.decode = whole, .prefill = whole});
  fill(rows, golden);
  for (size_t i = prompt - 1; i + 1 < length; ++i) wanted.push_back(int32_t(i));
  rows.run(plan::kPrefill, {.rows = chunk, .logits = wanted});
  const size_t vocabulary = size_t(rows.vocabulary());
  for (size_t i = 0; i < wanted.size(); ++i)
    EXPECT_EQ(largest(rows.logits().subspan(i * vocabulary, vocabulary)), text[prompt + i]) << i;
}

}  // namespace
}  // namespace zero::writing
