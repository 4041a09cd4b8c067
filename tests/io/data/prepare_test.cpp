// Ranks: 1

#include "zero/io/data/prepare.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "io/data/document_part.hpp"
#include "io/data/prepared_documents.hpp"
#include "tests/support/bpe_folder.hpp"
#include "tests/support/content_of.hpp"
#include "tests/support/document_options.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/temp_file.hpp"
#include "tests/support/tokenizer_folder.hpp"
#include "tests/support/tree_folder.hpp"
#include "zero/io/data/dataset.hpp"

namespace zero {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using testing_support::packed_options;
using testing_support::refusal_of;
using testing_support::TempFile;
using testing_support::TokenizerFolder;

std::string lines(int count) {
  std::string all;
  for (int i = 0; i < count; ++i)
    all += "{\"text\": \"" + std::string(size_t(i % 17), char('a' + i % 26)) + "\"}\n";
  return all;
}

SetOrder order_of(const std::string& path, const std::string& folder, bool is_of_run = true) {
  return {.options = packed_options(path),
          .folder = folder,
          .files = {{.path = path}},
          .is_of_run = is_of_run,
          .part_bytes = 1000};
}

/// Makes a set as so many processes would. Returns the count of parts that were there.
int64_t make(const SetOrder& order, int ranks) {
  std::vector<std::unique_ptr<SetMaker>> makers;
  for (int rank = 0; rank < ranks; ++rank) makers.push_back(std::make_unique<SetMaker>(order));
  makers[0]->begin();
  const auto share = [&](int rank) { return SetShare{.rank = rank, .ranks = ranks, .threads = 2}; };
  for (int rank = 0; rank < ranks; ++rank) makers[size_t(rank)]->unpack(share(rank));
  int64_t kept = 0;
  for (int rank = ranks; rank-- > 0;) kept += makers[size_t(rank)]->make(share(rank));
  makers[0]->finish();
  return kept;
}

/// The content of the files of a set by their names.
std::map<std::string, std::string> content_of_set(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    files[entry.path().filename().string()] = testing_support::content_of(entry.path().string());
  return files;
}

SetState state_of(const SetOrder& order) { return SetMaker(order).state(); }

TEST(SetMaker, MakesTheSameFilesWithAnyNumberOfProcesses) {
  const TempFile file("a.jsonl", lines(2000));
  const TokenizerFolder place("sets");
  const std::string one = place.path() + "/1.documents", three = place.path() + "/3.documents";
  EXPECT_EQ(make(order_of(file.path(), one), 1), 0);
  EXPECT_EQ(make(order_of(file.path(), three), 3), 0);
  const auto files = content_of_set(one);
  EXPECT_GT(files.size(), 30u);
  EXPECT_EQ(files, content_of_set(three));
  const PreparedList list = read_prepared_list(one);
  EXPECT_EQ(list.documents, 2000);
  EXPECT_EQ(list.parts, int64_t(files.size()) - 3) << "beside list, LOCK and source";
}

TEST(SetMaker, TakesEachLineOnceWhereverAPartEnds) {
  // An end of a part in front of a line, in it, behind it and at the file's end.
  const std::string line = "{\"text\": \"abcdefgh\"}\n";
  const TokenizerFolder place("cuts");
  for (const int64_t bytes : {1, 20, 21, 22, 41, 42, 43, 63, 100}) {
    for (const std::string& text : {line + line + line, "\xEF\xBB\xBF" + line + line,
                                    line + line.substr(0, 20), line + line + "\n\n"}) {
      const TempFile file("cut.jsonl", text);
      SetOrder order = order_of(file.path(), place.path() + "/a.documents");
      order.part_bytes = bytes;
      make(order, 2);
      const PreparedList list = read_prepared_list(order.folder);
      EXPECT_EQ(list.tokens, 9 * list.documents);
      EXPECT_EQ(list.documents, std::ranges::count(text, '{')) << bytes << ' ' << text;
    }
  }
}

TEST(SetMaker, KeepsThePartsOfAKilledProcessThatAreWholeAndEqual) {
  const TempFile file("a.jsonl", lines(1000));
  const TokenizerFolder place("kept");
  const SetOrder order = order_of(file.path(), place.path() + "/a.documents");
  EXPECT_EQ(state_of(order), SetState::missing);
  make(order, 2);
  EXPECT_EQ(state_of(order), SetState::whole);
  const auto whole = content_of_set(order.folder);
  const int64_t parts = read_prepared_list(order.folder).parts;
  fs::remove(prepared_list(order.folder));
  EXPECT_EQ(state_of(order), SetState::missing) << "no set without its list";
  fs::resize_file(prepared_part(order.folder, 3), 100);
  fs::remove(prepared_part(order.folder, 5));
  std::ofstream(prepared_part(order.folder, 4) + ".tmp-1") << "half";
  EXPECT_EQ(make(order, 3), parts - 2);
  fs::remove(prepared_part(order.folder, 4) + ".tmp-1");
  EXPECT_EQ(content_of_set(order.folder), whole);
}

TEST(SetMaker, MakesAnewWhatHasChanged) {
  const TempFile file("a.jsonl", lines(1000));
  const TokenizerFolder place("anew");
  SetOrder order = order_of(file.path(), place.path() + "/a.documents");
  make(order, 1);
  const int64_t parts = read_prepared_list(order.folder).parts;
  std::string changed = lines(1000);
  changed[changed.find("ccc", 5000)] = 'z';
  changed.resize(changed.rfind('\n', changed.size() / 2) + 1);
  file.write(changed);
  EXPECT_EQ(state_of(order), SetState::of_other_files);
  const int64_t kept = make(order, 1);
  EXPECT_EQ(read_prepared_list(order.folder).documents, std::ranges::count(changed, '\n'));
  EXPECT_GT(kept, parts / 2 - 4) << "parts of the same lines stay";
  EXPECT_LT(kept, parts / 2 + 1);
  EXPECT_FALSE(fs::exists(prepared_part(order.folder, parts - 1))) << "nothing is left over";
  order.options.data.eos_id = 3;
  EXPECT_EQ(state_of(order), SetState::of_other_rules);
  EXPECT_EQ(make(order, 1), 0);
  order.options.data.special_tokens = false;
  EXPECT_EQ(state_of(order), SetState::of_other_rules);
}

TEST(SetMaker, MakesAtMostSoManyPartsOfAllFiles) {
  const TempFile a("a.jsonl", lines(900)), b("b.jsonl", lines(300));
  const TokenizerFolder place("most");
  SetOrder order = order_of(a.path(), place.path() + "/a.documents");
  order.files.push_back({.path = b.path()});
  order.part_bytes = 1;
  order.most_parts = 8;
  make(order, 2);
  EXPECT_GT(read_prepared_list(order.folder).parts, 7);
  EXPECT_LE(read_prepared_list(order.folder).parts, 8 + 2);
  DataOptions options = packed_options(place.path() + "/none", Packing::documents);
  options.data.train_parts = {{a.path()}, {b.path()}};
  options.data.validation = a.path();
  int64_t most = 0;
  for (const SetOrder& one : sets_of_run(document_data(), options, place.path(), 1000).orders)
    most += one.most_parts;
  EXPECT_LE(most, kMostParts) << "of all sets of a run";
  EXPECT_GT(most, kMostParts - 3);
}

TEST(SetMaker, WorksWithFewerThreadsOnLargeParts) {
  const TempFile file("a.jsonl", lines(900));
  const TokenizerFolder place("threads");
  for (const auto& [most_bytes, fewer] : std::map<int64_t, int>{{1, 1}, {2500, 2}, {5000, 0}}) {
    SetMaker maker(order_of(file.path(), text(place.path(), '/', fewer, ".documents")));
    maker.begin();
    maker.make({.threads = 4, .most_bytes = most_bytes});
    EXPECT_EQ(maker.finish().fewer_threads, fewer) << most_bytes;
  }
}

TEST(SetMaker, TakesATokenizerThatIsOpen) {
  const TempFile file("a.jsonl", lines(10));
  const TokenizerFolder place("open");
  const testing_support::BpeFolder bpe({{"l", "o"}, {"lo", "w"}, {"e", "r"}});
  SetOrder order = order_of(file.path(), place.path() + "/a.documents");
  order.options.data.tokenizer = bpe.path();
  order.options.data.eos_id = 0;
  order.options.vocab_size = 259;
  make(order, 1);
  const std::shared_ptr<const Tokenizer> tokenizer = open_tokenizer(bpe.path());
  bpe.remove("vocab.json");
  EXPECT_EQ(SetMaker(order, tokenizer).state(), SetState::whole);
  EXPECT_NE(refusal_of(Exit::kInput, [&] { state_of(order); }), "") << "which is opened";
}

TEST(SetMaker, RemovesNoFilesButItsOwn) {
  const TempFile file("a.jsonl", lines(400));
  const TokenizerFolder place("users");
  const SetOrder order = order_of(file.path(), place.path() + "/a.documents", false);
  fs::create_directory(order.folder);
  fs::create_directory(order.folder + "/54321");
  const std::vector<std::string> own = {"12345678901234567890", "20241231", "12345",
                                        "unpacked-notes.txt"};
  for (const std::string& name : own) std::ofstream(order.folder + "/" + name) << "mine";
  const auto expect_kept = [&] {
    EXPECT_TRUE(fs::exists(order.folder + "/54321"));
    for (const std::string& name : own)
      EXPECT_EQ(testing_support::content_of(order.folder + "/" + name), "mine");
  };
  make(order, 1);
  expect_kept();
  const std::string left = order.folder + "/unpacked-0123456789abcdef";
  std::ofstream(left) << "of a killed process";
  fs::copy_file(prepared_part(order.folder, 0), prepared_part(order.folder, 99));
  fs::remove(prepared_list(order.folder));
  make(order, 1);
  expect_kept();
  EXPECT_FALSE(fs::exists(left) || fs::exists(prepared_part(order.folder, 99)));
}

TEST(SetMaker, RefusesAFileThatIsWrittenToMeanwhile) {
  const TempFile file("a.jsonl", lines(400));
  const TokenizerFolder place("meanwhile");
  for (const bool is_of_run : {false, true}) {
    const SetOrder order =
        order_of(file.path(), text(place.path(), '/', int(is_of_run), ".documents"), is_of_run);
    SetMaker maker(order);
    maker.begin();
    maker.make({});
    file.write(lines(401 + is_of_run));
    EXPECT_THAT(refusal_of(Exit::kInput, [&] { maker.finish(); }),
                HasSubstr("a.jsonl: was written to meanwhile; start again"));
    EXPECT_FALSE(fs::exists(prepared_list(order.folder)));
  }
}

TEST(SetMaker, NamesTheLineInWhateverPart) {
  std::string text = lines(1000);
  const size_t at = text.size() * 3 / 4, begin = text.find('\n', at) + 1;
  text.replace(begin, text.find('\n', begin) - begin, "{\"text\": 3}");
  const auto line = std::count(text.begin(), text.begin() + ptrdiff_t(begin), '\n') + 1;
  const TempFile file("a.jsonl", text);
  const TokenizerFolder place("damage");
  const std::string folder = place.path() + "/a.documents";
  EXPECT_THAT(refusal_of(Exit::kInput, [&] { make(order_of(file.path(), folder), 1); }),
              HasSubstr("a.jsonl: line " + std::to_string(line) + ": \"text\" is no text"));
  EXPECT_FALSE(fs::exists(prepared_list(folder)));
  text[begin + 2] = '\xFF';
  file.write(text);
  EXPECT_THAT(refusal_of(Exit::kInput, [&] { make(order_of(file.path(), folder), 2); }),
              HasSubstr("a.jsonl: line " + std::to_string(line) + ": byte 255 is no UTF-8"));
}

TEST(SetMaker, TakesTablesByRecordsAndListsOfIds) {
  std::string table = "text\n", ids;
  for (int i = 0; i < 300; ++i) {
    table += "\"two\nlines\"\n";
    ids += "{\"input_ids\": [" + std::to_string(i % 256) + ", 7]}\n";
  }
  const TempFile csv("a.csv", table), jsonl("b.jsonl", ids);
  const TokenizerFolder place("kinds");
  for (const std::string& path : {csv.path(), jsonl.path()}) {
    const SetOrder order = order_of(path, place.path() + "/a.documents");
    make(order, 2);
    const PreparedList list = read_prepared_list(order.folder);
    EXPECT_GT(list.parts, 2);
    EXPECT_EQ(list.documents, 300);
    EXPECT_EQ(list.tokens, 300 * (path == csv.path() ? 10 : 2));
    EXPECT_EQ(list.tokenizer == 0, path == jsonl.path());
  }
}

/// Opens the data of a run as it does after its sets are made.
DataSets open_run(const DataKind& kind, const DataOptions& options, const std::string& folder) {
  const RunSets sets = sets_of_run(kind, options, folder, 1000);
  for (const SetOrder& order : sets.orders) make(order, 2);
  return kind.open(sets.options);
}

std::vector<int32_t> tokens_of(const Dataset& data) {
  std::vector<int32_t> all;
  for (int64_t i = 0; i < data.samples(); ++i) {
    for (const ShownIds& column : data.shown(i))
      all.insert(all.end(), column.ids.begin(), column.ids.end());
  }
  return all;
}

TEST(SetsOfRun, GiveTheSamplesOfTheirFiles) {
  const TempFile a("a.jsonl", lines(400)), b("b.jsonl", lines(300)), held("c.jsonl", lines(20));
  const TokenizerFolder place("run [1]");
  DataOptions options = packed_options("", Packing::automatic);
  const std::string pattern = a.path().substr(0, a.path().size() - 7) + "[ab].jsonl";
  options.data.train_parts = {{.path = pattern, .weight = 0}};
  options.data.validation = held.path();
  const DataSets own = document_data().open(options);
  const DataSets sets = open_run(document_data(), options, place.path());
  EXPECT_THAT(sets.train_source->format(), HasSubstr("prepared set"));
  EXPECT_THAT(sets.validation_source->format(), HasSubstr("prepared set"));
  EXPECT_EQ(tokens_of(*own.train), tokens_of(*sets.train));
  EXPECT_EQ(tokens_of(*own.validation), tokens_of(*sets.validation));
}

TEST(SetsOfRun, AreThoseOfTheFilesThatAreThereNow) {
  const TokenizerFolder raw("raw"), place("changing");
  DataOptions options = packed_options(raw.path() + "/*.jsonl", Packing::documents);
  raw.write("b.jsonl", lines(300));
  raw.write("c.jsonl", lines(200));
  open_run(document_data(), options, place.path());
  raw.write("a.jsonl", lines(100));
  raw.remove("c.jsonl");
  for (const double weight : {0., 2.}) {
    // As a plain path, and as a part of a list.
    if (weight > 0) options.data.train_parts = {{.path = options.data.train, .weight = weight}};
    const RunSets sets = sets_of_run(document_data(), options, place.path(), 1000);
    ASSERT_THAT(sets.orders, SizeIs(2));
    EXPECT_EQ(state_of(sets.orders[1]), SetState::whole) << "that of b.jsonl stays";
    const DataSets set = open_run(document_data(), options, place.path());
    const DataSets own = document_data().open(options);
    EXPECT_EQ(tokens_of(*own.train), tokens_of(*set.train));
  }
}

TEST(SetsOfRun, AreOfLargeRawFilesAlone) {
  const TempFile file("a.jsonl", lines(100)), text("a.txt", "text\n");
  const auto sets = [&](const DataKind& kind, const DataOptions& options, int64_t most) {
    return sets_of_run(kind, options, "folder", most).orders;
  };
  const int64_t bytes = int64_t(fs::file_size(file.path()));
  DataOptions options = packed_options(file.path());
  EXPECT_THAT(sets(document_data(), options, bytes - 1), SizeIs(1));
  EXPECT_THAT(sets(document_data(), options, bytes), SizeIs(0));
  EXPECT_THAT(sets(pair_data(), options, 1), SizeIs(0));
  options.data.max_train_samples = 3;
  EXPECT_THAT(sets(document_data(), options, 1), SizeIs(0)) << "the first are enough";
  EXPECT_THAT(sets(token_data(), packed_options(text.path()), 1), SizeIs(0)) << "bytes are read";
  EXPECT_THAT(sets(document_data(), packed_options("b.documents"), 1), SizeIs(0));
  EXPECT_THAT(sets(document_data(), packed_options("missing.jsonl"), 1), SizeIs(0));
}

/// Expects the samples of a text from its set of several parts.
void expect_parts_as_whole(const std::string& words, const std::string& tokenizer) {
  const TempFile file("a.txt", words);
  const TokenizerFolder place("texts");
  DataOptions options = packed_options(file.path(), Packing::automatic);
  options.data.tokenizer = tokenizer;
  options.vocab_size = 1000;
  options.data.validation_fraction = 0.1;
  const DataSets own = token_data().open(options);
  RunSets sets = sets_of_run(token_data(), options, place.path(), 1000);
  ASSERT_THAT(sets.orders, SizeIs(1));
  sets.orders[0].part_bytes = int64_t(words.size());
  make(sets.orders[0], 2);
  EXPECT_EQ(read_prepared_list(sets.orders[0].folder).parts, 1) << "one that need not be parted";
  fs::remove_all(sets.orders[0].folder);
  sets.orders[0].part_bytes = 2000;
  make(sets.orders[0], 2);
  EXPECT_GT(read_prepared_list(sets.orders[0].folder).parts, 5);
  EXPECT_GT(whole_part(prepared_part(sets.orders[0].folder, 3))->tokens, 0u) << "it is parted";
  const DataSets set = token_data().open(sets.options);
  EXPECT_EQ(own.train_source->items(), set.train_source->items());
  EXPECT_EQ(tokens_of(*own.train), tokens_of(*set.train));
  EXPECT_EQ(tokens_of(*own.validation), tokens_of(*set.validation));
  EXPECT_EQ(set.fingerprint(), token_data().open(sets.options).fingerprint());
  sets.options.data.tokenizer = "bytes";
  EXPECT_THAT(refusal_of(Exit::kUsage, [&] { token_data().open(sets.options); }),
              HasSubstr("was prepared by another tokenizer"));
}

std::string words_to_part() {
  std::string words;
  for (int i = 0; i < 3000; ++i)
    words += i % 7 == 0 ? " the \n\n" : i % 5 == 0 ? "low.\n" : "lower ";
  return words;
}

TEST(SetsOfRun, HaveTheTokensOfATextThatIsEncodedInParts) {
  const testing_support::BpeFolder bpe({{"l", "o"}, {"lo", "w"}, {"e", "r"}});
  expect_parts_as_whole(words_to_part(), bpe.path());
}

TEST(SetsOfRun, HaveNoMarkInFrontOfAPart) {
  std::string words;  // of which no line begins with a blank, where tokenizers put no mark
  for (int i = 0; i < 1500; ++i) words += i % 5 == 0 ? "low.\n" : "lower low ";
  for (const char* name : {"prefix", "metaspace_first", "legacy"}) {
    SCOPED_TRACE(name);
    const auto folder = testing_support::tree_folder() / "tests/golden/json" / name;
    expect_parts_as_whole(words, folder.string());
  }
}

}  // namespace
}  // namespace zero
