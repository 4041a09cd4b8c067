// Ranks: 1

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "io/text/sentencepiece.hpp"
#include "tests/support/equal_hashes.hpp"
#include "tests/support/processor_time.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/tokenizer_folder.hpp"
#include "tests/support/tree_folder.hpp"
#include "zero/base/digests.hpp"
#include "zero/io/files/input_file.hpp"
#include "zero/io/text/tokenizer.hpp"

namespace zero {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing_support::processor_seconds;
using testing_support::refusal_of;
using testing_support::TokenizerFolder;

constexpr int32_t kPieces = 400;

std::string golden_folder() {
  return (testing_support::tree_folder() / "tests/golden/pieces").string();
}

/// A build without the library refuses every model, naming the package.
class PieceTokenizer : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      open_tokenizer(golden_folder());
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::kUsage) << error.what();
      EXPECT_THAT(error.what(), AllOf(HasSubstr("spiece.model: this program was built without"),
                                      HasSubstr("libsentencepiece-dev")));
      GTEST_SKIP() << error.what();
    }
  }
};

TEST_F(PieceTokenizer, IsEqualToTransformersOnGoldenTexts) {
  const auto pieces = open_tokenizer(golden_folder());
  const auto alone = open_tokenizer(golden_folder() + "/spiece.model");
  std::ifstream file(golden_folder() + "/texts.json");
  const nlohmann::json rows = nlohmann::json::parse(file);
  ASSERT_GE(rows.size(), 250u);
  for (const auto& row : rows) {
    const std::vector<int32_t> ids = row[1];
    ASSERT_EQ(pieces->encode(row[0].get<std::string>()), ids) << row[0];
    ASSERT_EQ(alone->encode(row[0].get<std::string>()), ids) << row[0];
    ASSERT_EQ(pieces->decode(ids, SpecialTokens::kSkipped), row[2].get<std::string>());
  }
}

TEST_F(PieceTokenizer, NumbersSentinelsFromTheEnd) {
  const auto pieces = open_tokenizer(golden_folder());
  const SpecialIds special = pieces->special_ids();
  EXPECT_EQ(pieces->vocab_size(), kPieces + 100);
  EXPECT_THAT((std::array{special.pad, special.eos, special.unk, special.bos}),
              ElementsAre(0, 1, 2, -1));
  EXPECT_EQ(special.first_sentinel, kPieces + 99);
  EXPECT_EQ(special.sentinels, 100);
  EXPECT_THAT(pieces->encode("<extra_id_0> <extra_id_99></s>"),
              ElementsAre(kPieces + 99, kPieces, 1));
}

TEST_F(PieceTokenizer, ShowsOrSkipsSpecialTokens) {
  const auto pieces = open_tokenizer(golden_folder());
  std::vector<int32_t> ids = pieces->encode("In the beginning <extra_id_1> God created");
  ids.push_back(1);
  EXPECT_EQ(pieces->decode(ids), "In the beginning <extra_id_1> God created </s>");
  EXPECT_EQ(pieces->decode(ids, SpecialTokens::kSkipped), "In the beginning God created");
  EXPECT_THAT(refusal_of(Exit::kInput, [&] { pieces->decode(std::vector<int32_t>{500}); }),
              HasSubstr("token 500 at place 0: the tokenizer has 500"));
}

TEST_F(PieceTokenizer, FollowsTheSettingsOfItsFolder) {
  const TokenizerFolder folder("pieces", golden_folder());
  for (const char* name : {"added_tokens.json", "special_tokens_map.json"}) folder.remove(name);
  folder.write("tokenizer_config.json", R"({"extra_ids": 3, "eos_token": "<pad>"})");
  folder.write("config.json", R"({"decoder_start_token_id": 0})");
  const auto pieces = open_tokenizer(folder.path());
  EXPECT_EQ(pieces->vocab_size(), kPieces + 3);
  EXPECT_EQ(pieces->special_ids().eos, 0);
  EXPECT_EQ(pieces->special_ids().decoder_start, 0);
  EXPECT_EQ(pieces->special_ids().first_sentinel, kPieces + 2);
  EXPECT_NE(pieces->fingerprint(), open_tokenizer(golden_folder())->fingerprint());
  folder.write("tokenizer_config.json", R"({"legacy": false})");
  EXPECT_THAT(refusal_of(Exit::kInput, [&] { open_tokenizer(folder.path()); }),
              HasSubstr("legacy: false is not supported: write true"));
}

TEST_F(PieceTokenizer, RefusesWhatIsNoModelNamingTheFile) {
  const TokenizerFolder folder("no-pieces");
  const auto error = [&](const std::string& content) {
    folder.write("spiece.model", content);
    return refusal_of(Exit::kInput, [&] { open_tokenizer(folder.path()); });
  };
  EXPECT_THAT(error(""), HasSubstr("spiece.model: is empty"));
  EXPECT_THAT(error("some text\n"), HasSubstr("spiece.model: offset"));
  EXPECT_THAT(error("\x0A\xFF\x01"), HasSubstr("a field of 255 bytes, but 0 are left"));
  EXPECT_THAT(error("\x12\x02\x18\x02"), HasSubstr("a model of type 2, where 1 is read"));
  EXPECT_THAT(error("\x12\x02\x18\x01"), HasSubstr("SentencePiece refuses it"));
}

TEST_F(PieceTokenizer, RefusesRulesThatLeadOutOfTheirTable) {
  const TokenizerFolder folder("far-rules", golden_folder());
  std::string content = folder.read("spiece.model");
  size_t at = content.find("nmt_nfkc") + 8;  // the name of the rules, and then the rules
  ASSERT_EQ(content[at++], '\x12');
  while (content[at++] & 0x80) continue;
  at += sizeof(uint32_t);  // behind their length is the place that all ways begin at
  std::memcpy(&content[at], "\x00\xFE\xFF\x7F", 4);
  folder.write("spiece.model", content);
  EXPECT_THAT(refusal_of(Exit::kInput, [&] { open_tokenizer(folder.path()); }),
              HasSubstr("a rule leads to place 536870656"));
}

/// A model of these pieces, as SentencePiece writes it, and "<unk>" in front.
std::string model_of(const std::vector<std::string>& pieces) {
  const auto length = [](size_t bytes) {
    std::string out;
    for (; bytes >= 0x80; bytes >>= 7) out += char(bytes | 0x80);
    return out + char(bytes);
  };
  std::string out("\x0A\x09\x0A\x05<unk>\x18\x02", 11);
  for (const std::string& piece : pieces) {
    const std::string message = "\x0A" + length(piece.size()) + piece;
    out += "\x0A" + length(message.size()) + message;
  }
  return out;
}

TEST_F(PieceTokenizer, RefusesPiecesThatTheLibraryCannotTake) {
  const TokenizerFolder folder("many-pieces");
  const auto error = [&](const std::vector<std::string>& pieces) {
    folder.write("spiece.model", model_of(pieces));
    return refusal_of(Exit::kInput, [&] { open_tokenizer(folder.path()); });
  };
  EXPECT_EQ(error({std::string(512, 'a'), "b"}), "");
  const std::string nan("\x15\x00\x00\xC0\x7F", 5), scored =
                                                        "\x0A\x01"
                                                        "a" +
                                                        nan;
  folder.write("spiece.model", "\x0A" + std::string(1, char(scored.size())) + scored);
  EXPECT_THAT(refusal_of(Exit::kInput, [&] { open_tokenizer(folder.path()); }),
              HasSubstr("piece 0 has the score nan"));
  EXPECT_THAT(error({"b", std::string(513, 'a')}),
              HasSubstr("piece 2 has 513 bytes, at most 512 are read"));
  EXPECT_THAT(error({std::string(200'000, 'a')}), HasSubstr("piece 1 has 200000 bytes"));
  EXPECT_THAT(error(std::vector<std::string>(1 << 20, "a")), HasSubstr("more than 1048576 pieces"));
  EXPECT_THAT(error(testing_support::texts_of_one_hash(1 << 12)),
              HasSubstr("more than 256 pieces have one hash"));
}

TEST_F(PieceTokenizer, EncodesALongTextInPartsToTheIdsOfTheWhole) {
  const std::string path = golden_folder() + "/spiece.model";
  const auto model = open_sentencepiece(read_whole(path, 1 << 20), path);
  std::ifstream file(golden_folder() + "/texts.json");
  const nlohmann::json rows = nlohmann::json::parse(file);
  std::string text;
  for (size_t i = 0; text.size() < 300'000; ++i) {
    const std::string row = rows[i % rows.size()][0];
    if (row.find('<') == row.npos) text += row + " ";
  }
  std::vector<int32_t> ids;
  struct rusage before {
  }, after{};
  getrusage(RUSAGE_SELF, &before);
  model->encode(text, ids);
  getrusage(RUSAGE_SELF, &after);
  // As SentencePiece 0.1.97 encodes the whole, which takes some 70 MB.
  EXPECT_EQ(ids.size(), 99'635u);
  EXPECT_EQ(crc32(reinterpret_cast<const uint8_t*>(ids.data()), ids.size() * sizeof ids[0]),
            0xd7e1515bu);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 32 * 1024) << "KiB";
}

TEST_F(PieceTokenizer, RefusesALongTextWithoutAPlaceToCutIt) {
  const auto pieces = open_tokenizer(golden_folder());
  EXPECT_THAT(refusal_of(Exit::kInput, [&] { pieces->encode(std::string((4 << 20) + 1, 'a')); }),
              HasSubstr("finds no blank before that where it may cut; give it line by line"));
}

TEST_F(PieceTokenizer, TakesAnyNumberOfSentinelsInTheTimeOfTheText) {
  const TokenizerFolder folder("sentinels", golden_folder());
  for (const char* name : {"added_tokens.json", "special_tokens_map.json"}) folder.remove(name);
  folder.write("tokenizer_config.json", R"({"extra_ids": 262143})");
  EXPECT_LT(
      processor_seconds([&] { open_tokenizer(folder.path())->encode(std::string(1 << 16, '<')); }),
      10);
}

TEST_F(PieceTokenizer, ReadsAnyDamageOrRefusesItAsInput) {
  const TokenizerFolder folder("damaged-pieces");
  const std::string good = TokenizerFolder("good", golden_folder()).read("spiece.model");
  const std::string text =
      "In the beginning \u00e9\u3000\ufb01 \u2460\u0301 <extra_id_0> \xFF \u212b.";
  std::mt19937 random(1);
  int opened = 0, refused = 0;
  for (int i = 0; i < 150; ++i) {
    std::string bad = good.substr(0, i % 8 ? good.size() : random() % good.size());
    for (int changes = 1 + i % 20; !bad.empty() && changes > 0; --changes)
      bad[random() % bad.size()] = char(random());
    folder.write("spiece.model", bad);
    const std::string words = refusal_of(Exit::kInput, [&] {
      const auto pieces = open_tokenizer(folder.path());
      ++opened;
      pieces->decode(pieces->encode(text));
    });
    if (!words.empty()) {
      EXPECT_THAT(words, HasSubstr("spiece.model")) << i;
      ++refused;
    }
  }
  EXPECT_GT(opened, 5);
  EXPECT_GT(refused, 50);
}

/// The folder of a model of DeBERTa's, whose file is spm.model.
std::string deberta_folder() {
  return (testing_support::tree_folder() / "tests/golden/spm").string();
}

constexpr int32_t kDebertaPieceCount = 300;

TEST_F(PieceTokenizer, OfADebertaIsSentencePieceBetweenItsSpecialTokens) {
  const auto pieces = open_tokenizer(deberta_folder());
  const auto alone = open_tokenizer(deberta_folder() + "/spm.model");
  std::ifstream file(deberta_folder() + "/texts.json");
  const nlohmann::json rows = nlohmann::json::parse(file);
  ASSERT_EQ(rows.size(), 250u);
  for (const auto& row : rows) {
    const std::vector<int32_t> ids = row[1];
    ASSERT_EQ(pieces->encode(row[0].get<std::string>()), ids) << row[0];
    ASSERT_EQ(alone->encode(row[0].get<std::string>()), ids) << row[0];
  }
  EXPECT_EQ(pieces->encode("\u00a0\ufb01\u3000\u2460"), pieces->encode("fi 1"))
      << "by the model's own map of characters";
}

TEST_F(PieceTokenizer, OfADebertaHasItsMaskBehindThePiecesAndNoSentinels) {
  const auto pieces = open_tokenizer(deberta_folder());
  const SpecialIds special = pieces->special_ids();
  EXPECT_THAT((std::array{special.pad, special.cls, special.sep, special.unk, special.mask}),
              ElementsAre(0, 1, 2, 3, kDebertaPieceCount));
  EXPECT_EQ(special.sentinels, 0);
  EXPECT_EQ(special.first_sentinel, SpecialIds::kNone);
  EXPECT_EQ(pieces->vocab_size(), kDebertaPieceCount + 1);
  EXPECT_THAT(pieces->encode("[CLS][SEP] [MASK]"), ElementsAre(1, 2, kDebertaPieceCount));
  const std::vector<int32_t> ids = {1, 2, kDebertaPieceCount};
  EXPECT_EQ(pieces->decode(ids), "[CLS] [SEP] [MASK]");
  EXPECT_EQ(pieces->decode(ids, SpecialTokens::kSkipped), "");
  EXPECT_EQ(open_tokenizer(golden_folder())->special_ids().cls, SpecialIds::kNone);
}

TEST_F(PieceTokenizer, OfADebertaFollowsTheSettingsOfItsFolder) {
  const TokenizerFolder folder("deberta", deberta_folder());
  const uint64_t first = open_tokenizer(folder.path())->fingerprint();
  folder.write("tokenizer_config.json",
               R"({"tokenizer_class": "DebertaV2TokenizerFast", "cls_token": "[SEP]"})");
  folder.write("added_tokens.json", R"({"[MASK]": 305})");
  const auto pieces = open_tokenizer(folder.path());
  EXPECT_EQ(pieces->special_ids().cls, 2);
  EXPECT_EQ(pieces->special_ids().mask, 305);
  EXPECT_NE(pieces->fingerprint(), first);
  const auto refusal = [&](const char* settings) {
    folder.write("tokenizer_config.json", settings);
    return refusal_of(Exit::kInput, [&] { open_tokenizer(folder.path()); });
  };
  EXPECT_THAT(
      refusal(R"({"do_lower_case": true})"),
      HasSubstr("tokenizer_config.json: do_lower_case: true is not supported: write false"));
  EXPECT_THAT(refusal(R"({"split_by_punct": true})"), HasSubstr("split_by_punct: true is not"));
  EXPECT_THAT(refusal(R"({"tokenizer_class": "T5Tokenizer"})"),
              HasSubstr("tokenizer_class: T5Tokenizer beside spm.model is not supported"));
  EXPECT_EQ(refusal(R"({"tokenizer_class": "DebertaV2Tokenizer", "legacy": false})"), "");
}

/// The text of a tokenizer.json of version 5 of Transformers with these added tokens.
std::string json_with(const std::string& added) {
  return R"({"version": "1.0", "added_tokens": [)" + added +
         R"(], "model": {"type": "Unigram", "unk_id": 3, "vocab": [["[PAD]", 0.0]]}})";
}

TEST_F(PieceTokenizer, ReadsAddedTokensThatStandInTokenizerJsonAlone) {
  const TokenizerFolder folder("added", deberta_folder());
  const uint64_t first = open_tokenizer(folder.path())->fingerprint();
  const std::string mask = R"({"id": 300, "content": "[MASK]", "special": true})";
  folder.write("tokenizer.json", json_with(mask));
  EXPECT_EQ(open_tokenizer(folder.path())->fingerprint(), first) << "as without the file";
  folder.write("tokenizer.json", json_with(mask + R"(, {"id": 301, "content": "<new>"})"));
  const auto pieces = open_tokenizer(folder.path());
  EXPECT_THAT(pieces->encode("<new>[MASK]"), ElementsAre(301, 300));
  EXPECT_NE(pieces->fingerprint(), first);
  EXPECT_EQ(pieces->decode(std::array{301}, SpecialTokens::kSkipped), "<new>") << "not special";
  const auto refusal = [&](const std::string& added) {
    folder.write("tokenizer.json", json_with(added));
    return refusal_of(Exit::kInput, [&] { open_tokenizer(folder.path()); });
  };
  EXPECT_THAT(refusal(R"({"id": 7, "content": "[CLS]"})"),
              HasSubstr("tokenizer.json: added_tokens[0]: \"[CLS]\" has the id 7, and in the other "
                        "files 1; take all files"));
  EXPECT_THAT(refusal(R"({"id": 7, "content": "<new>"})"), HasSubstr("a piece has it"));
}

TEST_F(PieceTokenizer, RefusesAdditionalSpecialTokensWithoutAnId) {
  const TokenizerFolder folder("additional", deberta_folder());
  folder.write("special_tokens_map.json", R"({"additional_special_tokens": ["<new>", "[CLS]"]})");
  EXPECT_THAT(
      refusal_of(Exit::kInput, [&] { open_tokenizer(folder.path()); }),
      HasSubstr("no file says the id of \"<new>\", one of its additional_special_tokens; "));
  folder.write("added_tokens.json", R"({"<new>": 301, "[MASK]": 300})");
  EXPECT_THAT(open_tokenizer(folder.path())->encode("<new>"), ElementsAre(301));
}

TEST(TokenizerFiles, AreThoseThatTransformersLooksFor) {
  EXPECT_TRUE(tokenizer_files("bytes").empty());
  EXPECT_TRUE(tokenizer_files("").empty());
  const TokenizerFolder folder("files");
  EXPECT_FALSE(holds_tokenizer(folder.path()));
  folder.write("vocab.json", "{}");
  EXPECT_FALSE(holds_tokenizer(folder.path()));
  folder.write("merges.txt", "");
  folder.write("special_tokens_map.json", "{}");
  EXPECT_TRUE(holds_tokenizer(folder.path()));
  EXPECT_EQ(tokenizer_files(folder.path()).size(), 3u);
  folder.write("my.model", "");
  const auto alone = tokenizer_files(folder.path() + "/my.model");
  ASSERT_EQ(alone.size(), 1u);
  EXPECT_EQ(alone[0].name, "spiece.model");
  folder.write("spiece.model", "");
  folder.remove("merges.txt");
  EXPECT_TRUE(holds_tokenizer(folder.path()));
  const TokenizerFolder deberta("deberta-files");
  deberta.write("spm.model", "");
  EXPECT_TRUE(holds_tokenizer(deberta.path()));
  EXPECT_EQ(tokenizer_files(deberta.path())[0].name, "spm.model");
  EXPECT_EQ(tokenizer_files(deberta.path() + "/spm.model")[0].name, "spm.model");
}

TEST(TokenizerFiles, OfTwoTokenizersAreRefusedAndOfNoneNameTheOneThatIsMissing) {
  const auto refusal = [](const std::string& name) {
    return refusal_of(Exit::kInput, [&] { open_tokenizer(name); });
  };
  const TokenizerFolder folder("kinds");
  folder.write("tokenizer_config.json", "{\"extra_ids\": 100}");
  EXPECT_THAT(refusal(folder.path()), HasSubstr("holds no spiece.model, which its other files"));
  folder.remove("tokenizer_config.json");
  folder.write("tokenizer.json", R"({"model": {"type": "BPE"}})");
  EXPECT_THAT(refusal(folder.path()),
              AllOf(HasSubstr("tokenizer.json: model.vocab: is missing; or put the vocab.json and "
                              "merges.txt that the model comes with"),
                    Not(HasSubstr("python3"))))
      << "files made out of it may give other ids";
  folder.write("tokenizer.json", R"({"model": {"type": "Unigram"}})");
  EXPECT_THAT(refusal(folder.path()),
              AllOf(HasSubstr("spm.model; or put the spiece.model that the model comes with"),
                    Not(HasSubstr("bpe.py"))));
  folder.write("vocab.json", "");
  EXPECT_THAT(refusal(folder.path()), Not(HasSubstr("bpe.py"))) << "which makes other ids";
  for (const char* name : {"spiece.model", "vocab.json", "merges.txt"}) folder.write(name, "");
  EXPECT_THAT(refusal(folder.path()), HasSubstr("holds two tokenizers"));
  EXPECT_THAT(refusal(folder.path()), HasSubstr("kinds/spiece.model"));
  for (const char* name : {"vocab.json", "merges.txt"}) folder.remove(name);
  folder.write("spm.model", "");
  EXPECT_THAT(refusal(folder.path()), HasSubstr("two tokenizers, spiece.model, and spm.model;"));
}

TEST(TokenizerFiles, OfADebertaWithoutItsModelNameIt) {
  const auto refusal = [](const std::string& name) {
    return refusal_of(Exit::kInput, [&] { open_tokenizer(name); });
  };
  const TokenizerFolder folder("no-spm");
  folder.write("tokenizer.json", R"({"model": {"type": "Unigram", "vocab": [["[CLS]", 0]]}})");
  EXPECT_THAT(
      refusal(folder.path()),
      HasSubstr(
          "the type \"Unigram\" is not supported; BPE is, and a Unigram model is read from its "
          "spiece.model or spm.model; or put the spm.model that the model comes with"));
  folder.write("tokenizer_config.json", R"({"tokenizer_class": "DebertaV2Tokenizer"})");
  EXPECT_THAT(refusal(folder.path()), HasSubstr("holds no spm.model, which its other files"));
}

}  // namespace
}  // namespace zero
