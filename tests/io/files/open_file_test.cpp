// Ranks: 1
#include "zero/io/files/open_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <utility>

namespace zero {
namespace {

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
