// Ranks: 1 2
#include "zero/text/text_sampler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "src/model/gpt2.hpp"
#include "tests/support/bpe_folder.hpp"
#include "tests/support/decoder_trial.hpp"
#include "tests/support/held_state.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/temp_file.hpp"
#include "zero/state/state_view.hpp"
#include "zero/text/text_decoder.hpp"

namespace zero::writing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing_support::refusal_of;

const std::vector<std::pair<std::string, std::string>> kMerges = {{"t", "e"}};

/// 16-bit ids without a header, which may be any below 65536.
std::string ids_from(int first) {
  std::string bytes;
  for (int i = first; i < first + 64; ++i) bytes += {char(i & 255), char(i >> 8)};
  return bytes;
}

std::unique_ptr<Tokenizer> open(const std::string& data, const std::string& tokenizer,
                                int64_t vocabulary) {
  RunConfig config;
  config.data.train = data;
  config.data.tokenizer = tokenizer;
  const DataSets sets =
      token_data().open({.data = {.train = data, .tokenizer = tokenizer, .sequence_length = 4},
                         .vocab_size = vocabulary});
  return open_sample_tokenizer(
      config, sets,
      model::Gpt2{.layers = 1, .width = 8, .heads = 1, .vocabulary = vocabulary, .positions = 8});
}

TEST(OpenSampleTokenizer, DecodesWhatTheRunHasEncoded) {
  const testing_support::TempFile text("text.txt", "a text of some letters, to be read as bytes");
  EXPECT_EQ(open(text.path(), "bytes", 256)->vocab_size(), 256);
  const testing_support::BpeFolder bpe(kMerges);
  const auto tokenizer = open(text.path(), bpe.path(), 257);
  EXPECT_EQ(tokenizer->decode(std::vector<int32_t>{256}), "te");
}

TEST(OpenSampleTokenizer, RefusesTokensThatNothingDecodes) {
  const testing_support::TempFile tokens("ids.bin", ids_from(1000));
  EXPECT_THAT(refusal_of(Exit::kUsage, [&] { open(tokens.path(), "bytes", 2000); }),
              AllOf(HasSubstr("evaluation.show_samples: nothing here can decode the"),
                    HasSubstr("data.tokenizer = the folder")));
  const testing_support::TempFile few("few.bin", ids_from(10));
  const testing_support::BpeFolder bpe(kMerges);
  EXPECT_THAT(refusal_of(Exit::kUsage, [&] { open(few.path(), bpe.path(), 100); }),
              HasSubstr("the tokenizer knows 257 tokens, the model 100"));
}

TEST(SampleBytes, AreThoseOfTheWholeModelAndGrowWithIt) {
  model::Gpt2 model{.layers = 2, .width = 64, .heads = 2, .vocabulary = 256, .positions = 128};
  const int64_t weights = model::parameter_count({model}) * int64_t(sizeof(float));
  const auto bytes_of = open_tokenizer("bytes");
  const auto of_device = [](const plan::TierBytes& bytes) {
    EXPECT_EQ(bytes[size_t(plan::Tier::host)], 0);
    return bytes[size_t(plan::Tier::device)];
  };
  const int64_t bytes = of_device(sample_bytes({model}, 32, *bytes_of, {}));
  EXPECT_GT(bytes, weights);
  EXPECT_LT(bytes, 2 * weights);
  EXPECT_EQ(bytes, of_device(Decoder::bytes({model}, {.context = 32})))
      << "no longer than a training sample";
  EXPECT_LT(bytes, of_device(sample_bytes({model}, 128, *bytes_of, {})));
  model.layers = 4;
  EXPECT_LT(bytes, of_device(sample_bytes({model}, 32, *bytes_of, {})));
}

TEST(SampleBytes, AreThoseOfTheTokensThatOneCacheSpans) {
  // Trained on 128 tokens, it turns by other frequencies beyond 64.
  const model::Architecture model =
      testing_support::golden_model(testing::load_golden_decoder("phi3_long").hub);
  const auto bytes_of = open_tokenizer("bytes");
  EXPECT_EQ(sample_bytes({model}, 128, *bytes_of, {}), Decoder::bytes({model}, {.context = 64}));
}

/// Its tokens are bytes; what a large model takes for a text, it takes to decode one.
class SlowTokenizer : public Tokenizer {
 public:
  int64_t vocab_size() const override { return bytes_->vocab_size(); }
  uint64_t fingerprint() const override { return bytes_->fingerprint(); }
  std::vector<int32_t> encode(std::string_view text, SpecialNames names) const override {
    return bytes_->encode(text, names);
  }
  std::string decode(std::span<const int32_t> tokens, SpecialTokens) const override {
    std::this_thread::sleep_for(std::chrono::seconds(5));
    return bytes_->decode(tokens);
  }

 private:
  std::unique_ptr<Tokenizer> bytes_ = open_tokenizer("bytes");
};

/// Bytes with a 7 in front of texts: of a frame, as a template has bos, or of each encoded text.
class BeginningTokenizer : public Tokenizer {
 public:
  BeginningTokenizer(bool frames, bool encodes) : frames_(frames), encodes_(encodes) {}
  int64_t vocab_size() const override { return bytes_->vocab_size(); }
  uint64_t fingerprint() const override { return bytes_->fingerprint(); }
  TextFrame text_frame() const override {
    return {.before = frames_ ? std::vector<int32_t>{7} : std::vector<int32_t>(), .after = {}};
  }
  std::vector<int32_t> encode(std::string_view text, SpecialNames names) const override {
    std::vector<int32_t> ids = bytes_->encode(text, names);
    if (encodes_) ids.insert(ids.begin(), 7);
    return ids;
  }
  std::string decode(std::span<const int32_t> tokens, SpecialTokens) const override {
    return bytes_->decode(tokens);
  }

 private:
  const bool frames_, encodes_;
  std::unique_ptr<Tokenizer> bytes_ = open_tokenizer("bytes");
};

TEST(SampleText, BeginsWithTheIdsOfTheFrameAsAPromptDoes) {
  launch::Peers peers;
  RunConfig config = testing::tiny(0);
  config.model.numbers.counts["vocab_size"] = 256;
  const setup::Build built = setup::build(config, {.ranks = peers.ranks()});
  testing::Held held(built.plan, peers.rank());
  state::fill_initial_weights(held.view(), 7, 1);
  const auto sampled = [&](bool frames, bool encodes) {
    return sample_text(held.view(), peers, built.recipe, BeginningTokenizer(frames, encodes),
                       {.tokens = 12});
  };
  const std::string framed = sampled(true, false);
  EXPECT_EQ(framed.size(), peers.rank() == 0 ? 12 : 0);
  EXPECT_EQ(framed, sampled(false, true));
  EXPECT_EQ(framed, sampled(true, true)) << "not twice";
  const std::string plain = sampled(false, false);
  EXPECT_EQ(framed == plain, peers.rank() > 0) << "both are empty but on the first rank";
}

TEST(SampleText, IsWaitedForByRanksThatCannotSeeThatTheFirstOneWorks) {
  launch::Peers peers;
  std::atomic<int> hangs{0};
  launch::Watchdog watchdog({.timeout_seconds = 2,
                             .finished = [] { return int64_t(0); },
                             .running = [] { return std::string("samples"); },
                             .on_hang = [&](const std::string&, double) { ++hangs; }});
  peers.watch_with(&watchdog);
  RunConfig config = testing::tiny(0);
  config.model.numbers.counts["vocab_size"] = 256;
  const setup::Build built = setup::build(config, {.ranks = peers.ranks()});
  testing::Held held(built.plan, peers.rank());
  state::fill_initial_weights(held.view(), 7, 1);
  const std::string text =
      sample_text(held.view(), peers, built.recipe, SlowTokenizer(), {.tokens = 5});
  EXPECT_EQ(text.size(), peers.rank() == 0 ? 5 : 0);
  peers.smallest(0);
  peers.watch_with(nullptr);
  EXPECT_EQ(hangs, 0);
}

}  // namespace
}  // namespace zero::writing
