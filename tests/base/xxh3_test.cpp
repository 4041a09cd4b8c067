// Ranks: 1
#include <gtest/gtest.h>

#include <string>

#include "zero/base/digests.hpp"
#include "zero/base/text.hpp"

namespace zero {
namespace {

std::span<const std::byte> bytes_of_text(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string xxh3(const std::string& text) { return hex_of(xxh3_of(bytes_of_text(text))); }

// As xxHash 0.8 gives them.
TEST(Xxh3, GivesTheDigestsOfItsLibrary) {
  EXPECT_EQ(xxh3(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(xxh3("abc"), "06b05ab6733a618578af5f94892f3950");
  EXPECT_EQ(xxh3(std::string(1000000, 'a')), "a545df8e384a9579b1fd6fae5285c4eb");
}

TEST(Xxh3, DoesNotDependOnHowTheBytesAreCut) {
  const std::string text(3000, 'x');
  for (size_t cut : {0u, 1u, 16u, 240u, 241u, 1024u, 2999u}) {
    Xxh3 hash;
    hash.add(bytes_of_text(text.substr(0, cut)));
    hash.add(bytes_of_text(text.substr(cut)));
    EXPECT_EQ(hash.digest(), xxh3_of(bytes_of_text(text))) << "cut at " << cut;
  }
}

}  // namespace
}  // namespace zero
