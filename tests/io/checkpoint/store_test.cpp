// Ranks: 1
#include "zero/io/checkpoint/store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cerrno>
#include <fstream>
#include <random>

#include "io/checkpoint/step_folders.hpp"
#include "tests/support/file_calls.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/small_checkpoint.hpp"
#include "zero/base/error.hpp"

namespace zero::checkpoint {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing_support::file_call_plan;
using testing_support::save_small;
using testing_support::TempFolder;

class Stores : public ::testing::Test {
 protected:
  std::string root() const { return temp_.path() + "/run/checkpoints"; }
  std::string path(const std::string& name) const { return root() + "/" + name; }
  Store writer() const { return Store({.root = root(), .writes = true}); }
  Store reader() const { return Store({.root = root()}); }
  void save(std::initializer_list<int64_t> steps) const {
    Store store = writer();
    for (const int64_t step : steps) save_small(store, step);
  }
  /// What is said of a step; "" if it verifies to the last byte.
  std::string refusal(int64_t step) const {
    try {
      reader().verify(step, true);
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::kInput) << error.what();
      return error.what();
    }
    return "";
  }
  std::string kept(const char* prefix) const {
    for (const auto& entry : fs::directory_iterator(root())) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with(prefix)) return name;
    }
    return "";
  }

  TempFolder temp_{"store"};
};

void flip_bit(const std::string& name, int64_t at, int bit) {
  std::fstream stream(name, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekg(at);
  const char byte = char(stream.get() ^ (1 << bit));
  stream.seekp(at);
  stream.put(byte);
}

TEST_F(Stores, PublishStepsAndPointAtTheLatest) {
  save({1, 1200});
  const Store store = reader();
  EXPECT_THAT(store.steps(), ElementsAre(1, 1200));
  EXPECT_EQ(store.latest(), 1200);
  EXPECT_EQ(fs::read_symlink(path("latest")), "step00001200");
  const Manifest manifest = store.verify(1200, true);
  EXPECT_EQ(manifest.step, 1200);
  EXPECT_EQ(manifest.facts.at("seed"), "42");
  for (const char* file : {"rank00000.h5", "rank00001.h5", "checkpoint.h5", "MANIFEST.json"}) {
    const auto mode = fs::status(path("step00001200/") + file).permissions();
    EXPECT_EQ(mode, fs::perms(0600)) << file;
  }
  EXPECT_EQ(fs::status(path("step00001200")).permissions(), fs::perms(0700));
  EXPECT_EQ(fs::status(root()).permissions(), fs::perms(0700));
}

TEST_F(Stores, MayBeReadByAGroupWhereThatIsWanted) {
  Store store({.root = root(), .writes = true, .permissions = 0750});
  save_small(store, 1);
  EXPECT_EQ(fs::status(root()).permissions(), fs::perms(0750));
  EXPECT_EQ(fs::status(path("step00000001")).permissions(), fs::perms(0750));
  EXPECT_EQ(fs::status(path("step00000001/rank00000.h5")).permissions(), fs::perms(0640));
  const std::string temporary = store.begin(2);
  testing_support::failing_fsync = 1;
  const std::string refusal =
      testing_support::refusal_of(Exit::kIo, [&] { store.publish(temporary, 2); });
  EXPECT_THAT(refusal, HasSubstr(".tmp-step00000002")) << "what they open up they sync";
}

TEST_F(Stores, HaveOneWriterWhomTheSecondNames) {
  const Store first = writer();
  const std::string said = testing_support::refusal_of(Exit::kInUse, [&] { writer(); });
  EXPECT_THAT(said, HasSubstr(text("process ", getpid())));
  EXPECT_THAT(said, HasSubstr(root() + " is in use by host "));
  EXPECT_THAT(reader().steps(), IsEmpty()) << "a reader needs no lock";
}

TEST_F(Stores, OfAReaderMakeNothing) {
  EXPECT_THROW(reader(), Error);
  EXPECT_FALSE(fs::exists(temp_.path() + "/run"));
}

TEST_F(Stores, NeverOverwriteAStepThatVerifies) {
  Store store = writer();
  save_small(store, 7);
  EXPECT_THROW(store.begin(7), Error);
  EXPECT_EQ(store.verify(7, true).step, 7);
}

TEST_F(Stores, KeepAStepThatDoesNotVerifyAsideAndGoOn) {
  Store store = writer();
  save_small(store, 7);
  fs::resize_file(path("step00000007/rank00001.h5"), 100);
  save_small(store, 7);
  EXPECT_EQ(refusal(7), "");
  EXPECT_TRUE(fs::exists(path(kept("damaged-step00000007-")) + "/rank00001.h5"));
}

TEST_F(Stores, WorkWithoutRenameThatNeverReplaces) {
  testing_support::without_noreplace = true;
  Store store = writer();
  save_small(store, 7);
  fs::create_directory(path("step00000008"));
  fs::create_directory(path(".tmp-x"));
  EXPECT_THROW(store.publish(".tmp-x", 8), Error);
  testing_support::without_noreplace = false;
  EXPECT_EQ(refusal(7), "");
}

TEST_F(Stores, FindEveryDamage) {
  save({1, 2});
  const std::string step = path("step00000002/");
  const auto with = [&](const std::string& file, const auto& damage) {
    fs::copy_file(step + file, temp_.path() + "/kept");
    damage(step + file);
    const std::string said = refusal(2);
    fs::remove_all(step + file);
    fs::copy_file(temp_.path() + "/kept", step + file);
    fs::remove(temp_.path() + "/kept");
    EXPECT_EQ(refusal(2), "") << file << " is as it was";
    return said;
  };
  for (const std::string file : {"rank00000.h5", "rank00001.h5", "checkpoint.h5"}) {
    const int64_t third = int64_t(fs::file_size(step + file)) / 3;
    const auto flip = [&](const std::string& name) {
      std::fstream stream(name, std::ios::in | std::ios::out | std::ios::binary);
      stream.seekp(third);
      stream.put('?');
    };
    EXPECT_THAT(with(file, flip),
                HasSubstr(text("step00000002/", file, ": block ", third / kShortBlockBytes, " ")));
    EXPECT_THAT(with(file, [](const std::string& name) { fs::remove(name); }),
                HasSubstr(file + ": No such file"));
    EXPECT_THAT(with(file, [](const std::string& name) { fs::resize_file(name, 4096); }),
                HasSubstr("has 4096 bytes"));
    const auto link = [&](const std::string& name) {
      fs::remove(name);
      fs::create_symlink("../step00000001/" + file, name);
    };
    EXPECT_THAT(with(file, link), HasSubstr("symbolic link"));
  }
  const auto swap = [&](const std::string& name) {
    fs::remove(name);
    fs::copy_file(step + "rank00001.h5", name);
  };
  EXPECT_THAT(with("rank00000.h5", swap), HasSubstr("rank00000.h5: "));
  const auto cut = [](const std::string& name) { fs::resize_file(name, fs::file_size(name) - 1); };
  EXPECT_THAT(with("MANIFEST.json", cut), HasSubstr("damaged or cut off"));
  const auto stale = [&](const std::string& name) {
    fs::remove(name);
    fs::copy_file(path("step00000001/MANIFEST.json"), name);
  };
  EXPECT_THAT(with("MANIFEST.json", stale), HasSubstr("its manifest is of step 1"));
  EXPECT_THAT(refusal(3), HasSubstr("step00000003: No such file"));
  fs::create_directory_symlink("step00000002", path("step00000003"));
  EXPECT_THAT(refusal(3), HasSubstr("step00000003: "));
}

/// One damage of a kind; a stale or swapped file is a whole one in a wrong place.
void damage(const std::string& file, const std::string& kept, int kind, int64_t at, int bit) {
  const fs::path folder = fs::path(file).parent_path(), name = fs::path(file).filename();
  const fs::path other = name == "rank00000.h5" ? "rank00001.h5" : "rank00000.h5";
  const fs::path stale = folder.parent_path() / "step00000001" / name;
  if (kind != 0)
    fs::copy_file(kind == 5 ? folder / other : kind == 6 ? stale : fs::path(kept), file);
  if (kind == 1) fs::resize_file(file, uintmax_t(at));
  if (kind == 2) fs::resize_file(file, fs::file_size(kept) + 1 + uintmax_t(at));
  if (kind == 3 || kind == 4) flip_bit(file, at, bit);
}

TEST_F(Stores, LoadNoneOf154DamagedOnes) {
  constexpr int kKinds = 7, kTimes = 22;
  Store store = writer();
  save_small(store, 1);
  save_small(store, 2, 0.5F);
  const std::string step = path("step00000002/"), kept = temp_.path() + "/kept";
  const std::string names[] = {"rank00000.h5", "rank00001.h5", "checkpoint.h5", "MANIFEST.json"};
  std::mt19937 random(1);
  int refused = 0;
  for (int i = 0; i < kKinds * kTimes; ++i) {
    const std::string& name = names[random() % std::size(names)];
    const int64_t at = int64_t(random() % fs::file_size(step + name));
    SCOPED_TRACE(text(name, " at ", at, ", damage ", i));
    fs::rename(step + name, kept);
    damage(step + name, kept, i % kKinds, at, int(random() % 8));
    const std::string said = refusal(2);
    EXPECT_NE(said, "");
    refused += said != "";
    fs::rename(kept, step + name);
  }
  EXPECT_EQ(refused, 154);
  EXPECT_EQ(refusal(2), "") << "as it was";
}

TEST_F(Stores, LatestLeadsNowhereElse) {
  save({1});
  for (const char* target : {"../step00000001", "/etc", "step1", "step00000002", "step00000001/",
                             "latest", "step0000000a", "step-0000001", "LOCK"}) {
    fs::remove(path("latest"));
    fs::create_symlink(target, path("latest"));
    EXPECT_EQ(reader().latest(), std::nullopt) << target;
  }
  fs::remove(path("latest"));
  std::ofstream(path("latest")) << "step00000001";
  EXPECT_EQ(reader().latest(), std::nullopt) << "a file";
}

TEST_F(Stores, KeepTheNewestTheRegularTheBestTheHealthyAndWhatLatestPointsAt) {
  Store store = writer();
  for (int64_t step = 1; step <= 8; ++step) save_small(store, step);
  fs::create_directories(path(unique_name(kRemoving, "step00000009") + "/left behind"));
  store.retain({.keep = 0});
  EXPECT_EQ(kept(".del-") + text(store.steps().size()), "8");
  fs::remove(path("latest"));
  fs::create_directory_symlink("step00000001", path("latest"));
  store.retain({.keep = 2, .keep_every = 4, .best = 3, .healthy = 5});
  EXPECT_THAT(store.steps(), ElementsAre(1, 3, 4, 5, 7, 8));
  EXPECT_THROW(store.retain({.keep = 1}), Error);
  EXPECT_EQ(kept(".del-"), "");
  EXPECT_THAT(store.take_warnings(), IsEmpty());
}

TEST_F(Stores, NeverRemoveTheNewestThatVerifies) {
  Store store = writer();
  for (int64_t step = 1; step <= 4; ++step) save_small(store, step);
  for (const char* step : {"3", "4"}) fs::remove(path("step0000000") + step + "/rank00000.h5");
  store.retain({.keep = 2});
  EXPECT_THAT(store.steps(), ElementsAre(2, 3, 4));
}

TEST_F(Stores, TakeBackWhatTheyCouldNotPublish) {
  save({1});
  Store store = writer();
  const std::string temporary = store.begin(2);
  {
    const OpenFile folder(store.open_folder(temporary));
    store.write_manifest(temporary, testing_support::write_small_files(folder.descriptor(), 2));
  }
  // The syncs of the root, when the step has its name and when it is the latest.
  for (const int sync : {1, 2}) {
    testing_support::failing_fsync = sync;
    EXPECT_THROW(store.publish(temporary, 2), Error) << "sync " << sync;
    EXPECT_THAT(store.steps(), ElementsAre(1));
    EXPECT_EQ(store.latest(), 1);
    EXPECT_TRUE(fs::exists(path(temporary)));
  }
  store.publish(temporary, 2);
  EXPECT_EQ(store.latest(), 2) << "by descriptors of its own";
  EXPECT_EQ(testing_support::repeated_fsyncs, 0);
  EXPECT_THAT(store.take_warnings(), IsEmpty());
}

TEST_F(Stores, AbandonWhatFailed) {
  Store store = writer();
  const std::string temporary = store.begin(5);
  testing_support::write_small_files(OpenFile(store.open_folder(temporary)).descriptor(), 5);
  EXPECT_EQ(store.abandon(temporary), "");
  EXPECT_FALSE(fs::exists(path(temporary)));
  EXPECT_NE(store.abandon("../../run"), "");
  EXPECT_TRUE(fs::exists(temp_.path() + "/run"));
}

TEST_F(Stores, CollectOnlyWhatIsTheirOwn) {
  save({1});
  const std::string id(32, 'a');
  for (const std::string& name :
       {".tmp-step00000002-" + id, ".del-step00000001-" + id, ".tmp-latest-" + id,
        std::string(".tmp-mine"), std::string(".del-step00000001"), ".tmp-thesis-" + id,
        std::string("step00000002"), std::string("step00000003/mine")}) {
    fs::create_directories(path(name));
  }
  writer();
  EXPECT_FALSE(fs::exists(path(".tmp-step00000002-" + id)));
  EXPECT_FALSE(fs::exists(path(".del-step00000001-" + id)));
  EXPECT_FALSE(fs::exists(path(".tmp-latest-" + id)));
  EXPECT_FALSE(fs::exists(path("step00000002"))) << "empty";
  EXPECT_TRUE(fs::exists(path("step00000003")));
  EXPECT_TRUE(fs::exists(path(".tmp-mine")));
  EXPECT_TRUE(fs::exists(path(".del-step00000001")));
  EXPECT_TRUE(fs::exists(path(".tmp-thesis-" + id)));
}

/// Saves step 3 beside 1 and 2 and removes 1, in a process of its own to which something happens
/// at one of its file system calls.
class Interrupted : public Stores {
 protected:
  static constexpr int kFinished = 0, kEndedBefore = 1, kEndedAfter = 2, kRefused = 3, kOther = 4;

  Interrupted() {
    save({1, 2});
    fs::copy(root(), temp_.path() + "/before", kAsTheyAre);
  }

  int status_of(int call, int error) const {
    fs::remove_all(root());
    fs::copy(temp_.path() + "/before", root(), kAsTheyAre);
    const pid_t child = fork();
    if (child == 0) {
      testing_support::without_noreplace = without_noreplace_;
      file_call_plan = {.call = call, .error = error, .status = kEndedBefore};
      _exit(outcome());
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : kOther;
  }

  /// In the child.
  int outcome() const try {
    Store store = writer();
    save_small(store, 3);
    file_call_plan.status = kEndedAfter;
    store.retain({.keep = 2});
    const bool missed = file_call_plan.call > 0;
    return missed ? kFinished : store.take_warnings().empty() ? kRefused : kEndedAfter;
  } catch (const Error& error) {
    const bool expected = error.exit() == Exit::kIo && testing_support::repeated_fsyncs == 0;
    return expected ? kRefused : kOther;
  } catch (...) {
    return kOther;
  }

  void expect_nothing_lost(bool acknowledged) const {
    Store store = writer();
    EXPECT_THAT(store.take_warnings(), IsEmpty());
    EXPECT_EQ(kept(".tmp-") + kept(".del-") + kept("damaged-"), "");
    const int64_t latest = store.latest().value_or(-1);
    EXPECT_TRUE(latest == 3 || (latest == 2 && !acknowledged)) << latest;
    EXPECT_EQ(refusal(latest), "");
    EXPECT_EQ(refusal(2), "");
    if (latest == 2) save_small(store, 3);
    EXPECT_EQ(store.latest(), 3) << "the run that comes to step 3 again saves it";
  }

  bool without_noreplace_ = false;
  static constexpr auto kAsTheyAre = fs::copy_options::recursive | fs::copy_options::copy_symlinks;
};

TEST_F(Interrupted, AtAnyFileSystemCallTheyLoseNothing) {
  for (const bool unknown : {false, true}) {
    without_noreplace_ = unknown;
    int call = 1, status = kOther;
    for (; (status = status_of(call, 0)) != kFinished; ++call) {
      SCOPED_TRACE(text("call ", call, unknown ? " without RENAME_NOREPLACE" : ""));
      ASSERT_THAT(status, ::testing::AnyOf(kEndedBefore, kEndedAfter));
      expect_nothing_lost(status == kEndedAfter);
    }
    EXPECT_GT(call, 20) << "calls of one save";
  }
}

TEST_F(Interrupted, AnyFailingCallIsReportedAndNothingIsLost) {
  constexpr int kErrors[] = {EIO, ENOSPC, EINVAL, ENOLCK, EOPNOTSUPP};
  for (const int round : {0, 1, 2}) {
    without_noreplace_ = round == 2;
    int call = 1, status = kOther, error = 0;
    for (; (status = status_of(call, error = kErrors[size_t(2 * call + round) % 5])) != kFinished;
         ++call) {
      SCOPED_TRACE(text("call ", call, " fails with ", std::strerror(error)));
      EXPECT_NE(status, kOther);
      expect_nothing_lost(status == kEndedAfter);
    }
    EXPECT_GT(call, 20) << "calls of one save";
  }
}

}  // namespace
}  // namespace zero::checkpoint
