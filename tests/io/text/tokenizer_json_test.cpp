// Ranks: 1

#include "io/text/tokenizer_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "io/text/characters.hpp"
#include "io/text/json_words.hpp"
#include "tests/support/tokenizer_folder.hpp"
#include "tests/support/tree_folder.hpp"

namespace zero {
namespace {

using Json = nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::TokenizerFolder;

std::string golden(const std::string& kind) {
  return (testing_support::tree_folder() / "tests/golden/json" / kind).string();
}

Json content_of(const std::string& kind) {
  return Json::parse(std::ifstream(golden(kind) + "/tokenizer.json"));
}

std::string error_of_text(const std::string& json) {
  const TokenizerFolder folder("json");
  folder.write("tokenizer.json", json);
  try {
    open_tokenizer(folder.path());
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kInput);
    return error.what();
  }
  return "no error";
}

/// The error of a tokenizer.json with `patch` (RFC 7396) of a golden one.
std::string error_of(const std::string& kind, const char* patch) {
  Json content = content_of(kind);
  content.merge_patch(Json::parse(patch));
  return error_of_text(content.dump());
}

/// Returns `text` with U+FFFD for each byte outside UTF-8, which the package replaces.
std::string shown_text(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const Character next = character(text, at);
    append_utf8(next.broken ? 0xFFFD : next.code_point, out);
    at += next.bytes;
  }
  return out;
}

class GoldenKind : public ::testing::TestWithParam<const char*> {};

TEST_P(GoldenKind, GivesTheIdsWordsAndTextsOfThePackage) {
  const auto tokenizer = open_tokenizer(golden(GetParam()));
  const TokenizerJson json =
      read_tokenizer_json(parse_tokenizer_json(golden(GetParam()) + "/tokenizer.json"));
  for (const Json& row : Json::parse(std::ifstream(golden(GetParam()) + "/texts.json"))) {
    const std::string text = row[0];
    const auto ids = row[1].get<std::vector<int32_t>>();
    EXPECT_EQ(tokenizer->encode(text), ids) << text;
    EXPECT_EQ(tokenizer->encode(text, SpecialNames::kText), row[2].get<std::vector<int32_t>>())
        << text;
    std::vector<size_t> words;
    cut_words(normalize(text, json.rules.normal), true, json.rules,
              [&](std::string_view word) { words.push_back(word.size()); });
    EXPECT_EQ(words, row[3].get<std::vector<size_t>>()) << text;
    EXPECT_EQ(shown_text(tokenizer->decode(ids)), row[4].get<std::string>()) << text;
    EXPECT_EQ(shown_text(tokenizer->decode(ids, SpecialTokens::kSkipped)),
              row[5].get<std::string>())
        << text;
  }
}

INSTANTIATE_TEST_SUITE_P(TokenizerJson, GoldenKind,
                         ::testing::Values("llama3", "qwen", "smollm", "prefix", "legacy",
                                           "metaspace_first", "partial_fused", "gemma"));

TEST(TokenizerJson, NamesWhatItsTemplatePutsAroundAText) {
  EXPECT_THAT(open_tokenizer(golden("llama3"))->text_frame().before, ElementsAre(563));
  EXPECT_TRUE(open_tokenizer(golden("llama3"))->text_frame().after.empty());
  EXPECT_TRUE(open_tokenizer(golden("qwen"))->text_frame().before.empty());
  EXPECT_EQ(open_tokenizer(golden("prefix"))->text_frame().after.size(), 1u);
}

TEST(TokenizerJson, RefusesATemplateThatIsLargeOrWithoutText) {
  const auto refusal = [](const std::string& single) {
    Json content = content_of("prefix");
    content["post_processor"]["single"] = Json::parse(single);
    return error_of_text(content.dump());
  };
  EXPECT_THAT(refusal("[]"), HasSubstr("post_processor.single: has no Sequence A"));
  EXPECT_THAT(refusal(R"([{"Sequence": {"id": "B"}}])"), HasSubstr("\"B\" is not supported"));
  EXPECT_THAT(refusal(R"([{"SpecialToken": {"id": "<none>"}}])"),
              HasSubstr("\"<none>\" stands not in special_tokens"));
  std::string many = R"([{"Sequence": {"id": "A"}})";
  for (int i = 0; i < 70; ++i) many += R"(, {"SpecialToken": {"id": "</s>"}})";
  EXPECT_THAT(refusal(many + "]"), HasSubstr("single: has more than 64 places"));
}

TEST(TokenizerJson, RefusesIdsOfATemplateThatNoTokenHas) {
  Json content = content_of("prefix");
  int64_t tokens = int64_t(content["model"]["vocab"].size());
  for (const Json& token : content["added_tokens"])
    tokens = std::max(tokens, token["id"].get<int64_t>() + 1);
  const auto refusal = [&](int64_t id) {
    content["post_processor"]["special_tokens"]["</s>"]["ids"] = {id};
    return error_of_text(content.dump());
  };
  EXPECT_EQ(refusal(tokens - 1), "no error");
  EXPECT_THAT(refusal(tokens), HasSubstr(text("id ", tokens, " is that of no token")));
}

TEST(TokenizerJson, BeginsAPromptWithTheTemplatesIdsOnce) {
  const auto tokenizer = open_tokenizer(golden("llama3"));
  const std::vector<int32_t> ids = encode_prompt(*tokenizer, "a");
  EXPECT_EQ(ids[0], 563);
  EXPECT_EQ(encode_prompt(*tokenizer, "<s>a"), ids);
}

TEST(TokenizerJson, RefusesOtherSectionsByName) {
  EXPECT_THAT(error_of("qwen", R"({"normalizer": {"type": "NFKC"}})"),
              HasSubstr("normalizer: the type \"NFKC\" is not supported; null, NFC, Prepend"));
  EXPECT_THAT(
      error_of("qwen", R"({"pre_tokenizer": {"type": "Whitespace"}})"),
      HasSubstr("pre_tokenizer: the type \"Whitespace\" is not supported; null, ByteLevel"));
  EXPECT_THAT(error_of("qwen", R"({"post_processor": {"type": "BertProcessing"}})"),
              HasSubstr("post_processor: the type \"BertProcessing\" is not supported"));
  EXPECT_THAT(error_of("legacy", R"({"decoder": {"type": "WordPiece"}})"),
              HasSubstr("decoder: the type \"WordPiece\" is not supported"));
  EXPECT_THAT(error_of("legacy", R"({"decoder": null})"), HasSubstr("decoder: null is not"));
  EXPECT_THAT(error_of("qwen", R"({"model": {"type": "WordPiece"}})"),
              HasSubstr("model: the type \"WordPiece\" is not supported; BPE is"));
  EXPECT_THAT(error_of("qwen", R"({"more": 1})"), HasSubstr("\"more\" is not supported"));
  EXPECT_THAT(error_of("qwen", R"({"version": "2.0"})"), HasSubstr("version: \"2.0\" is not"));
}

TEST(TokenizerJson, RefusesAnotherRegexByItsText) {
  Json content = content_of("llama3");
  content["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = "\\w+";
  EXPECT_THAT(
      error_of_text(content.dump()),
      HasSubstr("pretokenizers[0].pattern.Regex: \"\\w+\" is not supported; those of byte-level"));
  content = content_of("llama3");
  content["pre_tokenizer"]["pretokenizers"][0]["behavior"] = "Removed";
  EXPECT_THAT(error_of_text(content.dump()),
              HasSubstr("\"Removed\" is not supported; \"Isolated\""));
  content = content_of("llama3");
  content["pre_tokenizer"]["pretokenizers"][0]["invert"] = true;
  EXPECT_THAT(error_of_text(content.dump()), HasSubstr("invert: true is not supported"));
}

TEST(TokenizerJson, RefusesFlagsThatChangeIds) {
  EXPECT_THAT(error_of("qwen", R"({"model": {"dropout": 0.1}})"),
              HasSubstr("model.dropout: is not"));
  EXPECT_EQ(error_of("qwen", R"({"model": {"dropout": 0.0}})"), "no error");
  EXPECT_THAT(error_of("qwen", R"({"model": {"end_of_word_suffix": "</w>"}})"),
              HasSubstr("end_of_word_suffix: \"</w>\" is not supported; null is"));
  EXPECT_EQ(error_of("qwen", R"({"model": {"continuing_subword_prefix": ""}})"), "no error");
  EXPECT_THAT(error_of("qwen", R"({"model": {"max_length": 4}})"),
              HasSubstr("model: the key \"max_length\" is not supported"));
  EXPECT_THAT(error_of("metaspace_first", R"({"pre_tokenizer": {"replacement": "_"}})"),
              HasSubstr("replacement: \"_\" is not supported"));
  EXPECT_THAT(error_of("legacy", R"({"model": {"unk_token": "<none>"}})"), "no error");
  EXPECT_THAT(error_of("partial_fused", R"({"model": {"unk_token": "<none>"}})"),
              HasSubstr("unk_token: model.vocab has no '<none>'"));
}

TEST(TokenizerJson, RefusesADecoderThatDoesNotUndoTheCuts) {
  EXPECT_THAT(error_of("legacy", R"({"decoder": {"type": "ByteLevel", "decoders": null}})"),
              HasSubstr("decoder: does not undo the pre_tokenizer"));
}

TEST(TokenizerJson, RefusesAddedTokensWithOtherIds) {
  Json content = content_of("qwen");
  content["added_tokens"][0]["id"] = 5;
  EXPECT_THAT(error_of_text(content.dump()),
              HasSubstr("added_tokens[0].id: 5 is not the id of '<s>'"));
  content = content_of("qwen");
  content["added_tokens"][1]["content"] = "<s>";
  EXPECT_THAT(error_of_text(content.dump()), HasSubstr("'<s>' comes twice"));
}

TEST(TokenizerJson, ReadsMergesOfEitherKindAndNoMixture) {
  const auto with = [](const char* vocab, const char* merges) {
    return text(R"({"version":"1.0","model":{"type":"BPE","byte_fallback":false,"vocab":)", vocab,
                R"(,"merges":)", merges,
                R"(},"decoder":{"type":"Metaspace","replacement":"\u2581"}})");
  };
  const char* abc = R"({"a":0,"b":1,"c":2,"ab":3,"bc":4})";
  for (const char* merges : {R"(["b c"])", R"([["b", "c"]])", R"(["#version: 0.2", "b c"])"}) {
    const TokenizerFolder folder("json");
    folder.write("tokenizer.json", with(abc, merges));
    EXPECT_THAT(open_tokenizer(folder.path())->encode("abc"), ElementsAre(0, 4)) << merges;
  }
  const TokenizerFolder folder("json");
  folder.write("tokenizer.json", with(abc, R"(["a b", "b c", "a b"])"));
  EXPECT_THAT(open_tokenizer(folder.path())->encode("abc"), ElementsAre(0, 4));
  for (const char* merges : {R"(["b c", ["a", "b"]])", R"([["a", "b"], "b c"])", R"(["a b c"])",
                             R"(["ab"])", R"([["a"]])", R"([["a", "b", "c"]])", R"([[["a"]]])",
                             R"([["a", 1]])", R"([7])", R"([{"a": "b"}])", R"(5)"})
    EXPECT_THAT(error_of_text(with(abc, merges)), HasSubstr("is not a pair of entries")) << merges;
  EXPECT_THAT(error_of_text(with(abc, R"(["a z"])")), HasSubstr("model.vocab has no 'z'"));
  EXPECT_THAT(error_of_text(with(R"({"a":0,"b":2})", "[]")), HasSubstr("no entry has id 1"));
  EXPECT_THAT(error_of_text(with(R"({"a":0,"b":0})", "[]")),
              HasSubstr("id 0 of 'b' is that of 'a'"));
  EXPECT_THAT(error_of_text(with(R"({"a":-1})", "[]")), HasSubstr("id -1 is not 0 to"));
  EXPECT_THAT(error_of_text(with(R"({"a":"b"})", "[]")), HasSubstr("model.vocab: a: has no id"));
  EXPECT_THAT(error_of_text(with("[]", "[]")), HasSubstr("model.vocab: is missing"));
}

TEST(TokenizerJson, ChangesItsFingerprintWithEachRule) {
  const auto fingerprint = [](const std::string& kind, const char* patch) {
    const TokenizerFolder folder("json");
    Json content = content_of(kind);
    content.merge_patch(Json::parse(patch));
    folder.write("tokenizer.json", content.dump(2));
    return open_tokenizer(folder.path())->fingerprint();
  };
  const uint64_t whole = open_tokenizer(golden("qwen"))->fingerprint();
  EXPECT_EQ(fingerprint("qwen", "{}"), whole);
  EXPECT_EQ(fingerprint("qwen", R"({"padding": {"a": [1]}})"), whole);
  for (const char* patch : {R"({"normalizer": null})", R"({"model": {"ignore_merges": true}})",
                            R"({"model": {"fuse_unk": true}})", R"({"added_tokens": []})",
                            R"({"model": {"merges": []}})",
                            R"({"pre_tokenizer": {"type": "ByteLevel", "pretokenizers": null}})"})
    EXPECT_NE(fingerprint("qwen", patch), whole) << patch;
}

TEST(TokenizerJson, CountsBeforeOlderFilesIfItsRulesAreRead) {
  const TokenizerFolder folder("json");
  folder.write("tokenizer.json", content_of("qwen").dump());
  Json vocabulary = content_of("qwen")["model"]["vocab"];
  folder.write("vocab.json", vocabulary.dump());
  folder.write("merges.txt", "");
  const size_t merged = open_tokenizer(folder.path())->encode("the same").size();
  EXPECT_LT(merged, 8u);
  Json content = content_of("qwen");
  content["post_processor"] = {{"type", "RobertaProcessing"}};
  folder.write("tokenizer.json", content.dump());
  EXPECT_THROW(open_tokenizer(folder.path()), Error) << "the older files cut other words";
  content["pre_tokenizer"] = {{"type", "ByteLevel"}, {"add_prefix_space", false}};
  folder.write("tokenizer.json", content.dump());
  EXPECT_THROW(open_tokenizer(folder.path()), Error) << "the older files do not normalise";
  content["normalizer"] = nullptr;
  folder.write("tokenizer.json", content.dump());
  EXPECT_EQ(open_tokenizer(folder.path())->encode("the same").size(), 8u);
  folder.write("tokenizer.json", "{");
  EXPECT_THROW(open_tokenizer(folder.path()), Error);
}

TEST(TokenizerJson, TakesRolesFromTheFilesBesideIt) {
  const TokenizerFolder folder("json");
  folder.write("tokenizer.json", content_of("llama3").dump());
  folder.write("tokenizer_config.json", R"({"bos_token": "<s>", "eos_token": {"content": "</s>"},
      "add_bos_token": true, "pad_token": null})");
  const SpecialIds ids = open_tokenizer(folder.path())->special_ids();
  EXPECT_EQ(ids.bos, 563);
  EXPECT_EQ(ids.eos, 564);
  EXPECT_EQ(ids.pad, SpecialIds::kNone);
  folder.write("tokenizer_config.json", R"({"add_bos_token": false})");
  EXPECT_THROW(open_tokenizer(folder.path()), Error);
  folder.write("tokenizer_config.json", R"({"added_tokens_decoder": {"9": {"content": "<new>"}}})");
  EXPECT_THROW(open_tokenizer(folder.path()), Error);
}

TEST(TokenizerJson, MergesAWordAsLongAsADocument) {
  const auto tokenizer = open_tokenizer(golden("legacy"));
  const std::string document(size_t(1) << 20, 'e');
  const std::vector<int32_t> ids = tokenizer->encode(document);
  EXPECT_EQ(tokenizer->decode(ids), document);
}

}  // namespace
}  // namespace zero
