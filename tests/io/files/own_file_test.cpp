// Ranks: 1
#include "zero/io/files/own_file.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "tests/support/content_of.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/small_checkpoint.hpp"
#include "zero/base/error.hpp"
#include "zero/io/checkpoint/store.hpp"
#include "zero/io/files/open_file.hpp"

namespace zero {
namespace {

namespace fs = std::filesystem;
using checkpoint::Store;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing_support::content_of;
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

class Permissions : public ::testing::Test {
 protected:
  std::string root() const { return place_.path() + "/root"; }
  fs::perms of(const std::string& path) const { return fs::status(path).permissions(); }
  std::vector<std::string> warnings_of(int permissions) const {
    return Store({.root = root(), .writes = true, .permissions = permissions}).take_warnings();
  }
  void make(int mode) const {
    fs::create_directory(root());
    fs::permissions(root(), fs::perms(mode));
  }

  testing_support::TempFolder place_{"permissions"};
};

TEST_F(Permissions, AreGivenWhateverTheUmask) {
  make(02755);
  const OpenFile folder = testing_support::opened_folder(root());
  EXPECT_FALSE(allows(folder.descriptor(), 0770));
  const mode_t before = umask(0077);
  EXPECT_EQ(give_permissions(folder.descriptor(), 0770), "");
  umask(before);
  EXPECT_EQ(of(root()), fs::perms(02770)) << "what stands above them stays";
  EXPECT_TRUE(allows(folder.descriptor(), 0750));
  EXPECT_FALSE(allows(folder.descriptor(), 0755));
  EXPECT_EQ(permissions_text(070), "0070");
}

TEST_F(Permissions, OfAFolderOfCheckpointsThatWasThereAreThoseWanted) {
  for (const int permissions : {0770, 0700, 0755}) {
    make(0711);
    EXPECT_THAT(warnings_of(permissions), IsEmpty());
    EXPECT_EQ(of(root()), fs::perms(permissions));
    EXPECT_EQ(of(root() + "/LOCK"), fs::perms(permissions & 0666));
  }
}

TEST_F(Permissions, OfAFolderOfOtherThingsStay) {
  make(0711);
  std::ofstream(root() + "/thesis") << "mine";
  EXPECT_THAT(warnings_of(0770), ElementsAre(AllOf(HasSubstr("permissions = \"0770\""),
                                                   HasSubstr("holds other files"))));
  EXPECT_THAT(warnings_of(0700), IsEmpty()) << "which lets others do more, not less";
  EXPECT_EQ(of(root()), fs::perms(0711));
}

/// Saves a step as another user of a group; what came of it.
std::string outcome(const Store::Options& options, uid_t user, int64_t step) try {
  const gid_t group = 54321;
  if (setgroups(1, &group) != 0 || setgid(group) != 0 || setuid(user) != 0) return "no user";
  Store store(options);
  const std::vector<std::string> warnings = store.take_warnings();
  testing_support::save_small(store, step);
  return warnings.empty() ? "saved" : warnings.front();
} catch (const Error& error) {
  return error.what();
}

TEST_F(Permissions, LetAGroupSaveInOneFolder) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become two users";
  fs::permissions(place_.path(), fs::perms(0777));
  const auto saves = [&](int permissions, uid_t user, int64_t step) {
    const pid_t child = fork();
    if (child == 0) {
      const Store::Options options{.root = root(), .writes = true, .permissions = permissions};
      std::ofstream(place_.path() + "/said" + std::to_string(user)) << outcome(options, user, step);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    std::string said;
    std::getline(std::ifstream(place_.path() + "/said" + std::to_string(user)), said);
    return said;
  };
  EXPECT_EQ(saves(0700, 65501, 1), "saved");
  EXPECT_THAT(saves(0770, 65502, 2), HasSubstr("Permission denied"));
  EXPECT_EQ(saves(0770, 65501, 3), "saved") << "its owner opens it up";
  EXPECT_EQ(saves(0770, 65502, 4), "saved");
  EXPECT_EQ(saves(0770, 65501, 5), "saved");
  fs::permissions(root(), fs::perms(0750));
  EXPECT_THAT(saves(0770, 65502, 6), HasSubstr("denied")) << "not where the owner forbids it";
}

std::string in_temp(const char* name) { return ::testing::TempDir() + "zeroapp-" + name; }

TEST(ReplaceOwn, ReplacesTheContentAndLeavesNothingBeside) {
  const std::string path = in_temp("write-file");
  replace_own(path, "a long first text");
  replace_own(path, "second");
  EXPECT_EQ(content_of(path), "second");
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
}

TEST(ReplaceOwn, WritesThroughNoLinkWhereverOneLies) {
  const std::string path = in_temp("linked-file"), theirs = in_temp("theirs");
  for (const std::string& link : {path + ".tmp", path}) {
    replace_own(theirs, "theirs");
    std::filesystem::remove(link);
    std::filesystem::create_symlink(theirs, link);
    replace_own(path, "ours");
    EXPECT_EQ(content_of(path), "ours") << link;
    EXPECT_FALSE(std::filesystem::is_symlink(path)) << link;
    EXPECT_EQ(content_of(theirs), "theirs") << link;
  }
}

TEST(ReplaceOwn, RemovesNoFolder) {
  const std::string path = in_temp("beside-a-folder");
  std::filesystem::create_directories(path + ".tmp");
  EXPECT_THROW(replace_own(path, "x"), Error);
  EXPECT_TRUE(std::filesystem::is_directory(path + ".tmp"));
}

TEST(ReplaceOwn, NamesThePathAndTheReason) {
  try {
    replace_own("/no/such/folder/file", "x");
    FAIL() << "there is no such folder";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kIo);
    EXPECT_STREQ(error.what(),
                 "/no/such/folder/file: could not be written: No such file or directory");
  }
}

}  // namespace
}  // namespace zero
