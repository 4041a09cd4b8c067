// Ranks: 1
#include "zero/model/unmet_keys.hpp"

#include <gtest/gtest.h>

namespace zero::model {
namespace {

TEST(UnmetKeys, AskForNothingByOneValue) {
  EXPECT_TRUE(is_unmet_key("typical_p"));
  EXPECT_FALSE(is_unmet_key("num_beams"));
  EXPECT_TRUE(asks_for_nothing("typical_p", 1.0));
  EXPECT_TRUE(asks_for_nothing("typical_p", int64_t(1)));
  EXPECT_FALSE(asks_for_nothing("typical_p", 0.9));
  EXPECT_TRUE(asks_for_nothing("bad_words_ids", TomlArray()));
  EXPECT_FALSE(asks_for_nothing("bad_words_ids", TomlArray{int64_t(3)}));
  EXPECT_FALSE(asks_for_nothing("num_beams", int64_t(1))) << "it is met";
}

}  // namespace
}  // namespace zero::model
