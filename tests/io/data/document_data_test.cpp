// Ranks: 1

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/support/bpe_folder.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/temp_file.hpp"
#include "tests/support/token_bytes.hpp"
#include "zero/io/data/data_kind.hpp"
#include "zero/io/data/dataset.hpp"

namespace zero {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::refusal_of;
using testing_support::TempFile;

std::string line(const std::string& text) { return "{\"text\": \"" + text + "\"}\n"; }

DataOptions options_of(const std::string& path, Packing packing, int64_t length = 6) {
  return {.data = {.train = path, .sequence_length = length, .packing = packing},
          .seed = 1,
          .vocab_size = 256,
          .packs = true};
}

/// The columns of the sample at a position.
std::vector<std::vector<int32_t>> columns(const Dataset& data, int64_t position) {
  std::vector<std::vector<int32_t>> out;
  std::vector<std::span<std::byte>> spans;
  for (const DataColumn& column : data.columns()) out.emplace_back(column.numel);
  for (auto& column : out) spans.push_back(std::as_writable_bytes(std::span(column)));
  data.read(position, spans);
  return out;
}

/// The position of the sample with this number.
int64_t position_of(const Dataset& data, int64_t sample) {
  int64_t position = 0;
  while (data.sample_at(position) != sample) ++position;
  return position;
}

TEST(DocumentData, PacksWholeDocumentsThatDoNotSeeEachOther) {
  const TempFile file("a.jsonl", line("ab") + line("d") + line("efghi"));
  const DataSets sets = document_data().open(options_of(file.path(), Packing::documents));
  ASSERT_EQ(sets.train->samples(), 2);
  EXPECT_EQ(sets.train->columns(),
            document_data().columns(options_of("a.jsonl", Packing::automatic)));
  const auto full = columns(*sets.train, position_of(*sets.train, 0));
  EXPECT_THAT(full[0], ElementsAre('e', 'f', 'g', 'h', 'i', 1)) << "1 ends a text of bytes";
  EXPECT_THAT(full[1], ElementsAre('f', 'g', 'h', 'i', 1, -1));
  EXPECT_THAT(full[2], ElementsAre(0, 0, 0, 0, 0, 0));
  const int64_t position = position_of(*sets.train, 1);
  const auto packed = columns(*sets.train, position);
  EXPECT_THAT(packed[0], ElementsAre('a', 'b', 1, 'd', 1, 0));
  EXPECT_THAT(packed[1], ElementsAre('b', 1, -1, 1, -1, -1));
  EXPECT_THAT(packed[2], ElementsAre(0, 0, 0, 3, 3, 5));
  EXPECT_EQ(sets.train->counted(position, 1), 3);
  EXPECT_EQ(sets.train->counted(0, 2), 8);
  EXPECT_EQ(sets.train->form(), "6 tokens of whole documents");
  EXPECT_EQ(sets.remark, "in training 3 documents in 2 rows, 8.3 % of places are padding");
  EXPECT_EQ(sets.train_source->items(), 3);
}

TEST(DocumentData, ShowsTheDocumentsOfARowAndWhatIsLearnt) {
  const TempFile file("a.jsonl",
                      "{\"prompt\": \"ab\", \"completion\": \"c\"}\n"
                      "{\"prompt\": \"\", \"completion\": \"d\"}\n");
  const DataSets sets = document_data().open(options_of(file.path(), Packing::documents));
  ASSERT_EQ(sets.train->samples(), 1);
  const std::vector<ShownIds> shown = sets.train->shown(0);
  ASSERT_EQ(shown.size(), 4u);
  EXPECT_EQ(shown[0].name, "document_1");
  EXPECT_THAT(shown[0].ids, ElementsAre('a', 'b', 'c', 1));
  EXPECT_TRUE(shown[0].is_text);
  EXPECT_EQ(shown[1].name, "learnt_1");
  EXPECT_THAT(shown[1].ids, ElementsAre('c', 1));
  EXPECT_EQ(shown[3].words, "all behind its first token");
}

TEST(DocumentData, LearnsTheCompletionAlone) {
  const TempFile file("a.jsonl", "{\"prompt\": \"ab\", \"completion\": \"cd\"}\n");
  for (const Packing packing : {Packing::none, Packing::stream}) {
    DataOptions options = options_of(file.path(), packing, packing == Packing::none ? 6 : 4);
    const DataSets sets = document_data().open(options);
    const auto row = columns(*sets.train, 0);
    ASSERT_EQ(row.size(), 2u);
    if (packing == Packing::none) {
      EXPECT_THAT(row[0], ElementsAre('a', 'b', 'c', 'd', 1, 0));
      EXPECT_THAT(row[1], ElementsAre(-1, 'c', 'd', 1, -1, -1));
    } else {
      EXPECT_THAT(row[0], ElementsAre('a', 'b', 'c', 'd')) << "the last token is a target alone";
      EXPECT_THAT(row[1], ElementsAre(-1, 'c', 'd', 1));
    }
    EXPECT_EQ(sets.train->counted(0, 1), 3);
  }
}

TEST(DocumentData, BeginsACompletionAtTheFirstTokenThatThePromptAloneLacks) {
  const std::vector<std::pair<std::string, std::string>> merges = {{"b", "c"}};
  const testing_support::BpeFolder folder(merges);
  const TempFile file("a.jsonl",
                      "{\"prompt\": \"ab\", \"completion\": \"cd\"}\n"
                      "{\"prompt\": \"ab\", \"completion\": \"d\"}\n");
  DataOptions options = options_of(file.path(), Packing::none);
  options.data.tokenizer = folder.path();
  options.data.eos_id = 5;
  options.vocab_size = 600;
  const DataSets sets = document_data().open(options);
  const auto merged = columns(*sets.train, position_of(*sets.train, 0));
  EXPECT_THAT(merged[0], ElementsAre('a', 256, 'd', 5, 0, 0));
  EXPECT_THAT(merged[1], ElementsAre(256, 'd', 5, -1, -1, -1));
  EXPECT_THAT(sets.remark, HasSubstr("1 completion learnt with the prompt's last token"));
  options.data.eos_id = -1;
  EXPECT_THAT(
      refusal_of(Exit::kUsage, [&] { document_data().open(options); }),
      HasSubstr("names no eos token, which ends each document; write data.eos_id = NUMBER"));
  options.data.eos_id = 600;
  EXPECT_THAT(refusal_of(Exit::kUsage, [&] { document_data().open(options); }),
              HasSubstr("600 is beyond the model's vocabulary"));
}

TEST(DocumentData, TakesNamesOfSpecialTokensForTheseOrForPlainText) {
  const testing_support::BpeFolder folder({}, {"<e>", "<x>"});
  folder.write("special_tokens_map.json", R"({"eos_token": "<e>", "pad_token": "<x>"})");
  const TempFile file("a.jsonl", line("a<x>b") + line("c<e>"));
  DataOptions options = options_of(file.path(), Packing::none, 8);
  options.data.tokenizer = folder.path();
  options.vocab_size = 600;
  const DataSets tokens = document_data().open(options);
  EXPECT_THAT(columns(*tokens.train, position_of(*tokens.train, 0))[0],
              ElementsAre('a', 257, 'b', 256, 0, 0, 0, 0));
  EXPECT_THAT(columns(*tokens.train, position_of(*tokens.train, 1))[0],
              ElementsAre('c', 256, 0, 0, 0, 0, 0, 0))
      << "a text that ends with the end token has one";
  options.data.special_tokens = false;
  const DataSets plain = document_data().open(options);
  EXPECT_THAT(columns(*plain.train, position_of(*plain.train, 0))[0],
              ElementsAre('a', '<', 'x', '>', 'b', 256, 0, 0));
  EXPECT_THAT(columns(*plain.train, position_of(*plain.train, 1))[0],
              ElementsAre('c', '<', 'e', '>', 256, 0, 0, 0));
  EXPECT_NE(tokens.fingerprint(), plain.fingerprint());
}

TEST(DocumentData, TakesIdsAsTheyAre) {
  const TempFile file("a.jsonl", "{\"input_ids\": [9, 300, 7], \"labels\": [9, -100, 7]}\n");
  DataOptions options = options_of(file.path(), Packing::none, 4);
  EXPECT_THAT(refusal_of(Exit::kInput, [&] { document_data().open(options); }),
              HasSubstr("line 1: \"input_ids\" has 300, and the model a vocabulary of 256; write "
                        "model.vocab_size = 301 or more"));
  options.vocab_size = 301;
  const DataSets sets = document_data().open(options);
  EXPECT_THAT(columns(*sets.train, 0)[0], ElementsAre(9, 300, 7, 0));
  EXPECT_THAT(columns(*sets.train, 0)[1], ElementsAre(-1, 7, -1, -1));
  EXPECT_EQ(sets.train_source->vocab_size(), 301);
}

TEST(DocumentData, EndsATextOnce) {
  const TempFile file("a.jsonl", line("a\\u0001") + line("b"));
  const DataSets sets = document_data().open(options_of(file.path(), Packing::documents, 4));
  EXPECT_THAT(columns(*sets.train, 0)[0], ElementsAre('a', 1, 'b', 1));
}

TEST(DocumentData, HoldsDocumentsOfOneTokenOfARowAndOfOneMore) {
  const TempFile file("a.jsonl",
                      "{\"input_ids\": [1]}\n{\"input_ids\": [1, 2, 3, 4]}\n"
                      "{\"input_ids\": [5, 6, 7, 8, 9]}\n{\"input_ids\": []}\n");
  const DataSets sets = document_data().open(options_of(file.path(), Packing::documents, 4));
  EXPECT_EQ(sets.train->samples(), 2);
  EXPECT_THAT(columns(*sets.train, position_of(*sets.train, 1))[1], ElementsAre(6, 7, 8, -1));
  EXPECT_EQ(sets.remark,
            "in training 2 documents in 2 rows, 0.0 % of places are padding, 1 document cut to 4 "
            "tokens, 2 documents without a target left out, 1 document is empty");
  DataOptions options = options_of(file.path(), Packing::documents, 4);
  options.data.too_long = TooLong::refuse;
  EXPECT_THAT(refusal_of(Exit::kInput, [&] { document_data().open(options); }),
              HasSubstr("a.jsonl: line 3: the document has 5 tokens"));
}

TEST(DocumentData, RefusesASetWithoutATarget) {
  const TempFile file("a.jsonl", "{\"input_ids\": [1, 2], \"labels\": [1, -100]}\n");
  for (const Packing packing : {Packing::documents, Packing::none, Packing::stream}) {
    EXPECT_THAT(refusal_of(Exit::kInput,
                           [&] { document_data().open(options_of(file.path(), packing, 1)); }),
                HasSubstr("a.jsonl: no document has a target"));
  }
  const TempFile good("b.jsonl", line("abc"));
  DataOptions options = options_of(good.path(), Packing::none);
  options.data.validation = file.path();
  EXPECT_THAT(refusal_of(Exit::kInput, [&] { document_data().open(options); }),
              HasSubstr("a.jsonl: none of its documents has a target"));
}

TEST(DocumentData, HoldsOutTheLastDocuments) {
  std::string lines;
  for (char c = 'a'; c < 'k'; ++c) lines += line(std::string(3, c));
  const TempFile file("a.jsonl", lines), other("b.jsonl", line("zz"));
  DataOptions options = options_of(file.path(), Packing::none, 4);
  options.data.validation_fraction = 0.3;
  DataSets sets = document_data().open(options);
  EXPECT_EQ(sets.train->samples(), 7);
  ASSERT_EQ(sets.validation->samples(), 3);
  EXPECT_THAT(columns(*sets.validation, 0)[0], ElementsAre('h', 'h', 'h', 1));
  EXPECT_EQ(sets.validation->counted(0, 5), 9);
  options.data.max_train_samples = 2;
  options.data.max_validation_samples = 1;
  sets = document_data().open(options);
  EXPECT_EQ(sets.train->samples(), 2);
  EXPECT_EQ(sets.validation->samples(), 1);
  options.data.validation_fraction = 0;
  options.data.validation = other.path();
  EXPECT_THAT(columns(*document_data().open(options).validation, 0)[0],
              ElementsAre('z', 'z', 1, 0));
}

TEST(DocumentData, CountsTheSameTargetsInAnySplit) {
  std::string lines;
  for (int i = 0; i < 40; ++i) lines += line(std::string(size_t(1 + i * 7 % 11), 'x'));
  const TempFile file("a.jsonl", lines);
  const DataSets sets = document_data().open(options_of(file.path(), Packing::documents, 12));
  const Dataset& data = *sets.train;
  int64_t seen = 0;
  for (int64_t i = 0; i < 3 * data.samples(); ++i) {
    const auto row = columns(data, i);
    const int64_t targets = std::ranges::count_if(row[1], [](int32_t id) { return id >= 0; });
    EXPECT_EQ(data.counted(i, 1), targets);
    seen += targets;
    EXPECT_EQ(data.counted(0, i + 1), seen);
  }
}

TEST(DocumentData, ChoosesThePackingByFilesAndModel) {
  DataOptions options = options_of("a.jsonl", Packing::automatic);
  EXPECT_EQ(packing_of(options), Packing::documents);
  options.packs = false;
  EXPECT_EQ(packing_of(options), Packing::none);
  EXPECT_EQ(document_data().columns(options).size(), 2u);
  options.data.packing = Packing::documents;
  EXPECT_THAT(refusal_of(Exit::kUsage, [&] { document_data().columns(options); }),
              HasSubstr("write \"none\", a document a sample, or \"stream\""));
  options = options_of("a.txt", Packing::automatic);
  EXPECT_FALSE(takes_documents(options.data));
  EXPECT_EQ(packing_of(options), Packing::stream);
  options.data.validation = "v.jsonl.zst";
  EXPECT_TRUE(takes_documents(options.data));
  options.data = {.train = "[...]", .train_parts = {{"a.txt"}, {"b/*.csv"}}};
  EXPECT_TRUE(takes_documents(options.data));
  EXPECT_EQ(packing_of(options), Packing::documents);
  options.data.train_parts.pop_back();
  EXPECT_EQ(packing_of(options), Packing::stream);
}

TEST(DocumentData, ReadsTextsAndTokensOfAListAsWindows) {
  const TempFile text("a.txt", "abcdefgh"), lines("b.jsonl", line("xyz"));
  DataOptions options = options_of("[...]", Packing::stream, 3);
  options.data.train_parts = {{text.path()}, {lines.path()}};
  const DataSets sets = document_data().open(options);
  EXPECT_EQ(sets.train->samples(), 3);
  EXPECT_THAT(columns(*sets.train, position_of(*sets.train, 1))[0], ElementsAre('e', 'f', 'g'));
  EXPECT_THAT(columns(*sets.train, position_of(*sets.train, 2))[1], ElementsAre('y', 'z', 1));
  EXPECT_EQ(sets.train_source->format(), "2 files, the first UTF-8 text, a token a byte");
  // A single text has today's windows.
  DataOptions alone = options_of(text.path(), Packing::stream, 3);
  EXPECT_EQ(columns(*document_data().open(alone).train, 0),
            columns(*token_data().open(alone).train, 0));
  alone.data.packing = Packing::none;
  EXPECT_THAT(refusal_of(Exit::kUsage, [&] { document_data().open(alone); }),
              HasSubstr("a.txt says no borders of documents; write data.packing = \"stream\""));
  alone.data.train = "synthetic";
  EXPECT_THAT(refusal_of(Exit::kUsage, [&] { document_data().open(alone); }),
              HasSubstr("synthetic data have no documents"));
}

TEST(DocumentData, MixesFilesByTheirWeights) {
  const TempFile a("a.jsonl", line("aaa") + line("aaa")), b("b.jsonl", line("bbb"));
  DataOptions options = options_of("[...]", Packing::none, 4);
  options.data.train_parts = {{a.path(), 1}, {b.path(), 3}};
  const DataSets sets = document_data().open(options);
  EXPECT_EQ(sets.train->samples(), 3);
  int64_t of_a = 0;
  for (int64_t i = 0; i < 400; ++i) of_a += columns(*sets.train, i)[0][0] == 'a';
  EXPECT_EQ(of_a, 100);
  EXPECT_EQ(sets.train->counted(0, 400), 1200);
  const uint64_t mixed = sets.fingerprint();
  options.data.train_parts[0].weight = 2;
  EXPECT_NE(document_data().open(options).fingerprint(), mixed);
  options.data.train_parts = {{a.path()}, {b.path()}};
  const DataSets plain = document_data().open(options);
  std::vector<int64_t> samples;
  for (int64_t i = 0; i < 3; ++i) samples.push_back(plain.train->sample_at(i));
  EXPECT_THAT(samples, ::testing::UnorderedElementsAre(0, 1, 2)) << "an epoch has each once";
  EXPECT_THAT(document_data().files(options), ElementsAre(a.path(), b.path()));
  options.data.train_parts = {{a.path(), 1}, {b.path(), 3}};
  options.data.max_train_samples = 1;
  EXPECT_THAT(refusal_of(Exit::kUsage, [&] { document_data().open(options); }),
              HasSubstr("parts with weights are mixed"));
  const TempFile empty("c.jsonl", line(""));
  options.data.max_train_samples = 0;
  options.data.train_parts = {{a.path(), 1}, {empty.path(), 1}};
  EXPECT_THAT(refusal_of(Exit::kInput, [&] { document_data().open(options); }),
              HasSubstr("none of 1 document has a target"));
}

TEST(DocumentData, KnowsTheBordersOfMegatronsDocuments) {
  using testing_support::id_bytes;
  const TempFile tokens("m.bin", id_bytes({1, 2, 3, 4, 5, 6, 7}, 2));
  const DataOptions options = options_of(tokens.path(), Packing::documents, 8);
  // Two sequences are one document.
  const TempFile index("m.idx", testing_support::mapped_index({2, 1, 4}, 8, 2, {0, 2, 3}));
  DataSets sets = document_data().open(options);
  ASSERT_EQ(sets.train->samples(), 1);
  EXPECT_THAT(columns(*sets.train, 0)[0], ElementsAre(4, 5, 6, 7, 1, 2, 3, 0));
  EXPECT_THAT(columns(*sets.train, 0)[1], ElementsAre(5, 6, 7, -1, 2, 3, -1, -1));
  EXPECT_THAT(columns(*sets.train, 0)[2], ElementsAre(0, 0, 0, 0, 4, 4, 4, 7));
  EXPECT_THAT(document_data().files(options), ElementsAre(tokens.path(), index.path()));
  index.write(testing_support::legacy_index({2, 1, 4}, 8, 2));
  sets = document_data().open(options);
  EXPECT_THAT(columns(*sets.train, 0)[2], ElementsAre(0, 0, 0, 0, 4, 4, 6, 7));
  EXPECT_EQ(sets.remark,
            "in training 2 documents in 1 row, 25.0 % of places are padding, 1 document without a "
            "target left out");
  index.write(testing_support::mapped_index({2, 1, 4}, 8, 2, {0, 2}));
  EXPECT_THAT(refusal_of(Exit::kInput, [&] { document_data().open(options); }),
              HasSubstr("the last document ends at token 3, the sequences at 7"));
}

}  // namespace
}  // namespace zero
