// Ranks: 1
#include "io/checkpoint/block_digest.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "zero/base/digests.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"

namespace zero::checkpoint {
namespace {

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

}  // namespace
}  // namespace zero::checkpoint
