// Ranks: 1
#include <gtest/gtest.h>

#include <string>

#include "zero/base/digests.hpp"

namespace zero {
namespace {

std::span<const std::byte> bytes_of_text(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string sha256(const std::string& text) {
  Sha256 hash;
  hash.add(bytes_of_text(text));
  return hash.digest();
}

TEST(Sha256, GivesTheDigestsOfFips180) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, DoesNotDependOnHowTheBytesAreCut) {
  const std::string text(300, 'x');
  for (size_t cut : {1u, 55u, 56u, 63u, 64u, 65u, 128u, 299u}) {
    Sha256 hash;
    hash.add(bytes_of_text(text.substr(0, cut)));
    hash.add(bytes_of_text(text.substr(cut)));
    EXPECT_EQ(hash.digest(), sha256(text)) << "cut at " << cut;
  }
}

}  // namespace
}  // namespace zero
