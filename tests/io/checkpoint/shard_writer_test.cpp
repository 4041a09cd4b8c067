// Ranks: 1
#include "io/checkpoint/shard_writer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "tests/support/refusal.hpp"
#include "tests/support/small_checkpoint.hpp"
#include "zero/base/error.hpp"
#include "zero/device/arena.hpp"
#include "zero/io/checkpoint/blocks.hpp"
#include "zero/io/files/input_file.hpp"
#include "zero/io/files/open_file.hpp"

namespace zero::checkpoint {
namespace {

using ::testing::HasSubstr;
using testing_support::opened_folder;
using testing_support::TempFolder;

constexpr int64_t kMib = int64_t(1) << 20;
constexpr int64_t kPiece = ShardStream::kPieceBytes;

class ShardStreams : public ::testing::Test {
 protected:
  /// A file of one payload, with nothing around it.
  static std::shared_ptr<const FileStructure> one_payload(int64_t bytes) {
    OpenFile memory(memfd_create("structure", MFD_CLOEXEC));
    EXPECT_EQ(ftruncate(memory.descriptor(), off_t(bytes)), 0);
    return std::make_shared<const FileStructure>(InputFile(std::move(memory), "structure"),
                                                 std::vector<FileStructure::Extent>{{0, bytes}});
  }
  static void fill(std::span<std::byte> content) {
    for (size_t i = 0; i < content.size(); ++i) content[i] = std::byte((i * 7 + (i >> 12)) & 0xff);
  }
  std::unique_ptr<ShardStream> stream(const std::string& name, int64_t bytes) const {
    return std::make_unique<ShardStream>(
        ShardStream::Target{.folder = folder_.descriptor(), .name = name}, one_payload(bytes),
        std::span(staging_.data(), size_t(staging_.bytes())), DigestForm{});
  }
  struct stat status_of(const std::string& name) const {
    struct stat status {};
    EXPECT_EQ(stat((temp_.path() + "/" + name).c_str(), &status), 0);
    return status;
  }
  /// Requires that the file that `write` makes of it holds the content, and its digests. Returns
  /// how many of its pieces were not copied.
  int64_t pieces_in_place(const std::string& name, std::span<const std::byte> content,
                          const std::function<void(ShardStream&)>& write) const {
    const auto made = stream(name, int64_t(content.size()));
    write(*made);
    const File told = made->finish().file;
    const InputFile written(temp_.path() + "/" + name);
    std::vector<std::byte> found(size_t(written.bytes()));
    written.read(0, found);
    EXPECT_TRUE(std::ranges::equal(found, content)) << name;
    File expected{.name = name, .digests = "", .xxh3 = ""};
    add_blocks(content, {}, expected);
    EXPECT_EQ(told, expected);
    return made->pieces_in_place();
  }

  TempFolder temp_{"shard-stream"};
  OpenFile folder_ = opened_folder(temp_.path());
  Arena staging_{kStagingBytes};
};

TEST_F(ShardStreams, GiveTheirFileItsLengthBeforeItIsWritten) {
  const auto made = stream("rank00000.h5", 3 * kMib + 5);
  EXPECT_EQ(status_of("rank00000.h5").st_size, 3 * kMib + 5);
}

TEST_F(ShardStreams, OfLessThanAMebibyteStayInThePageCache) {
  const auto small = stream("small", kMib - 1), large = stream("large", kMib);
  EXPECT_EQ(small->alignment(), 0u);
  if (large->alignment() == 0) GTEST_SKIP() << "this file system knows no other way";
  EXPECT_EQ(large->alignment() % 512, 0u);
}

TEST_F(ShardStreams, HoldWhatSpansOfAnyLengthPutThere) {
  for (const int64_t bytes : {int64_t(1), kMib - 1, kMib, kPiece, 11 * kMib + 4096, 5 * kPiece + 17,
                              kPiece + 2 * kMib + 4096 + 17}) {
    std::vector<std::byte> content(static_cast<size_t>(bytes)), piece;
    fill(content);
    const auto in_pieces = [&](ShardStream& writer) {
      for (size_t at = 0; at < content.size(); at += 70'001) {
        const auto end = content.begin() + ptrdiff_t(std::min(at + 70'001, content.size()));
        piece.assign(content.begin() + ptrdiff_t(at), end);
        writer.append(piece);
      }
    };
    EXPECT_EQ(pieces_in_place(text("bytes", bytes), content, in_pieces), 0);
  }
}

TEST_F(ShardStreams, TakeWholePiecesThatRestFromWhereTheyLie) {
  const Arena memory(5 * kPiece + 4096);
  const std::span all(memory.data(), size_t(memory.bytes()));
  fill(all);
  // In one go, and in pieces that end anywhere and follow each other in memory.
  for (const size_t piece : {all.size(), size_t(70'001)}) {
    const auto in_place = pieces_in_place(text("pieces", piece), all, [&](ShardStream& writer) {
      for (size_t at = 0; at < all.size(); at += piece) {
        writer.append(all.subspan(at, std::min(piece, all.size() - at)), true);
      }
    });
    EXPECT_EQ(in_place, 5);
  }
}

TEST_F(ShardStreams, CopyPiecesThatRestInMoreThanOnePlace) {
  const Arena memory(4 * kPiece);
  const std::span all(memory.data(), size_t(memory.bytes()));
  fill(all);
  const size_t begin = size_t(kPiece) + 1000, end = 2 * size_t(kPiece) + 3000;
  std::vector<std::byte> elsewhere(all.begin() + ptrdiff_t(begin), all.begin() + ptrdiff_t(end));
  for (const bool rests : {true, false}) {
    const auto in_place = pieces_in_place(text("rests", rests), all, [&](ShardStream& writer) {
      writer.append(all.first(begin), true);
      writer.append(elsewhere, rests);
      writer.append(all.subspan(end), true);
    });
    EXPECT_EQ(in_place, 2) << "the first and the last";
  }
}

TEST_F(ShardStreams, CopyPiecesThatBeginWhereADiskDoesNotReadFrom) {
  const size_t alignment = stream("probe", kMib)->alignment();
  if (alignment == 0) GTEST_SKIP() << "this file system knows no other way";
  const Arena memory(4 * kPiece);
  fill({memory.data(), size_t(memory.bytes())});
  for (const size_t away : {size_t(4), alignment / 2, alignment}) {
    const std::span<const std::byte> content(memory.data() + away, size_t(3 * kPiece));
    const auto in_place = pieces_in_place(
        text("away", away), content, [&](ShardStream& writer) { writer.append(content, true); });
    EXPECT_EQ(in_place, away == alignment ? 3 : 0);
  }
}

TEST_F(ShardStreams, MakeTheirFileOnceAndForItsOwner) {
  const auto made = stream("rank00000.h5", 1);
  EXPECT_EQ(status_of("rank00000.h5").st_mode & 0777, 0600u);
  const std::string refusal =
      testing_support::refusal_of(Exit::kIo, [&] { stream("rank00000.h5", 1); });
  EXPECT_THAT(refusal, HasSubstr("File exists"));
}

TEST_F(ShardStreams, ThatFitNowhereAreRefusedBeforeAByteIsWritten) {
  const std::string refusal =
      testing_support::refusal_of(Exit::kIo, [&] { stream("rank00000.h5", int64_t(1) << 60); });
  EXPECT_THAT(refusal, HasSubstr("setting 1152921504606846976 bytes aside"));
}

}  // namespace
}  // namespace zero::checkpoint
