// Ranks: 1 2 4
#include "zero/text/shared_texts.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "src/model/blenderbot.hpp"
#include "src/model/gpt2.hpp"
#include "src/model/t5.hpp"
#include "tests/support/held_state.hpp"
#include "zero/base/text.hpp"
#include "zero/comm/backends.hpp"
#include "zero/state/state_view.hpp"
#include "zero/text/decoding_ranks.hpp"
#include "zero/text/text_generator.hpp"

namespace zero::writing {
namespace {

using testing::Held;
using testing::tiny;

/// Some prompts, fewer for the last ranks than for the first.
std::vector<TokenList> prompts() {
  std::vector<TokenList> all;
  for (int32_t i = 0; i < 7; ++i) all.push_back({i, 3, 5 + i});
  return all;
}

GenerationOptions options(int64_t beams) {
  GenerationOptions made;
  made.rules.max_new_tokens = 6;
  made.rules.num_beams = beams;
  if (beams == 1) made.rules.choice = {.draws = DrawRules{}, .seed = 3};
  made.batch = 2;
  made.longest_source = 3;
  return made;
}

/// What one process writes with the weights that the same seed gives.
std::vector<TokenList> alone(const setup::Build& built, int64_t beams) {
  const setup::Build whole = setup::build(tiny(0), {.ranks = 1});
  Held held(whole.plan, 0);
  state::fill_initial_weights(held.view(), 7, 1);
  TextGenerator generator(built.recipe, options(beams));
  for (size_t p = 0; p < generator.graph().parameters.size(); ++p) {
    const auto [unit, range] = state::locate(whole.plan, int32_t(p));
    std::vector<float> values(size_t(range.end - range.begin));
    state::read_state(held.view(), *unit, state::StateKind::master, range, values);
    generator.set_parameter(int32_t(p), 0, values);
  }
  return generator.write(prompts());
}

/// The ranks of this test, as a training at stage 3 has them.
struct Ranks {
  explicit Ranks(plan::Tier home) {
    if (peers.ranks() > 1) comm = comm::make_shm({});
    plan::Request training;
    training.stage = 3;
    training.ranks = peers.ranks();
    training.weight_home = home;
    together = decoding_ranks(training);
    if (!together) return;
    together->rank = peers.rank();
    together->comms[size_t(plan::Lane::gather)] = comm.get();
    together->largest = [this](int64_t value) { return peers.largest(value); };
  }

  launch::Peers peers;
  std::unique_ptr<comm::Communicator> comm;
  std::optional<DecodingRanks> together;
};

TEST(GenerateTexts, AreTheSameOnEveryRankAtEveryStageAndRankCount) {
  const launch::Peers peers;
  for (int stage : {0, 3}) {
    const setup::Build built = setup::build(tiny(stage), {.ranks = peers.ranks()});
    Held held(built.plan, peers.rank());
    state::fill_initial_weights(held.view(), 7, 1);
    const Ranks ranks(plan::Tier::device);
    for (int64_t beams : {1, 3}) {
      GenerationOptions asked = options(beams);
      if (stage == 3) asked.together = ranks.together;
      const auto texts = generate_texts(held.view(), peers, built.recipe, asked, prompts());
      EXPECT_EQ(texts, alone(built, beams)) << "stage " << stage << ", beams " << beams;
    }
  }
}

TEST(GenerateTexts, MayBeFewerThanRanks) {
  const launch::Peers peers;
  const setup::Build built = setup::build(tiny(0), {.ranks = peers.ranks()});
  Held held(built.plan, peers.rank());
  state::fill_initial_weights(held.view(), 7, 1);
  const std::vector<TokenList> one = {{1, 2}};
  const auto texts = generate_texts(held.view(), peers, built.recipe, options(2), one);
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_EQ(texts[0].size(), 8u);
}

const model::Gpt2 kGpt2{.layers = 2, .width = 64, .heads = 2, .vocabulary = 61, .positions = 24};
const model::T5 kT5{.layers = 2,
                    .decoder_layers = 2,
                    .width = 64,
                    .heads = 2,
                    .head_width = 12,
                    .inner = 96,
                    .vocabulary = 61,
                    .buckets = 8,
                    .distance = 6};
const model::Blenderbot kBlenderbot{.layers = 1,
                                    .decoder_layers = 3,
                                    .width = 80,
                                    .heads = 2,
                                    .inner = 96,
                                    .decoder_inner = 96,
                                    .vocabulary = 61,
                                    .positions = 24};

void fill(TextGenerator& generator) {
  const graph::Graph& graph = generator.graph();
  for (size_t p = 0; p < graph.parameters.size(); ++p) {
    std::vector<float> values(size_t(graph.parameters[p].real_numel));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = 0.3f * float(std::sin(double(i * (p + 3)) + double(p)));
    generator.set_parameter(int32_t(p), 0, values);
  }
}

/// They have many lengths, so that ranks begin, and end, at different times.
std::vector<TokenList> sources(int count) {
  std::vector<TokenList> all;
  for (int32_t i = 0; i < count; ++i) {
    TokenList& source = all.emplace_back();
    for (int32_t j = 0; j <= i * 5 % 9; ++j) source.push_back((7 * i + 3 * j) % 60 + 1);
  }
  return all;
}

GenerationOptions options_of(int64_t beams, bool draws) {
  GenerationOptions made;
  made.rules.max_new_tokens = 9;
  made.rules.num_beams = beams;
  made.rules.scores.eos_token_id = {5, 9, 14};
  if (draws) made.rules.choice = {.draws = DrawRules{}, .seed = 3};
  made.batch = 2;
  made.longest_source = 9;
  return made;
}

class Together : public ::testing::TestWithParam<std::tuple<int, plan::Tier>> {
 public:
  static model::Architecture model() {
    const model::Architecture models[] = {kGpt2, kT5, kBlenderbot};
    return models[std::get<0>(GetParam())];
  }
};
INSTANTIATE_TEST_SUITE_P(Models, Together,
                         ::testing::Combine(::testing::Values(0, 1, 2),
                                            ::testing::Values(plan::Tier::device,
                                                              plan::Tier::host)));

TEST_P(Together, RanksInStepWriteWhatOneWritesAlone) {
  const Ranks ranks(std::get<1>(GetParam()));
  for (const auto& [beams, draws] :
       {std::pair(1, false), std::pair(1, true), std::pair(3, false)}) {
    GenerationOptions options = options_of(beams, draws);
    TextGenerator alone({model()}, options);
    fill(alone);
    options.together = ranks.together;
    TextGenerator together({model()}, options);
    fill(together);
    for (const int count : {11, 1}) {
      const auto asked = sources(count);
      EXPECT_EQ(write_by_ranks(together, ranks.peers, asked), alone.write(asked))
          << beams << " beams of " << count;
    }
  }
}

TEST_P(Together, RanksHoldAShardAndTheUnitsThatAreInUse) {
  const Ranks ranks(std::get<1>(GetParam()));
  GenerationOptions options = options_of(1, false);
  const plan::TierBytes whole = TextGenerator::bytes({model()}, options);
  options.together = ranks.together;
  const plan::TierBytes part = TextGenerator::bytes({model()}, options);
  if (!ranks.together) {
    EXPECT_EQ(part, whole);
    return;
  }
  const int64_t weights = model::parameter_count({model()}) * int64_t(sizeof(float));
  const auto home = size_t(std::get<1>(GetParam()));
  if (home == size_t(plan::Tier::host)) {
    EXPECT_GE(part[home], weights / ranks.peers.ranks());
    EXPECT_LE(part[home], weights * 3 / 2 / ranks.peers.ranks());
  } else {
    EXPECT_EQ(part[size_t(plan::Tier::host)], 0);
  }
}

TEST(DecodingRanks, KeepEveryLimitOfTheTraining) {
  plan::Request training;
  training.stage = 3;
  training.ranks = 2;
  training.overlap = false;
  training.pinned_host = true;
  int64_t next = 100;
  for (int64_t plan::Request::*limit :
       {&plan::Request::gather_bucket_numel, &plan::Request::prefetch_numel,
        &plan::Request::keep_below_numel, &plan::Request::keep_distance_numel,
        &plan::Request::live_numel}) {
    training.*limit = ++next;
  }
  const plan::Request kept = decoding_ranks(training)->request;
  EXPECT_EQ(kept.gather_bucket_numel, 101);
  EXPECT_EQ(kept.prefetch_numel, 102);
  EXPECT_EQ(kept.keep_below_numel, 103);
  EXPECT_EQ(kept.keep_distance_numel, 104);
  EXPECT_EQ(kept.live_numel, 105);
  EXPECT_TRUE(kept.pinned_host && !kept.overlap);
  EXPECT_EQ(kept.weight_home, plan::Tier::device);
  training.weight_home = plan::Tier::nvme;
  EXPECT_EQ(decoding_ranks(training)->request.weight_home, plan::Tier::host);
}

TEST(WarnOfStuck, CountsTheTextsOfAllRanksOnce) {
  const launch::Peers peers;
  ::testing::internal::CaptureStderr();
  warn_of_stuck(peers, peers.rank() + 1, 50);
  const std::string told = ::testing::internal::GetCapturedStderr();
  const int64_t all = peers.ranks() * (peers.ranks() + 1) / 2;
  if (peers.rank() > 0) {
    EXPECT_EQ(told, "");
  } else {
    EXPECT_NE(told.find(text(counted(all, "text"), " of 50 ended where")), std::string::npos)
        << told;
  }
  ::testing::internal::CaptureStderr();
  warn_of_stuck(peers, 0, 50);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

/// A rank of four holds a quarter of the weights, and the units that are gathered.
TEST(DecodingRanks, TakeLessOfEachRank) {
  model::Gpt2 deep = kGpt2;
  deep.layers = 8;
  plan::Request training;
  training.stage = 3;
  training.ranks = 4;
  training.overlap = false;
  GenerationOptions options = options_of(1, false);
  const int64_t whole = TextGenerator::bytes({deep}, options)[size_t(plan::Tier::device)];
  options.together = decoding_ranks(training);
  EXPECT_LT(TextGenerator::bytes({deep}, options)[size_t(plan::Tier::device)], whole * 6 / 10);
}

void expect_same_texts_in_lent_memory(const model::Architecture& model) {
  GenerationOptions options = options_of(3, false);
  TextGenerator own({model}, options);
  fill(own);
  const auto wanted = own.write(sources(5));
  const int64_t bytes = TextGenerator::bytes({model}, options)[size_t(plan::Tier::device)];
  const Arena arena(bytes + 4096);
  std::ranges::fill(std::span(arena.data(), size_t(arena.bytes())), std::byte{0xFF});
  options.lent = {.arena = &arena, .begin = 4096};
  TextGenerator lent({model}, options);
  fill(lent);
  EXPECT_EQ(lent.write(sources(5)), wanted);
  const auto touched = [](std::byte byte) { return byte != std::byte{0xFF}; };
  const std::span<const std::byte> all(arena.data(), size_t(arena.bytes()));
  EXPECT_TRUE(std::ranges::none_of(all.first(4096), touched));
  EXPECT_TRUE(std::ranges::any_of(all.subspan(4096), touched));
  options.lent.begin = 8192;
  TextGenerator apart({model}, options);
  fill(apart);
  EXPECT_EQ(apart.write(sources(5)), wanted) << "too small, so it takes its own";
}

/// The arena of a training is larger than its states by what its bodies use in turn.
TEST(LentMemory, IsUsedWhereItIsLargeEnoughAndChangesNoText) {
  for (const model::Architecture& model :
       {model::Architecture(kGpt2), model::Architecture(kT5), model::Architecture(kBlenderbot)}) {
    expect_same_texts_in_lent_memory(model);
  }
}

}  // namespace
}  // namespace zero::writing
