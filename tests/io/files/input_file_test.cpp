// Ranks: 1

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "tests/support/temp_file.hpp"
#include "zero/base/error.hpp"
#include "zero/io/files/files.hpp"

namespace zero {
namespace {

using testing_support::TempFile;

TEST(InputFile, ReadsFromAnyOffset) {
  const TempFile written("input", "0123456789");
  const InputFile file(written.path());
  EXPECT_EQ(file.bytes(), 10);
  std::string out(4, ' ');
  file.read(3, std::as_writable_bytes(std::span(out)));
  EXPECT_EQ(out, "3456");
  EXPECT_THROW(file.read(7, std::as_writable_bytes(std::span(out))), Error) << "beyond the end";
}

TEST(InputFile, RefusesWhatIsNoFile) {
  EXPECT_THROW(InputFile("/nowhere/at/all"), Error);
  EXPECT_THROW(InputFile("/tmp"), Error);
}

TEST(ReadWhole, ReadsUpToItsLimit) {
  const TempFile written("whole", "0123456789");
  EXPECT_EQ(read_whole(written.path(), 10), "0123456789");
  EXPECT_THROW(read_whole(written.path(), 9), Error);
}

TEST(WriteAll, ReportsAFullDisk) {
  const OpenFile full(open("/dev/full", O_WRONLY));
  ASSERT_TRUE(full);
  EXPECT_EQ(write_all(full, "x"), ENOSPC);
  EXPECT_EQ(write_all(full, ""), 0);
}

TEST(OpenFile, ClosesOnceWhereverItWasMoved) {
  int descriptor = -1;
  {
    OpenFile first(open("/dev/null", O_RDONLY));
    descriptor = first.descriptor();
    OpenFile second(std::move(first));
    EXPECT_FALSE(first);
    OpenFile third;
    third = std::move(second);
    EXPECT_EQ(third.descriptor(), descriptor);
    EXPECT_EQ(fcntl(descriptor, F_GETFD) & ~FD_CLOEXEC, 0) << "it is still open";
  }
  EXPECT_EQ(fcntl(descriptor, F_GETFD), -1);
}

}  // namespace

}  // namespace zero
