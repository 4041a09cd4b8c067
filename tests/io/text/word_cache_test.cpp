// Ranks: 1

#include "io/text/word_cache.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zero {
namespace {

using ::testing::ElementsAre;

TEST(WordCache, KnowsAWordAgain) {
  WordCache cache;
  EXPECT_FALSE(cache.slot_of("a word").holds("a word"));
  cache.slot_of("a word").keep("a word", std::vector<int32_t>{7, 8});
  ASSERT_TRUE(cache.slot_of("a word").holds("a word"));
  EXPECT_THAT(cache.slot_of("a word").known(), ElementsAre(7, 8));
  EXPECT_FALSE(cache.slot_of("a word").holds("a wore"));
}

TEST(WordCache, KeepsNoMoreIdsThanItHasPlacesFor) {
  WordCache cache;
  cache.slot_of("word").keep("word", std::vector<int32_t>(WordCache::kMostIds + 1));
  EXPECT_FALSE(cache.slot_of("word").holds("word"));
}

}  // namespace
}  // namespace zero
