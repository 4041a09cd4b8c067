// Ranks: 1
#include "zero/io/checkpoint/blocks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "zero/base/digests.hpp"
#include "zero/base/error.hpp"
#include "zero/base/team.hpp"
#include "zero/base/text.hpp"

namespace zero::checkpoint {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

std::vector<std::byte> some_bytes(int64_t count) {
  std::vector<std::byte> bytes(static_cast<size_t>(count));
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte((i * 7 + (i >> 12)) & 0xff);
  return bytes;
}

DigestForm form_of(int64_t version) {
  Manifest written;
  written.format_version = version;
  return digest_form(written);
}

TEST(BlockDigests, AreXxh3SinceFormat4) {
  const std::vector<std::byte> content = some_bytes(2 * kShortBlockBytes + 17);
  const std::span<const std::byte> all(content);
  File whole, parts;
  add_blocks(all, form_of(4), whole);
  add_blocks(all.first(size_t(kShortBlockBytes)), form_of(4), parts);
  add_blocks(all.subspan(size_t(kShortBlockBytes)), form_of(4), parts);
  std::string expected;
  for (const size_t block : {0u, 1u, 2u}) {
    const size_t begin = block * size_t(kShortBlockBytes);
    const size_t bytes = std::min(size_t(kShortBlockBytes), content.size() - begin);
    expected += hex_of(xxh3_of(all.subspan(begin, bytes)));
  }
  EXPECT_EQ(whole.bytes, int64_t(content.size()));
  EXPECT_EQ(whole.digests, expected);
  EXPECT_EQ(whole, parts);
}

TEST(BlockDigests, AreCrc32cUpToFormat3) {
  const auto digits = std::as_bytes(std::span("123456789", 9));
  EXPECT_EQ(digest_of(digits, form_of(3)), "e3069283");
  const std::vector<std::byte> content = some_bytes(kShortBlockBytes + 10);
  File of_third, of_second;
  add_blocks(content, form_of(3), of_third);
  add_blocks(content, form_of(2), of_second);
  EXPECT_EQ(of_third.digests.size(), 16u);
  EXPECT_EQ(of_second.digests.size(), 8u) << "blocks of 1 MiB";
}

TEST(BlockDigests, EndWithABlockThatIsNotWhole) {
  const std::vector<std::byte> content = some_bytes(100);
  File file;
  add_blocks(content, {}, file);
  EXPECT_THROW(add_blocks(content, {}, file), Error);
}

/// Lists two files, of three blocks and of two.
Manifest two_files() {
  Manifest manifest;
  manifest.files.resize(2);
  manifest.files[0].bytes = 2 * kShortBlockBytes + 100;
  manifest.files[1].bytes = 2 * kShortBlockBytes;
  return manifest;
}

/// As ranks agree on it.
std::vector<int32_t> smallest(std::vector<int32_t> a, const std::vector<int32_t>& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] = std::min(a[i], b[i]);
  return a;
}

TEST(BlockLedgers, GiveWhatNobodyHasReadToAllAlike) {
  BlockLedger first(two_files()), second(two_files());
  first.note(0, 1);
  second.note(0, 1);
  second.note(0, 2);
  const auto owners = BlockLedger::owners(smallest(first.claims(0), second.claims(1)), 2);
  EXPECT_THAT(owners, ElementsAre(0, 0, 1, 0, 1)) << "the first reader; of three, two and one";
  const auto missing = first.missing(owners, 0);
  ASSERT_EQ(missing.size(), 2u);
  EXPECT_EQ(missing[0].file, 0);
  EXPECT_EQ(missing[0].number, 0);
  EXPECT_EQ(missing[1].file, 1);
  EXPECT_EQ(missing[1].number, 0);
  EXPECT_EQ(second.missing(owners, 1).size(), 1u);
}

TEST(BlockLedgers, CountABlockOnceThoughSeveralThreadsReadIt) {
  BlockLedger ledger(two_files());
  EXPECT_EQ(ledger.blocks(), 5);
  in_team(4, [&](int) {
    for (const int64_t block : {0, 1, 2}) ledger.note(0, block);
  });
  EXPECT_EQ(ledger.noted(), 3);
  for (const int64_t block : {0, 1}) ledger.note(1, block);
  EXPECT_EQ(ledger.noted(), ledger.blocks());
  EXPECT_THAT(ledger.claims(7), Each(7));
}

}  // namespace
}  // namespace zero::checkpoint
