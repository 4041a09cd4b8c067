// Ranks: 1
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "src/train/chain.hpp"
#include "tests/support/small_checkpoint.hpp"

namespace zero::train {
namespace {

namespace fs = std::filesystem;

class DataWatches : public ::testing::Test {
 protected:
  DataWatches() {
    write("a", "one");
    write("b", "three");
  }
  std::string path(const std::string& name) const { return place_.path() + "/" + name; }
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(path(name)) << content;
  }
  DataWatch watch() const { return DataWatch({path("a"), path("b"), path("absent")}); }
  testing_support::TempFolder place_{"data-watch"};
};

TEST_F(DataWatches, SeeNoChangeWhereThereIsNone) {
  EXPECT_EQ(watch().changed(), "");
  EXPECT_EQ(watch().bytes(), 8);
}

TEST_F(DataWatches, NameTheFileOfAnotherSizeTimeOrInode) {
  const DataWatch before = watch();
  const fs::file_time_type time = fs::last_write_time(path("b"));
  fs::last_write_time(path("b"), time + std::chrono::nanoseconds(1'000'000));
  EXPECT_EQ(before.changed(), path("b")) << "another time";
  fs::last_write_time(path("b"), time);
  EXPECT_EQ(before.changed(), "");
  fs::copy_file(path("b"), path("c"));
  fs::last_write_time(path("c"), time);
  fs::rename(path("c"), path("b"));
  EXPECT_EQ(before.changed(), path("b")) << "another inode";
  fs::resize_file(path("a"), 2);
  EXPECT_EQ(before.changed(), path("a")) << "another size";
}

TEST_F(DataWatches, ForgetAChangeThatIsKnown) {
  DataWatch known = watch();
  write("absent", "here now");
  EXPECT_EQ(known.changed(), path("absent"));
  known.renew();
  EXPECT_EQ(known.changed(), "");
  fs::remove(path("a"));
  EXPECT_EQ(known.changed(), "") << "it can still be read by whoever has it open";
}

}  // namespace
}  // namespace zero::train
