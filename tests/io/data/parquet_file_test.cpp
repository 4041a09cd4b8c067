// Ranks: 1

#include "io/data/parquet_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/data/prepared_documents.hpp"
#include "tests/support/content_of.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/temp_file.hpp"
#include "tests/support/tokenizer_folder.hpp"
#include "tests/support/tree_folder.hpp"
#include "zero/io/data/dataset.hpp"
#include "zero/io/data/prepare.hpp"

namespace zero {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::refusal_of;
using testing_support::TempFile;
using testing_support::TokenizerFolder;

const DocumentFields kFields{.text = "text", .prompt = "prompt", .completion = "completion"};

std::string golden(const std::string& name) {
  return (testing_support::tree_folder() / "tests/golden/parquet" / name).string();
}

std::unique_ptr<DocumentFile> open_documents(const std::string& path,
                                             const GroupRange& groups = {}) {
  return open_parquet_documents(path, kFields, groups);
}

std::string refusal(const std::string& path) {
  return refusal_of(Exit::kInput, [&] {
    const auto file = open_documents(path);
    for (int64_t i = 0; i < file->documents(); ++i) file->read(i);
  });
}

/// True if the build has Arrow. Else a file is refused with what works.
bool has_parquet() {
  const std::string refused =
      refusal_of(Exit::kInput, [] { open_documents(golden("text.parquet")); });
  if (refused.empty()) return true;
  EXPECT_THAT(refused,
              HasSubstr("text.parquet: is a Parquet file; write its records as JSON lines: "
                        "python3 -c"));
  return false;
}

TEST(ParquetFile, HasADocumentForEachRowOfEachGroup) {
  if (!has_parquet()) GTEST_SKIP() << "no Arrow";
  const auto all = open_documents(golden("text.parquet"));
  EXPECT_EQ(all->form(), DocumentForm::text);
  ASSERT_EQ(all->documents(), 25);
  for (const int64_t row : {24, 0, 9, 10}) {
    const std::string number = std::to_string(row);
    EXPECT_THAT(all->read(row).text, ::testing::EndsWith("text " + number));
    EXPECT_THAT(all->place(row), HasSubstr("text.parquet: row " + std::to_string(row + 1)));
  }
  EXPECT_EQ(all->read(2).text, "\xC3\xA9\xC3\xA9text 2");
  const auto second = open_documents(golden("text.parquet"), {.begin = 1, .end = 2});
  ASSERT_EQ(second->documents(), 10);
  EXPECT_EQ(second->read(9).text, all->read(19).text);
  EXPECT_EQ(second->place(0), all->place(10));
  EXPECT_NE(second->fingerprint(),
            open_documents(golden("text.parquet"), {.begin = 2})->fingerprint());
  EXPECT_EQ(parquet_group_bytes(golden("text.parquet")).size(), 3u);
}

TEST(ParquetFile, HasPromptsAndIds) {
  if (!has_parquet()) GTEST_SKIP() << "no Arrow";
  const auto pairs = open_documents(golden("completion.parquet"));
  EXPECT_EQ(pairs->form(), DocumentForm::completion);
  EXPECT_EQ(pairs->read(0).prompt + '|' + pairs->read(0).text, "ab|c");
  EXPECT_EQ(pairs->read(2).prompt + '|' + pairs->read(2).text, "x|");
  const auto ids = open_documents(golden("ids.parquet"));
  EXPECT_EQ(ids->form(), DocumentForm::ids);
  EXPECT_THAT(ids->read(0).ids, ElementsAre(1, 2, 3));
  EXPECT_THAT(ids->read(0).learnt, ElementsAre(false, true, true));
  EXPECT_THAT(ids->read(1).ids, ElementsAre());
  EXPECT_THAT(ids->read(2).learnt, ElementsAre(false));
}

TEST(ParquetFile, IsRefusedForOtherColumnsAndDamage) {
  if (!has_parquet()) GTEST_SKIP() << "no Arrow";
  EXPECT_THAT(refusal(golden("null.parquet")),
              HasSubstr("null.parquet: row 2: \"text\" is no text but null"));
  EXPECT_THAT(refusal(golden("numbers.parquet")),
              HasSubstr("column \"text\" is int64; write it as strings"));
  const std::string whole = testing_support::content_of(golden("text.parquet"));
  EXPECT_THAT(refusal(TempFile("a.parquet", whole.substr(0, 500)).path()),
              HasSubstr("a.parquet: "));
  EXPECT_THAT(refusal(TempFile("b.parquet", "{\"text\": 1}").path()), HasSubstr("b.parquet: "));
  EXPECT_THAT(refusal(TempFile("c.parquet", "").path()), HasSubstr("is empty"));
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = char(damaged[at] ^ 0x55);
    refusal(TempFile("d.parquet", damaged).path());  // an error or other texts, and no crash
  }
}

TEST(ParquetFile, IsPreparedByGroups) {
  if (!has_parquet()) GTEST_SKIP() << "no Arrow";
  const TokenizerFolder place("parquet");
  DataConfig data;
  data.train = golden("text.parquet");
  data.sequence_length = 8;
  DataOptions options{.data = data, .seed = 1, .vocab_size = 256, .packs = true};
  const std::string set = place.path() + "/a.documents";
  EXPECT_EQ(prepare_documents(options, set, 2, 1).parts, 3);
  const DataSets own = document_data().open(options);
  options.data.train = set;
  const DataSets prepared = document_data().open(options);
  ASSERT_EQ(own.train->samples(), prepared.train->samples());
  for (int64_t i = 0; i < own.train->samples(); ++i)
    EXPECT_EQ(own.train->shown(i)[0].ids, prepared.train->shown(i)[0].ids);
}

}  // namespace
}  // namespace zero
