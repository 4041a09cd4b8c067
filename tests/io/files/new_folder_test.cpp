// Ranks: 1
#include "zero/io/files/new_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "tests/support/refusal.hpp"
#include "tests/support/small_checkpoint.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using testing_support::refusal_of;

class NewFolders : public ::testing::Test {
 protected:
  std::string path(const std::string& name = "model") const { return place_.path() + "/" + name; }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(place_.path())) {
      found.push_back(entry.path().filename().string());
    }
    return found;
  }
  testing_support::TempFolder place_{"new-folders"};
};

TEST_F(NewFolders, AppearWhenTheyAreWhole) {
  NewFolder folder(path());
  std::ofstream(folder.file("weights")) << "some";
  EXPECT_THAT(names(), UnorderedElementsAre(text("model.tmp-", getpid())));
  folder.publish();
  EXPECT_THAT(names(), UnorderedElementsAre("model"));
  EXPECT_TRUE(fs::exists(path("model/weights")));
  EXPECT_THAT(refusal_of(Exit::kIo, [&] { const NewFolder again(path()); }),
              HasSubstr("never overwritten"));
}

TEST_F(NewFolders, MayBeNamedAsFoldersAre) {
  NewFolder(path() + "//").publish();
  EXPECT_THAT(names(), UnorderedElementsAre("model"));
}

TEST_F(NewFolders, GoAwayUnlessTheyArePublishedAndOverwriteNothing) {
  { const NewFolder given_up(path()); }
  EXPECT_THAT(names(), IsEmpty());
  {
    NewFolder first(path()), second(path());
    EXPECT_NE(first.temporary(), second.temporary());
    std::ofstream(first.file("weights")) << "first";
    first.publish();
    EXPECT_THAT(refusal_of(Exit::kIo, [&] { second.publish(); }), HasSubstr("never overwritten"));
  }
  EXPECT_THAT(names(), UnorderedElementsAre("model"));
  EXPECT_TRUE(fs::exists(path("model/weights"))) << "the second removes what it has made alone";
}

TEST_F(NewFolders, OfProcessesThatAreGoneGoAwayWhoeverHasTheirNumber) {
  // Process 1 lives, and this one: neither has made these.
  for (const std::string& left : {text("model.tmp-", getpid()), std::string("model.tmp-1"),
                                  std::string("model.tmp-4194303-2")}) {
    fs::create_directories(path(left) + "/half");
  }
  for (const char* theirs : {"model.tmp-old", "model.tmp-", "other.tmp-17", "model2.tmp-17"}) {
    fs::create_directory(path(theirs));
  }
  std::ofstream(path("model.tmp-18")) << "a file";
  fs::create_directory_symlink("model.tmp-old", path("model.tmp-19"));
  NewFolder(path()).publish();
  EXPECT_THAT(names(), UnorderedElementsAre("model", "model.tmp-old", "model.tmp-", "other.tmp-17",
                                            "model2.tmp-17", "model.tmp-18", "model.tmp-19"));
}

TEST_F(NewFolders, OfLivingProcessesStay) {
  int told[2];
  ASSERT_EQ(pipe(told), 0);
  const pid_t child = fork();
  if (child == 0) {
    const NewFolder held(path());
    (void)!write(told[1], "x", 1);
    while (true) pause();
  }
  char word = 0;
  ASSERT_EQ(read(told[0], &word, 1), 1);
  const std::string theirs = text("model.tmp-", child);
  { const NewFolder ours(path()); }
  EXPECT_THAT(names(), UnorderedElementsAre(theirs));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  { const NewFolder ours(path()); }
  EXPECT_THAT(names(), IsEmpty());
}

}  // namespace
}  // namespace zero
