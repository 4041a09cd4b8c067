// Ranks: 1
#include "src/config/key_assignment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zero {
namespace {

using ::testing::HasSubstr;

TEST(SameValue, OfNumbersIsTheirSizeAndOfOthersTheirText) {
  EXPECT_TRUE(same_value(1e9, int64_t(1000000000)));
  EXPECT_FALSE(same_value(1.5, int64_t(1)));
  EXPECT_TRUE(same_value("auto", "auto"));
  EXPECT_FALSE(same_value(true, "true"));
}

TEST(CouldBeOf, TakesTheTypeOfTheAcceptedValues) {
  const Fixed flag{.accepted = {true}, .reason = ""};
  EXPECT_TRUE(could_be_of(flag, false));
  EXPECT_FALSE(could_be_of(flag, "no"));
  const Fixed automatic{.accepted = {"auto"}, .reason = ""};
  EXPECT_TRUE(could_be_of(automatic, int64_t(3)));
}

TEST(Assign, StoresALegalValueAndLeavesTheMemberAtOthers) {
  int64_t number = 5;
  const Field field{
      .key = "a.b", .binding = Integer{&number, {.low = 1, .high = 9}}, .standing = Standing::ours};
  EXPECT_EQ(assign(field, int64_t(7)), "");
  EXPECT_EQ(number, 7);
  EXPECT_THAT(assign(field, int64_t(10)), HasSubstr("out of range; write 1 to 9"));
  EXPECT_NE(assign(field, "seven"), "");
  EXPECT_EQ(number, 7);
}

}  // namespace
}  // namespace zero
