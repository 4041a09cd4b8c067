// Ranks: 1
#include "io/files/permissions.hpp"

#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/support/small_checkpoint.hpp"
#include "zero/base/error.hpp"
#include "zero/io/checkpoint/store.hpp"

namespace zero {
namespace {

namespace fs = std::filesystem;
using checkpoint::Store;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

}  // namespace
}  // namespace zero
