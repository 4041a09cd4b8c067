// Ranks: 1

#include "zero/io/files/input_file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <string>

#include "tests/support/temp_file.hpp"
#include "zero/base/error.hpp"

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

TEST(InputFile, SaysHowToOpenMoreFilesThanAProcessMay) {
  const TempFile written("one_more", "0123456789");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  std::string message;
  try {
    const InputFile file(written.path());
  } catch (const Error& error) {
    message = error.what();
  }
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_NE(message.find("ulimit -Hn"), message.npos) << message;
  EXPECT_NE(message.find("--prepare"), message.npos) << message;
}

TEST(ReadWhole, ReadsUpToItsLimit) {
  const TempFile written("whole", "0123456789");
  EXPECT_EQ(read_whole(written.path(), 10), "0123456789");
  EXPECT_THROW(read_whole(written.path(), 9), Error);
}

}  // namespace
}  // namespace zero
