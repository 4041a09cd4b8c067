// Ranks: 1
#include "zero/io/checkpoint/block_ledger.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/checkpoint/file_digest.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/small_checkpoint.hpp"
#include "zero/base/process.hpp"

namespace zero::checkpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Two files, of three blocks and of two.
class Ledgers : public ::testing::Test {
 protected:
  Ledgers() {
    for (const int64_t blocks : {3, 2}) {
      FileDigest digest({});
      for (int64_t block = 0; block < blocks; ++block) digest.add_block(digest_of(blocks, block));
      manifest.files.push_back(digest.result(rank_file_name(int(manifest.files.size()))));
    }
  }
  static BlockDigest digest_of(int64_t file, int64_t block) {
    const bool last = block + 1 == file;
    return {.crc32c = uint32_t(block),
            .xxh3 = {uint8_t(file), uint8_t(block), 7},
            .bytes = last ? 100 : kShortBlockBytes};
  }
  void note(BlockLedger& ledger, int32_t file, int64_t block) const {
    ledger.note(file, block,
                digest_of(int64_t(manifest.files[size_t(file)].crc32c.size()), block).xxh3);
  }

  Manifest manifest;
};

/// As ranks agree on it.
std::vector<int32_t> smallest(std::vector<int32_t> a, const std::vector<int32_t>& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] = std::min(a[i], b[i]);
  return a;
}

TEST_F(Ledgers, GiveWhatNobodyHasReadToAllAlike) {
  BlockLedger first(manifest), second(manifest);
  note(first, 0, 1);
  note(second, 0, 1);
  note(second, 0, 2);
  const auto owners = BlockLedger::owners(smallest(first.claims(0), second.claims(1)), 2);
  EXPECT_THAT(owners, ElementsAre(0, 0, 1, 0, 1)) << "the first reader; of three, two and one";
  const auto missing = first.missing(owners, 0);
  ASSERT_EQ(missing.size(), 2u);
  EXPECT_EQ(missing[0].file, 0);
  EXPECT_EQ(missing[0].number, 0);
  EXPECT_EQ(missing[1].file, 1);
  EXPECT_EQ(missing[1].number, 0);
  EXPECT_EQ(second.missing(owners, 1).size(), 1u);
  EXPECT_THROW(first.digests(owners, 0, 0), Error) << "not all of it is read";
}

TEST_F(Ledgers, HoldFilesAgainstWhatAllHaveRead) {
  BlockLedger first(manifest), second(manifest);
  for (const int64_t block : {0, 2}) note(first, 0, block);
  note(second, 0, 1);
  for (const int64_t block : {0, 1}) note(second, 1, block);
  const auto owners = BlockLedger::owners(smallest(first.claims(0), second.claims(1)), 2);
  EXPECT_THAT(owners, ElementsAre(0, 1, 0, 1, 1));
  const std::string told = second.digests(owners, 1, 0) + second.digests(owners, 1, 1);
  size_t taken = first.take(owners, 1, 0, told);
  taken += first.take(owners, 1, 1, std::string_view(told).substr(taken));
  EXPECT_EQ(taken, told.size());
  EXPECT_EQ(first.noted(), first.blocks());
  first.require_digest(0, "step");
  first.require_digest(1, "step");
  EXPECT_THROW(second.require_digest(0, "step"), Error);
  EXPECT_THROW(second.take(owners, 0, 0, "short"), Error);

  manifest.files[1].xxh3[5] ^= 1;
  EXPECT_THAT(testing_support::refusal_of(Exit::kInput, [&] { first.require_digest(1, "step"); }),
              HasSubstr("step/rank00001.h5: its XXH3 is not the manifest's"));
}

TEST_F(Ledgers, KeepWhatWasNotedFirst) {
  BlockLedger ledger(manifest);
  note(ledger, 1, 0);
  const std::vector<int32_t> owners = {1, 1, 1, 0, 1};
  const std::string before = ledger.digests(owners, 0, 1);
  EXPECT_EQ(before.size(), sizeof(BlockLedger::Digest));
  ledger.note(1, 0, {9, 9, 9});
  EXPECT_EQ(ledger.digests(owners, 0, 1), before);
  EXPECT_EQ(ledger.noted(), 1);
}

TEST_F(Ledgers, AreWrittenBySeveralThreads) {
  BlockLedger ledger(manifest);
  in_team(4, [&](int) {
    for (const int64_t block : {0, 1, 2}) note(ledger, 0, block);
  });
  EXPECT_EQ(ledger.noted(), 3);
  for (const int64_t block : {0, 1}) note(ledger, 1, block);
  ledger.require_digest(0, "step");
}

TEST(FileDigests, OfTheFirstFormatAreOfBytesSinceOfBlocks) {
  std::vector<std::byte> content(size_t(kShortBlockBytes + 10));
  for (size_t i = 0; i < content.size(); ++i) content[i] = std::byte(i % 251);
  const auto entry = [&](int64_t version) {
    Manifest written;
    written.format_version = version;
    FileDigest digest(digest_form(written));
    digest.add(content);
    return digest.result("a");
  };
  EXPECT_EQ(entry(1).crc32c, entry(2).crc32c);
  EXPECT_EQ(entry(2).crc32c.size(), 1u) << "blocks of 1 MiB";
  EXPECT_EQ(entry(3).crc32c.size(), 2u);
  const auto first = std::span(content).first(size_t(kShortBlockBytes));
  const auto rest = std::span(content).subspan(size_t(kShortBlockBytes));
  std::vector<std::byte> digests;
  for (const auto& block : {first, rest}) {
    const BlockLedger::Digest digest = xxh3_of(block);
    for (const uint8_t byte : digest) digests.push_back(std::byte(byte));
  }
  FileDigest whole({.file_is_of_bytes = true});
  whole.add(digests);
  EXPECT_EQ(entry(3).xxh3, whole.result("a").xxh3) << "of the digests, one behind the other";
  FileDigest bytes({.file_is_of_bytes = true});
  EXPECT_THROW(bytes.add_block(BlockDigest{}), Error) << "which wants the bytes";
}

}  // namespace
}  // namespace zero::checkpoint
