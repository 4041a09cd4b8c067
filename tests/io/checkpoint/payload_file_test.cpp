// Ranks: 1
#include "io/checkpoint/payload_file.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "io/checkpoint/block_writer.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/small_checkpoint.hpp"
#include "zero/base/error.hpp"
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

  TempFolder temp_{"payload-file"};
  OpenFile folder_ = opened_folder(temp_.path());
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
  large.use_page_cache();
  EXPECT_FALSE(is_direct(large));
}

TEST_F(PayloadFiles, HoldWhatBlocksOfAnyLengthPutThere) {
  for (const int64_t bytes : {int64_t(1), kMib - 1, kMib, 11 * kMib + 4096, 20 * kMib + 17}) {
    const std::string name = text("bytes", bytes);
    std::vector<std::byte> content(static_cast<size_t>(bytes));
    for (size_t i = 0; i < content.size(); ++i) content[i] = std::byte((i * 7 + (i >> 12)) & 0xff);
    PayloadFile file(folder_.descriptor(), name);
    file.begin_payload(bytes);
    BlockWriter writer(file);
    for (size_t at = 0; at < content.size(); at += 70'001) {
      writer.append(std::span(content).subspan(at, std::min<size_t>(70'001, content.size() - at)));
    }
    writer.finish();
    file.sync();
    const InputFile written(temp_.path() + "/" + name);
    ASSERT_EQ(written.bytes(), bytes);
    std::vector<std::byte> found(content.size());
    written.read(0, found);
    EXPECT_TRUE(found == content) << bytes;
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
