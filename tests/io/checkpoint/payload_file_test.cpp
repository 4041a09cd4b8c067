// Ranks: 1
#include "io/checkpoint/payload_file.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <functional>
#include <vector>

#include "io/checkpoint/block_writer.hpp"
#include "io/checkpoint/file_digest.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/small_checkpoint.hpp"
#include "zero/base/error.hpp"
#include "zero/device/arena.hpp"
#include "zero/io/files/input_file.hpp"

namespace zero::checkpoint {
namespace {

using ::testing::HasSubstr;
using testing_support::opened_folder;
using testing_support::TempFolder;

constexpr int64_t kMib = int64_t(1) << 20;

class PayloadFiles : public ::testing::Test {
 protected:
  static int64_t length(const PayloadFile& file) {
    struct stat status {};
    return fstat(file.descriptor(), &status) == 0 ? int64_t(status.st_size) : -1;
  }
  static bool is_direct(const PayloadFile& file) {
    return fcntl(file.descriptor(), F_GETFL) & O_DIRECT;
  }

  static void fill(std::span<std::byte> content) {
    for (size_t i = 0; i < content.size(); ++i) content[i] = std::byte((i * 7 + (i >> 12)) & 0xff);
  }
  std::span<std::byte> staging() const { return {staging_.data(), size_t(staging_.bytes())}; }
  /// Requires that the file that `write` makes of it holds the content, and its digests. Returns
  /// how many of its blocks were not copied.
  int64_t blocks_in_place(const std::string& name, std::span<const std::byte> content,
                          const std::function<void(BlockWriter&)>& write) const {
    PayloadFile file(folder_.descriptor(), name);
    file.begin_payload(int64_t(content.size()));
    BlockWriter writer(file, staging(), {});
    write(writer);
    writer.finish();
    file.sync();
    const File told = writer.digests(name);
    const InputFile written(temp_.path() + "/" + name);
    std::vector<std::byte> found(size_t(written.bytes()));
    written.read(0, found);
    EXPECT_TRUE(std::ranges::equal(found, content)) << name;
    FileDigest digest({});
    digest.add(content);
    EXPECT_EQ(told, digest.result(name));
    return writer.blocks_in_place();
  }

  TempFolder temp_{"payload-file"};
  OpenFile folder_ = opened_folder(temp_.path());
  Arena staging_{kStagingBytes};
};

TEST_F(PayloadFiles, HaveTheirLengthBeforeTheyAreWritten) {
  PayloadFile file(folder_.descriptor(), "rank00000.h5");
  file.begin_payload(3 * kMib + 5);
  EXPECT_EQ(length(file), 3 * kMib + 5);
}

TEST_F(PayloadFiles, OfLessThanABlockStayInThePageCache) {
  PayloadFile small(folder_.descriptor(), "small"), large(folder_.descriptor(), "large");
  small.begin_payload(kMib - 1);
  EXPECT_FALSE(is_direct(small));
  large.begin_payload(kMib);
  if (!is_direct(large)) GTEST_SKIP() << "this file system knows no other way";
  EXPECT_EQ(large.memory_alignment() % 512, 0u);
  large.use_page_cache();
  EXPECT_FALSE(is_direct(large));
  EXPECT_EQ(large.memory_alignment(), 1u);
}

TEST_F(PayloadFiles, HoldWhatBlocksOfAnyLengthPutThere) {
  for (const int64_t bytes : {int64_t(1), kMib - 1, kMib, 11 * kMib + 4096, 20 * kMib + 17}) {
    std::vector<std::byte> content(static_cast<size_t>(bytes)), piece;
    fill(content);
    const auto in_pieces = [&](BlockWriter& writer) {
      for (size_t at = 0; at < content.size(); at += 70'001) {
        const auto end = content.begin() + ptrdiff_t(std::min(at + 70'001, content.size()));
        piece.assign(content.begin() + ptrdiff_t(at), end);
        writer.append(piece);
      }
    };
    EXPECT_EQ(blocks_in_place(text("bytes", bytes), content, in_pieces), 0);
  }
}

TEST_F(PayloadFiles, TakeWholeBlocksThatRestFromWhereTheyLie) {
  const Arena memory(20 * kMib + 4096);
  const std::span all(memory.data(), size_t(memory.bytes()));
  fill(all);
  // In one go, and in pieces that end anywhere and follow each other in memory.
  for (const size_t piece : {all.size(), size_t(70'001)}) {
    const auto in_place = blocks_in_place(text("pieces", piece), all, [&](BlockWriter& writer) {
      for (size_t at = 0; at < all.size(); at += piece) {
        writer.append_resting(all.subspan(at, std::min(piece, all.size() - at)));
      }
    });
    EXPECT_EQ(in_place, 20);
  }
}

TEST_F(PayloadFiles, CopyBlocksThatRestInMoreThanOnePlace) {
  const Arena memory(4 * kMib);
  const std::span all(memory.data(), size_t(memory.bytes()));
  fill(all);
  const size_t block = size_t(kMib), begin = block + 1000, end = 2 * block + 3000;
  std::vector<std::byte> elsewhere(all.begin() + ptrdiff_t(begin), all.begin() + ptrdiff_t(end));
  for (const bool rests : {true, false}) {
    const auto in_place = blocks_in_place(text("rests", rests), all, [&](BlockWriter& writer) {
      writer.append_resting(all.first(begin));
      rests ? writer.append_resting(elsewhere) : writer.append(elsewhere);
      writer.append_resting(all.subspan(end));
    });
    EXPECT_EQ(in_place, 2) << "the first and the last";
  }
}

TEST_F(PayloadFiles, CopyBlocksThatBeginWhereADiskDoesNotReadFrom) {
  PayloadFile probe(folder_.descriptor(), "probe");
  probe.begin_payload(kMib);
  if (!is_direct(probe)) GTEST_SKIP() << "this file system knows no other way";
  const Arena memory(4 * kMib);
  fill({memory.data(), size_t(memory.bytes())});
  for (const size_t away : {size_t(4), probe.memory_alignment() / 2, probe.memory_alignment()}) {
    const std::span<const std::byte> content(memory.data() + away, size_t(3 * kMib));
    const auto in_place = blocks_in_place(
        text("away", away), content, [&](BlockWriter& writer) { writer.append_resting(content); });
    EXPECT_EQ(in_place, away == probe.memory_alignment() ? 3 : 0);
  }
}

TEST_F(PayloadFiles, AreMadeOnceAndForTheirOwner) {
  const PayloadFile file(folder_.descriptor(), "rank00000.h5");
  struct stat status {};
  ASSERT_EQ(fstat(file.descriptor(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  const std::string refusal = testing_support::refusal_of(
      Exit::kIo, [&] { PayloadFile(folder_.descriptor(), "rank00000.h5"); });
  EXPECT_THAT(refusal, HasSubstr("File exists"));
}

TEST_F(PayloadFiles, ThatFitNowhereAreRefusedBeforeAByteIsWritten) {
  PayloadFile file(folder_.descriptor(), "rank00000.h5");
  const std::string refusal =
      testing_support::refusal_of(Exit::kIo, [&] { file.begin_payload(int64_t(1) << 60); });
  EXPECT_THAT(refusal, HasSubstr("setting 1152921504606846976 bytes aside"));
}

}  // namespace
}  // namespace zero::checkpoint
