// Ranks: 1
#include "io/checkpoint/folder_files.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/support/few_files.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/small_checkpoint.hpp"
#include "zero/io/checkpoint/store.hpp"

namespace zero::checkpoint {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing_support::FewFiles;
using testing_support::refusal_of;
using testing_support::TempFolder;

class PlainFiles : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return place_.path() + "/" + name; }
  std::string refusal(Exit exit, const char* name) const {
    return refusal_of(exit, [&] { open_plain(folder_.descriptor(), place_.path(), name); });
  }

  TempFolder place_{"open-plain"};
  OpenFile folder_ = testing_support::opened_folder(place_.path());
};

TEST_F(PlainFiles, AreOpened) {
  std::ofstream(path("a")) << "four";
  EXPECT_EQ(open_plain(folder_.descriptor(), place_.path(), "a").bytes(), 4);
}

TEST_F(PlainFiles, AreNotWhatElseHasTheirName) {
  EXPECT_THAT(refusal(Exit::kInput, "absent"), HasSubstr("absent: No such file"));
  std::ofstream(path("a")) << "four";
  fs::create_symlink("a", path("link"));
  EXPECT_THAT(refusal(Exit::kInput, "link"), HasSubstr("symbolic link"));
  EXPECT_THAT(refusal(Exit::kInput, "a/b"), HasSubstr("Not a directory"));
  fs::create_hard_link(path("a"), path("again"));
  EXPECT_THAT(refusal(Exit::kInput, "a"), HasSubstr("has 2 links"));
  fs::create_directory(path("folder"));
  EXPECT_THAT(refusal(Exit::kInput, "folder"), HasSubstr("no regular file"));
  const OpenFile made(socket(AF_UNIX, SOCK_STREAM, 0));
  struct sockaddr_un name {
    .sun_family = AF_UNIX, .sun_path = ""
  };
  std::strncpy(name.sun_path, path("socket").c_str(), sizeof name.sun_path - 1);
  ASSERT_EQ(bind(made.descriptor(), reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
  EXPECT_THAT(refusal(Exit::kInput, "socket"), HasSubstr("No such device"));
}

TEST_F(PlainFiles, MayBeWhatTheMachineCannotOpen) {
  std::ofstream(path("a")) << "four";
  const FewFiles few(0);
  EXPECT_THAT(refusal(Exit::kIo, "a"), HasSubstr("/a: Too many open files"));
}

TEST(UnreadSteps, AreNotSetAside) {
  const TempFolder place("unread");
  Store store({.root = place.path(), .writes = true});
  testing_support::save_small(store, 7);
  // The step's folder; the manifest beside it.
  for (const rlim_t more : {0, 1}) {
    const FewFiles few(more);
    EXPECT_THAT(refusal_of(Exit::kIo, [&] { store.begin(7); }),
                AllOf(HasSubstr("step00000007"), HasSubstr("Too many open files")));
  }
  EXPECT_EQ(store.verify(7, true).step, 7);
}

}  // namespace
}  // namespace zero::checkpoint
