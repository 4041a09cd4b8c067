// Ranks: 1
#include "src/launch/moved_bytes.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace zero::launch {
namespace {

TEST(MovedBytes, RisesWithWhatIsReadAndWrittenAndNotByItself) {
  MovedBytes moved;
  const int64_t before = moved.count();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(moved.count(), before);
  const std::string path = testing::TempDir() + "moved_bytes";
  std::ofstream(path) << std::string(100'000, 'x');
  const int64_t written = moved.count();
  EXPECT_GE(written, before + 100'000);
  std::ifstream file(path);
  const std::string read(std::istreambuf_iterator<char>(file), {});
  EXPECT_GE(moved.count(), written + 100'000);
}

}  // namespace
}  // namespace zero::launch
