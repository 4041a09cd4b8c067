// Ranks: 1

#include "io/text/nfc.hpp"

#include <gtest/gtest.h>

namespace zero {
namespace {

TEST(Nfc, ComposesALetterWithItsMark) {
  EXPECT_EQ(to_nfc("cafe\u0301"), "caf\u00e9");
  EXPECT_EQ(to_nfc("caf\u00e9"), "caf\u00e9");
  EXPECT_EQ(to_nfc("a\u0328\u0301"), "\u0105\u0301");  // only the first is in a pair with a
  EXPECT_EQ(to_nfc("\u1e9b\u0323"), "\u1e9b\u0323");
}

TEST(Nfc, OrdersMarksBeforeItComposes) {
  EXPECT_EQ(to_nfc("a\u0301\u0323"), "\u1ea1\u0301");
  EXPECT_EQ(to_nfc("q\u0307\u0323"), "q\u0323\u0307");
}

TEST(Nfc, ReplacesWhatStaysApart) {
  EXPECT_EQ(to_nfc("\u212b"), "\u00c5");
  EXPECT_EQ(to_nfc("\u0958"), "\u0915\u093c");
  EXPECT_EQ(to_nfc("\uf900"), "\u8c48");
}

TEST(Nfc, ComposesHangul) {
  EXPECT_EQ(to_nfc("\u1100\u1161"), "\uac00");
  EXPECT_EQ(to_nfc("\u1100\u1161\u11a8"), "\uac01");
  EXPECT_EQ(to_nfc("\uac00\u11a8"), "\uac01");
  EXPECT_EQ(to_nfc("\uac01\u11a8"), "\uac01\u11a8");
  EXPECT_EQ(to_nfc("\uac00\u11a7"), "\uac00\u11a7");
}

TEST(Nfc, KeepsABrokenByteAndComposesNothingAcrossIt) {
  EXPECT_EQ(to_nfc("e\xFF\u0301"), "e\xFF\u0301");
  EXPECT_EQ(to_nfc("\xFF"), "\xFF");
  EXPECT_EQ(to_nfc("e\xCC"), "e\xCC");
  EXPECT_EQ(to_nfc("\xFF"
                   "e\u0301"),
            "\xFF\u00e9");
}

TEST(Nfc, IsBlockedByAMarkOfTheSameClass) {
  EXPECT_EQ(to_nfc("a\u0305\u0301"), "a\u0305\u0301");
  EXPECT_EQ(to_nfc("a\u0327\u0301"), "\u00e1\u0327");
}

}  // namespace
}  // namespace zero
