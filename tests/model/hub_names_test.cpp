// Ranks: 1
#include "zero/model/hub_names.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace zero::model {
namespace {

using Names = std::vector<std::string_view>;

std::string wrapper(const Names& names) {
  return wrapper_of(names, [](std::string_view name) { return name == "a" || name == "model.a"; });
}

TEST(HubNames, OfAWrapperAreThoseThatAllBeginWithItAndSomeAreKnownWithout) {
  EXPECT_EQ(wrapper({"module.a", "module.b"}), "module.");
  EXPECT_EQ(wrapper({"module._orig_mod.a"}), "module._orig_mod.");
  EXPECT_EQ(wrapper({"base_model.model.a", "base_model.model.c"}), "base_model.model.");
  EXPECT_EQ(wrapper({"a", "module.a"}), "") << "one is known as it is";
  EXPECT_EQ(wrapper({"module.a", "b"}), "") << "not all are wrapped";
  EXPECT_EQ(wrapper({"model.a", "model.b"}), "") << "a name of the model's own";
  EXPECT_EQ(wrapper({"net.a"}), "") << "nobody knows it";
  EXPECT_EQ(wrapper({"module.module.module.module.a"}), "") << "deeper than any";
  EXPECT_EQ(wrapper({}), "");
}

TEST(HubNames, OfUnmetKeysAskForNothingByOneValue) {
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
