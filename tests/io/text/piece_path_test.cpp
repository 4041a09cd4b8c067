// Ranks: 1
#include "io/text/piece_path.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/support/tree_folder.hpp"
#include "zero/io/files/input_file.hpp"

namespace zero {
namespace {

using ::testing::ElementsAre;
using Kind = SentencePieceFile::Kind;

/// Ids: <unk> 0, blank 1, a 2, b 3, ab 4, and what a test adds.
SentencePieceFile small_model() {
  SentencePieceFile file;
  file.pieces = {{"<unk>", 0, Kind::kUnknown}, {"\u2581", -1}, {"a", -1}, {"b", -1}, {"ab", -1.5}};
  file.is_blank[' '] = true;
  return file;
}

std::vector<int32_t> ids_of(const SentencePieceFile& file, const std::vector<std::string>& parts) {
  const PieceTable table(file);
  PiecePath path(table);
  std::vector<int32_t> ids;
  for (const std::string& part : parts) path.add(part, ids);
  return ids;
}

TEST(PiecePath, HasTheLargestSumOfScores) {
  EXPECT_THAT(ids_of(small_model(), {"\u2581ab", "\u2581ba"}), ElementsAre(1, 4, 1, 3, 2));
  EXPECT_THAT(ids_of(small_model(), {"cd", "e", "a"}), ElementsAre(0, 2))
      << "unknown characters in a row are one piece, also across parts";
}

TEST(PiecePath, TakesUserDefinedPiecesAndNoUnusedOnes) {
  SentencePieceFile file = small_model();
  file.pieces.push_back({"ba", -100, Kind::kUserDefined});
  file.pieces.push_back({"aa", 0, Kind::kUnused});
  EXPECT_THAT(ids_of(file, {"abaa"}), ElementsAre(2, 5, 2));
}

TEST(PiecePath, WritesUnknownCharactersAsBytesWhereTheModelHasThem) {
  SentencePieceFile file = small_model();
  file.byte_fallback = true;
  for (int byte = 0; byte < 256; ++byte) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    const std::string digits = {kDigits[size_t(byte) / 16], kDigits[size_t(byte) % 16]};
    file.pieces.push_back({"<0x" + digits + ">", 0, Kind::kByte});
  }
  EXPECT_THAT(ids_of(file, {"a\u00e9"}), ElementsAre(2, 5 + 0xC3, 5 + 0xA9));
}

TEST(PiecePath, RoundsItsSumAsOverTheWholeText) {
  SentencePieceFile file = small_model();
  file.pieces[4].score = -2.01f;  // behind a sum of 10^5 it rounds to the sum of a and b
  std::string begin;
  for (int i = 0; i < 100'000; ++i) begin += "\u2581";
  EXPECT_THAT(ids_of(file, {"ab"}), ElementsAre(2, 3));
  const std::vector<int32_t> whole = ids_of(file, {begin + "\u2581" + "ba" + "ab"});
  EXPECT_EQ(ids_of(file, {begin,
                          "\u2581"
                          "ba"
                          "ab"}),
            whole);
}

SentencePieceFile golden_model() {
  const std::string path =
      (testing_support::tree_folder() / "tests/golden/pieces/spiece.model").string();
  return check_sentencepiece(read_whole(path, 1 << 20), path);
}

TEST(PiecePath, OfPartsIsThatOfTheWholeText) {
  const SentencePieceFile file = golden_model();
  std::mt19937 random(1);
  std::vector<std::string> parts;
  std::string whole;
  for (int i = 0; i < 60'000; ++i) {
    const SentencePieceFile::Piece& piece = file.pieces[3 + random() % (file.pieces.size() - 3)];
    if (parts.empty() || random() % 100 == 0) parts.emplace_back();
    if (parts.back().empty() && !piece.text.starts_with("\u2581")) parts.back() = "\u2581";
    parts.back() += piece.text;
  }
  for (const std::string& part : parts) whole += part;
  EXPECT_EQ(ids_of(file, parts), ids_of(file, {whole}));
}

/// The first part that a text is cut into.
std::string first_part(const SentencePieceFile& file, std::string_view text, size_t near = 6) {
  const PieceCuts::Cut cut = PieceCuts(file).find(text, near, 100);
  return std::string(text.substr(0, cut.end)) + "|" + std::string(text.substr(cut.next));
}

TEST(PieceCuts, AreAtTheLastBlankThatIsNear) {
  EXPECT_EQ(first_part(small_model(), "ab a b a b"), "ab a|b a b");
  EXPECT_EQ(first_part(small_model(), "abababab ab a"), "abababab|ab a") << "else behind it";
  EXPECT_EQ(first_part(small_model(), "abababab"), "abababab|");
  EXPECT_EQ(first_part(small_model(), "abab  ab"), "abab| ab");
  EXPECT_EQ(first_part(small_model(), "ab\nab ab"), "ab\nab|ab") << "no rule makes a blank of it";
  EXPECT_EQ(first_part(small_model(), "ab "), "ab |") << "a part is never empty";
  EXPECT_EQ(first_part(small_model(), "\u00e9\u00e9 ab"), "\u00e9\u00e9|ab");
}

TEST(PieceCuts, KnowTheBlanksOfTheRules) {
  const SentencePieceFile file = golden_model();  // with NFKC, which makes blanks of ends of lines
  EXPECT_TRUE(file.is_blank[' '] && file.is_blank['\n'] && file.is_blank['\t']);
  EXPECT_FALSE(file.is_blank['a'] || file.is_replaced['a']);
  EXPECT_TRUE(file.rules_keep_ascii_first && !file.rules_write_marks);
  EXPECT_EQ(first_part(file, "ab\nab ab", 5), "ab|ab ab");
}

TEST(PieceCuts, AreNotWhereIdsCouldChange) {
  const auto uncut = [](const auto& change) {
    SentencePieceFile file = small_model();
    change(file);
    return first_part(file, "ab ab") == "ab ab|";
  };
  EXPECT_FALSE(uncut([](SentencePieceFile&) {}));
  EXPECT_TRUE(uncut([](SentencePieceFile& file) { file.adds_prefix = false; }));
  EXPECT_TRUE(uncut([](SentencePieceFile& file) { file.escapes_blanks = false; }));
  EXPECT_TRUE(uncut([](SentencePieceFile& file) { file.blanks_behind_words = true; }));
  EXPECT_TRUE(uncut([](SentencePieceFile& file) { file.rules_keep_ascii_first = false; }));
  EXPECT_TRUE(uncut([](SentencePieceFile& file) { file.rules_write_marks = true; }));
  EXPECT_TRUE(uncut([](SentencePieceFile& file) { file.is_replaced['b'] = true; }));
  EXPECT_TRUE(uncut([](SentencePieceFile& file) { file.is_blank[' '] = false; }));
  EXPECT_TRUE(uncut([](SentencePieceFile& file) { file.pieces.push_back({"b\u2581", 0}); }));
  EXPECT_TRUE(uncut([](SentencePieceFile& file) {
    file.pieces.push_back({"b a", 0, Kind::kUserDefined});
  }));
  EXPECT_FALSE(uncut([](SentencePieceFile& file) { file.pieces.push_back({"\u2581\u2581", 0}); }));
  SentencePieceFile keeps = small_model();
  keeps.removes_blanks = false;
  EXPECT_EQ(first_part(keeps, "ab \u00e9 ab", 100), "ab|\u00e9 ab");
  EXPECT_EQ(first_part(small_model(), "ab\u2581 ab"), "ab\u2581 ab|")
      << "which is no blank, and would go from the end of a part";
}

}  // namespace
}  // namespace zero
