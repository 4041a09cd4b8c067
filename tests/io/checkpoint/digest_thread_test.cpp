// Ranks: 1
#include "io/checkpoint/digest_thread.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "zero/base/crc32c.hpp"
#include "zero/base/error.hpp"

namespace zero::checkpoint {
namespace {

TEST(DigestThreads, GiveTheDigestsOfBlocksInTheirOrder) {
  std::vector<std::byte> content(size_t(5 * kShortBlockBytes + 17));
  for (size_t i = 0; i < content.size(); ++i) content[i] = std::byte((i * 7 + (i >> 12)) & 0xff);
  FileDigest expected({});
  DigestThread thread({});
  for (size_t at = 0; at < content.size(); at += size_t(kShortBlockBytes)) {
    const auto block =
        std::span(content).subspan(at, std::min(size_t(kShortBlockBytes), content.size() - at));
    expected.add_block(block, crc32c(block));
    thread.add(block);
  }
  thread.wait_for(3);
  const File file = thread.result("a"), same = expected.result("a");
  EXPECT_EQ(file.bytes, int64_t(content.size()));
  EXPECT_EQ(file.crc32c, same.crc32c);
  EXPECT_EQ(file.xxh3, same.xxh3);
}

TEST(DigestThreads, OfNothingAreThoseOfAnEmptyFile) {
  DigestThread thread({});
  EXPECT_EQ(thread.result("a").xxh3, FileDigest({}).result("a").xxh3);
}

TEST(DigestThreads, TellWhatFailed) {
  const std::vector<std::byte> part(100), block(static_cast<size_t>(kShortBlockBytes));
  DigestThread thread({});
  thread.add(part);
  thread.add(block);
  EXPECT_THROW(thread.wait_for(2), Error) << "nothing follows what is no whole block";
}

}  // namespace
}  // namespace zero::checkpoint
