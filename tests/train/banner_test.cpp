// Ranks: 1

#include "zero/train/banner.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace zero::train {
namespace {

std::vector<std::string> hosts(const std::vector<std::string>& names, int ranks) {
  std::vector<std::string> out;
  for (const std::string& name : names) out.insert(out.end(), size_t(ranks), name);
  return out;
}

TEST(PlacesText, NamesTheOnlyHost) {
  EXPECT_EQ(places_text({"n1"}), "1 rank, 1 on host n1");
  EXPECT_EQ(places_text(hosts({"n1"}, 4)), "4 ranks, 4 on host n1");
}

TEST(PlacesText, NamesNodesByRanges) {
  EXPECT_EQ(places_text(hosts({"n1", "n2", "n3", "n4"}, 8)), "32 ranks on 4 nodes (n1-n4), 8 each");
  EXPECT_EQ(places_text(hosts({"n1", "n2"}, 1)), "2 ranks on 2 nodes (n1, n2), 1 each");
  EXPECT_EQ(places_text(hosts({"gpu08", "gpu09", "gpu10", "login", "gpu12"}, 2)),
            "10 ranks on 5 nodes (gpu08-gpu10, login, gpu12), 2 each");
  EXPECT_EQ(places_text(hosts({"n9", "n10", "n11", "n013"}, 1)),
            "4 ranks on 4 nodes (n9-n11, n013), 1 each");
}

TEST(PlacesText, TellsUnequalNodes) {
  EXPECT_EQ(places_text({"b", "a", "a", "a"}), "4 ranks on 2 nodes (b, a), 1 to 3 each");
}

TEST(PlacesText, LeavesNamesOutWhereThereAreMany) {
  std::vector<std::string> odd;
  for (int node = 1; node < 24; node += 2) odd.push_back("n" + std::to_string(node));
  EXPECT_EQ(places_text(odd),
            "12 ranks on 12 nodes (n1, n3, n5, n7, n9, n11, n13, n15 and 4 more), 1 each");
}

}  // namespace
}  // namespace zero::train
