// Ranks: 1
#include "zero/model/hub_wrappers.hpp"

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

TEST(HubWrappers, OfAWrapperAreThoseThatAllBeginWithItAndSomeAreKnownWithout) {
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

}  // namespace
}  // namespace zero::model
