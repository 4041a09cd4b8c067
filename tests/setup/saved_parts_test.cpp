// Ranks: 1
#include "zero/setup/saved_parts.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/tiny_plans.hpp"

namespace zero::setup {
namespace {

std::vector<SavedPart> parts_of(const plan::Plan& plan, bool weights_only) {
  const std::span<const SavedPart> parts = saved_parts(plan, weights_only);
  return {parts.begin(), parts.end()};
}

int64_t shards_of(const plan::Plan& plan) {
  int64_t numel = 0;
  for (const plan::Unit& unit : plan.units) numel += unit.shard_numel;
  return numel;
}

TEST(SavedParts, AreTheWeightTheMasterAndAStateEach) {
  const plan::Plan adam = testing::tiny_plan({.stage = 1});
  EXPECT_EQ(parts_of(adam, false),
            (std::vector{SavedPart::weight, SavedPart::master, SavedPart(0), SavedPart(1)}));
  EXPECT_EQ(parts_of(adam, true), (std::vector{SavedPart::weight}));
}

TEST(SavedParts, OfAFrozenParameterAreTheWeightAloneAndOfABorrowedOneNone) {
  graph::Parameter parameter;
  EXPECT_TRUE(is_saved(parameter, SavedPart(1)));
  parameter.frozen = true;
  EXPECT_TRUE(is_saved(parameter, SavedPart::weight));
  EXPECT_FALSE(is_saved(parameter, SavedPart::master));
  parameter.borrowed = true;
  EXPECT_FALSE(is_saved(parameter, SavedPart::weight));
}

TEST(SavedParts, ACopyHasOfASplitMasterItsLowHalf) {
  const plan::Plan plan = testing::tiny_plan({.stage = 1, .compute = Dtype::bf16});
  EXPECT_EQ(element_bytes(plan, SavedPart::weight), 2);
  EXPECT_EQ(element_bytes(plan, SavedPart::master), 4);
  EXPECT_EQ(copied_bytes(plan, SavedPart::master), 2);
  EXPECT_EQ(saved_copy_bytes(plan, saved_parts(plan, false)), 12 * shards_of(plan));
  EXPECT_EQ(saved_copy_bytes(plan, saved_parts(plan, true)), 2 * shards_of(plan));
}

TEST(SavedParts, OnDiskStayThereAndAreListedInOrder) {
  const plan::Plan plan = testing::tiny_plan({.stage = 1, .optimizer_home = plan::Tier::nvme});
  const auto parts = saved_parts(plan, false);
  const std::vector<tiers::DiskExtent> extents = saved_on_disk(plan, parts);
  ASSERT_GT(extents.size(), 1u);
  for (size_t i = 1; i < extents.size(); ++i) EXPECT_LT(extents[i - 1].offset, extents[i].offset);
  EXPECT_FALSE(is_copied(plan, plan.units[0], SavedPart(0)));
  EXPECT_TRUE(is_copied(plan, plan.units[0], SavedPart::weight));
}

}  // namespace
}  // namespace zero::setup
