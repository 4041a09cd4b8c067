// Ranks: 1 2 4
#include <gtest/gtest.h>

#include "tests/support/held_state.hpp"
#include "zero/models/generator.hpp"
#include "zero/state/state_view.hpp"

namespace zero::models {
namespace {

using testing::Held, testing::tiny;

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
std::vector<TokenList> alone(const state::Build& built, int64_t beams) {
  const state::Build whole = state::build(tiny(0), {.ranks = 1});
  Held held(whole.plan, 0);
  state::fill_initial_weights(held.view(), 7, 1);
  TextGenerator generator(built.model, options(beams));
  for (size_t p = 0; p < generator.graph().parameters.size(); ++p) {
    const auto [unit, range] = state::locate(whole.plan, int32_t(p));
    std::vector<float> values(size_t(range.end - range.begin));
    state::read_state(held.view(), *unit, state::StateKind::master, range, values);
    generator.set_parameter(int32_t(p), 0, values);
  }
  return generator.write(prompts());
}

TEST(GenerateTexts, AreTheSameOnEveryRankAtEveryStageAndRankCount) {
  const launch::Peers peers;
  for (int stage : {0, 3}) {
    const state::Build built = state::build(tiny(stage), {.ranks = peers.ranks()});
    Held held(built.plan, peers.rank());
    state::fill_initial_weights(held.view(), 7, 1);
    for (int64_t beams : {1, 3}) {
      const auto texts = generate_texts(held.view(), peers, built.model, options(beams), prompts());
      EXPECT_EQ(texts, alone(built, beams)) << "stage " << stage << ", beams " << beams;
    }
  }
}

TEST(GenerateTexts, MayBeFewerThanRanks) {
  const launch::Peers peers;
  const state::Build built = state::build(tiny(0), {.ranks = peers.ranks()});
  Held held(built.plan, peers.rank());
  state::fill_initial_weights(held.view(), 7, 1);
  const std::vector<TokenList> one = {{1, 2}};
  const auto texts = generate_texts(held.view(), peers, built.model, options(2), one);
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_EQ(texts[0].size(), 8u);
}

}  // namespace
}  // namespace zero::models
