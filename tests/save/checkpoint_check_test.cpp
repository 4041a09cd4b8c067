// Ranks: 1 2 3
#include "src/save/checkpoint_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <optional>

#include "tests/support/models.hpp"
#include "tests/support/older_digests.hpp"
#include "tests/support/rank_states.hpp"
#include "tests/support/small_checkpoint.hpp"
#include "zero/io/checkpoint/blocks.hpp"
#include "zero/io/files/input_file.hpp"
#include "zero/setup/build.hpp"

namespace zero::save {
namespace {

using checkpoint::File;
using checkpoint::kShortBlockBytes;
using checkpoint::Manifest;
using checkpoint::Store;
using ::testing::HasSubstr;

/// What this process has asked files for so far.
int64_t bytes_read() {
  std::ifstream file("/proc/self/io");
  std::string word;
  int64_t bytes = 0;
  while (file >> word >> bytes) {
    if (word == "rchar:") return bytes;
  }
  ADD_FAILURE() << "/proc/self/io has no rchar";
  return 0;
}

/// A checkpoint of step 1 that all ranks see; the first one makes it.
class CheckpointChecks : public ::testing::Test {
 protected:
  void SetUp() override {
    save_once([](Store& to) { testing_support::save_small(to, 1); });
  }
  // Nobody removes what others look at.
  ~CheckpointChecks() override { peers.share(""); }

  template <class Save>
  void save_once(const Save& save) {
    peers.share("");
    if (peers.rank() == 0) {
      writer.reset();
      folder.emplace("checkpoint-check");
      writer.emplace(Store::Options{.root = folder->path(), .writes = true});
      save(*writer);
    }
    root = peers.share(folder ? folder->path() : "")[0];
    store.emplace(Store::Options{.root = root});
    manifest = store->verify(1, false);
  }

  std::string path(const File& file) const { return root + "/step00000001/" + file.name; }
  void flip(const File& file, int64_t offset) const {
    if (peers.rank() == 0) {
      std::fstream content(path(file), std::ios::in | std::ios::out | std::ios::binary);
      content.seekg(offset);
      const char byte = char(content.get() ^ 16);
      content.seekp(offset);
      content.put(byte);
    }
    peers.share("");
  }
  int64_t bytes_of_files() const {
    int64_t bytes = 0;
    for (const File& file : manifest.files) bytes += file.bytes;
    return bytes;
  }
  Problem check() const { return check_checkpoint(peers, 2, *store, manifest, nullptr); }

  launch::Peers peers;
  std::optional<testing_support::TempFolder> folder;
  std::optional<Store> writer, store;
  std::string root;
  Manifest manifest;
};

TEST_F(CheckpointChecks, ReadEachByteOnceOnAllRanksTogether) {
  const int64_t files = bytes_of_files(), before = bytes_read();
  const Problem problem = check();
  const double read = peers.sum(double(bytes_read() - before));
  EXPECT_EQ(problem.what, "");
  EXPECT_GE(read, double(files));
  EXPECT_LE(read, 1.1 * double(files));
}

/// At stage 3, where no rank holds what another does, by as many ranks as have saved.
TEST_F(CheckpointChecks, FillStatesByTheSameReads) {
  RunConfig config = testing::tiny(3, Dtype::bf16);
  config.model.numbers.counts["vocab_size"] = 40000;
  const setup::Build made = setup::build(config, {peers.ranks(), 1});
  save_once([&](Store& to) {
    testing::RankStates saved(made.plan);
    saved.fill();
    saved.save(to);
  });
  testing::RankStates loaded(made.plan);
  const state::StateView view = loaded.view(peers.rank());
  const int64_t before = bytes_read();
  const Problem problem = check_checkpoint(peers, 1, *store, manifest, &view);
  const double read = peers.sum(double(bytes_read() - before));
  EXPECT_EQ(problem.what, "");
  EXPECT_EQ(loaded.wrong_elements(peers.rank()), 0);
  EXPECT_LE(read, 1.05 * double(bytes_of_files()));

  // What no state is made of counts as well.
  const checkpoint::Slice& weights = manifest.slices.front();
  ASSERT_EQ(manifest.tensors[size_t(weights.tensor)].name, "model/transformer.wte.weight");
  flip(manifest.files[size_t(weights.file)], weights.offset + 3 * kShortBlockBytes);
  EXPECT_THAT(check_checkpoint(peers, 1, *store, manifest, &view).what, HasSubstr(": block "));
}

TEST_F(CheckpointChecks, FindAFlippedBitInEachBlockAndTellAll) {
  for (const File& file : manifest.files) {
    for (int64_t at = 0; at < file.bytes; at += kShortBlockBytes) {
      const int64_t place = std::min(at + 777, file.bytes - 1);
      flip(file, place);
      const Problem problem = check();
      EXPECT_EQ(problem.exit, Exit::kInput);
      EXPECT_THAT(problem.what, HasSubstr(text(file.name, ": block ", at / kShortBlockBytes, " ")));
      flip(file, place);
    }
  }
  EXPECT_EQ(check().what, "");
}

/// With a digest of each file besides: of its bytes, since the second of its blocks' digests.
TEST_F(CheckpointChecks, TakeTheDigestsOfOlderFormats) {
  for (const int64_t version : {1, 2, 3}) {
    manifest.format_version = version;
    for (File& file : manifest.files) {
      const std::string content = read_whole(InputFile(path(file)), file.bytes);
      file = testing_support::older_entry(file.name, content, digest_form(manifest));
    }
    EXPECT_EQ(check().what, "");
    const int64_t blocks = digest_form(manifest).blocks_of(manifest.files[0]);
    ASSERT_GT(blocks, 1);
    flip(manifest.files[0], manifest.files[0].bytes - 1);
    EXPECT_THAT(check().what,
                HasSubstr(text(manifest.files[0].name, ": block ", blocks - 1, " (bytes ")));
    flip(manifest.files[0], manifest.files[0].bytes - 1);
    for (File& file : manifest.files) {
      const std::string good = std::exchange(file.xxh3, std::string(32, '0'));
      const Problem problem = check();
      EXPECT_EQ(problem.exit, Exit::kInput);
      EXPECT_THAT(problem.what, HasSubstr(file.name + ": its XXH3 is not the manifest's"));
      file.xxh3 = good;
    }
  }
}

TEST_F(CheckpointChecks, LeaveStructuresToFsck) {
  // HDF5 would not open these files, and their digests hold.
  for (File& file : manifest.files) {
    flip(file, 0);
    const std::string content = read_whole(InputFile(path(file)), file.bytes);
    File entry{.name = file.name, .digests = "", .xxh3 = ""};
    checkpoint::add_blocks(std::as_bytes(std::span(content)), digest_form(manifest), entry);
    file = entry;
  }
  EXPECT_EQ(check().what, "");
}

}  // namespace
}  // namespace zero::save
