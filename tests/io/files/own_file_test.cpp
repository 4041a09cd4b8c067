// Ranks: 1
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "tests/support/refusal.hpp"
#include "tests/support/small_checkpoint.hpp"
#include "zero/io/files/files.hpp"

namespace zero {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing_support::refusal_of;

class OwnFiles : public ::testing::Test {
 protected:
  OwnFiles() { std::ofstream(at("theirs")) << "as it was"; }
  std::string at(const std::string& name) const { return place_.path() + "/" + name; }
  std::string theirs() const { return own_text(at("theirs"), 100).value_or("gone"); }
  /// Why the file of this name is not opened.
  std::string refusal(const std::string& name) const {
    return refusal_of(Exit::kIo, [&] { open_own(at(name), O_WRONLY | O_CREAT | O_APPEND); });
  }
  testing_support::TempFolder place_{"own-files"};
};

TEST_F(OwnFiles, AreMadeAndOpenedWhereTheNameIsFree) {
  EXPECT_EQ(write_all(open_own(at("a"), O_WRONLY | O_CREAT | O_APPEND), "one "), 0);
  EXPECT_EQ(write_all(open_own(at("a"), O_WRONLY | O_CREAT | O_APPEND), "two"), 0);
  EXPECT_EQ(own_text(at("a"), 7), "one two");
  EXPECT_EQ(own_text(at("a"), 6), std::nullopt) << "it is longer than what is read";
  EXPECT_EQ(own_text(at("absent"), 7), std::nullopt);
}

TEST_F(OwnFiles, FollowNoLinkAndWaitForNoPipe) {
  fs::create_symlink("theirs", at("link"));
  EXPECT_THAT(refusal("link"), HasSubstr("link: is a symbolic link, which is not followed"));
  EXPECT_EQ(own_text(at("link"), 100), std::nullopt);
  ASSERT_EQ(mkfifo(at("pipe").c_str(), 0600), 0);
  EXPECT_THAT(refusal("pipe"), HasSubstr("pipe: is no regular file"));
  EXPECT_EQ(own_text(at("pipe"), 100), std::nullopt);
  fs::create_directory(at("folder"));
  EXPECT_THAT(refusal("folder"), HasSubstr("folder: Is a directory"));
  EXPECT_EQ(own_text(at("folder"), 1 << 20), std::nullopt);
  EXPECT_EQ(theirs(), "as it was");
}

TEST_F(OwnFiles, ForAMomentTakeThePlaceOfALinkOrAPipeButNotOfAFolder) {
  fs::create_symlink("theirs", at("link"));
  ASSERT_EQ(mkfifo(at("pipe").c_str(), 0600), 0);
  for (const char* name : {"link", "pipe", "theirs.tmp"}) {
    EXPECT_EQ(write_all(make_own(at(name)), "ours"), 0) << name;
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(at(name)))) << name;
    EXPECT_EQ(own_text(at(name), 4), "ours");
  }
  EXPECT_EQ(theirs(), "as it was");
  fs::create_directory(at("folder"));
  EXPECT_FALSE(make_own(at("folder")));
  EXPECT_EQ(errno, EISDIR);
}

}  // namespace
}  // namespace zero
