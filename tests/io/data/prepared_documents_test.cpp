// Ranks: 1

#include "io/data/prepared_documents.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/document_options.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/temp_file.hpp"
#include "tests/support/tokenizer_folder.hpp"
#include "zero/io/data/dataset.hpp"
#include "zero/io/data/prepare.hpp"

namespace zero {
namespace {

using ::testing::HasSubstr;
using testing_support::packed_options;
using testing_support::refusal_of;
using testing_support::TempFile;
using testing_support::TokenizerFolder;

constexpr int64_t kPart = 1 << 20;

/// Records of several lengths, with a prompt of which nothing is learnt.
std::string records(int count) {
  std::string lines;
  for (int i = 0; i < count; ++i) {
    lines += "{\"prompt\": \"" + std::string(size_t(i % 5), 'p') + "\", \"completion\": \"" +
             std::string(size_t(i % 13), char('a' + i % 26)) + "\"}\n";
  }
  return lines;
}

std::vector<int32_t> columns(const Dataset& data, int64_t position) {
  std::vector<int32_t> all;
  std::vector<std::span<std::byte>> spans;
  for (const DataColumn& column : data.columns()) all.resize(all.size() + size_t(column.numel));
  int32_t* at = all.data();
  for (const DataColumn& column : data.columns()) {
    spans.push_back(std::as_writable_bytes(std::span(at, size_t(column.numel))));
    at += column.numel;
  }
  data.read(position, spans);
  return all;
}

void expect_equal(const Dataset& a, const Dataset& b) {
  ASSERT_EQ(a.samples(), b.samples());
  for (int64_t i = 0; i < a.samples(); ++i) {
    ASSERT_EQ(columns(a, i), columns(b, i)) << i;
    ASSERT_EQ(a.counted(i, 1), b.counted(i, 1)) << i;
  }
}

std::string change(const std::string& path, size_t at) {
  std::ifstream in(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  bytes.at(at) = char(bytes.at(at) ^ 1);
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

/// A place for a set, which goes away with the object.
class Place {
 public:
  Place() : folder_("prepared" + std::to_string(made_++)) {}
  std::string set() const { return folder_.path() + "/a.documents"; }
  std::string file(const std::string& name) const { return set() + "/" + name; }

 private:
  static inline int made_ = 0;
  TokenizerFolder folder_;
};

TEST(PreparedDocuments, GiveTheSamplesOfTheirFiles) {
  const TempFile file("a.jsonl", records(70'000));
  const Place place;
  const Preparation made = prepare_documents(packed_options(file.path()), place.set(), 2, kPart);
  EXPECT_EQ(made.documents, 70'000);
  EXPECT_EQ(made.parts, 3);
  EXPECT_EQ(made.empty, 70'000 / 65 + 1);
  for (const Packing packing : {Packing::documents, Packing::none, Packing::stream}) {
    const DataSets own = document_data().open(packed_options(file.path(), packing));
    const DataSets set = document_data().open(packed_options(place.set() + "/", packing));
    expect_equal(*own.train, *set.train);
    EXPECT_NE(set.fingerprint(), own.fingerprint());
    EXPECT_EQ(set.train_source->items(), 70'000);
  }
  const TokenizerFolder other("other");
  prepare_documents(packed_options(file.path()), other.path() + "/b.documents", 1, kPart);
  EXPECT_EQ(read_prepared_list(place.set()).digest,
            read_prepared_list(other.path() + "/b.documents").digest)
      << "at any number of threads";
}

TEST(PreparedDocuments, GoOnWhereAKilledProcessEnded) {
  const TempFile file("a.jsonl", records(70'000));
  const Place place;
  prepare_documents(packed_options(file.path()), place.set(), 1, kPart);
  const uint64_t digest = read_prepared_list(place.set()).digest;
  std::filesystem::remove(place.file("list"));
  std::filesystem::remove(place.file("00001"));
  EXPECT_THAT(refusal_of(Exit::kInput, [&] { document_data().open(packed_options(place.set())); }),
              HasSubstr("is no whole prepared set"));
  const Preparation again = prepare_documents(packed_options(file.path()), place.set(), 2, kPart);
  EXPECT_EQ(again.kept, 2);
  EXPECT_EQ(read_prepared_list(place.set()).digest, digest);
  EXPECT_THAT(refusal_of(Exit::kUsage,
                         [&] { prepare_documents(packed_options(file.path()), place.set(), 1); }),
              HasSubstr("is a whole set; remove it"));
  std::filesystem::remove(place.file("list"));
  DataOptions changed = packed_options(file.path());
  changed.data.eos_id = 2;
  EXPECT_THAT(refusal_of(Exit::kInput, [&] { prepare_documents(changed, place.set(), 1, kPart); }),
              HasSubstr("is of other data or rules"));
}

TEST(PreparedDocuments, AreRefusedWithOtherRules) {
  const TempFile file("a.jsonl", records(20)), ids("b.jsonl", "{\"input_ids\": [300, 3]}\n");
  const Place place, second;
  prepare_documents(packed_options(file.path()), place.set(), 1);
  DataOptions options = packed_options(place.set());
  options.data.eos_id = 3;
  EXPECT_THAT(refusal_of(Exit::kUsage, [&] { document_data().open(options); }),
              HasSubstr("was prepared with data.eos_id = 1 and data.special_tokens = true"));
  options = packed_options(ids.path());
  options.vocab_size = 301;
  prepare_documents(options, second.set(), 1);
  EXPECT_THAT(refusal_of(Exit::kInput, [&] { document_data().open(packed_options(second.set())); }),
              HasSubstr("has a vocabulary of 301, the model one of 256"));
  EXPECT_THAT(refusal_of(Exit::kUsage,
                         [&] { prepare_documents(packed_options(file.path()), "some/set", 1); }),
              HasSubstr("write some/set.documents"));
  options.data.train_parts = {{file.path(), 2}};
  EXPECT_THAT(refusal_of(Exit::kUsage,
                         [&] { prepare_documents(options, second.set() + "2.documents", 1); }),
              HasSubstr("a set has no weights"));
}

TEST(PreparedDocuments, AreRefusedWithAPartOfAnotherVocabulary) {
  const TempFile file("b.jsonl", "{\"input_ids\": [7, 3]}\n");
  const Place place;
  prepare_documents(packed_options(file.path()), place.set(), 1);
  EXPECT_EQ(read_prepared_list(place.set()).vocabulary, 8);
  EXPECT_NO_THROW(document_data().open(packed_options(place.set())));
  std::fstream part(place.file("00000"), std::ios::binary | std::ios::in | std::ios::out);
  PartHeader header;
  part.read(reinterpret_cast<char*>(&header), sizeof header);
  header.vocabulary = 9;
  header.header_digest = digest_of(header);
  part.seekp(0).write(reinterpret_cast<const char*>(&header), sizeof header);
  part.close();
  EXPECT_THAT(refusal_of(Exit::kInput, [&] { document_data().open(packed_options(place.set())); }),
              HasSubstr("00000: has ids of another vocabulary than"));
}

TEST(PreparedDocuments, NameDamage) {
  const TempFile file("a.jsonl", records(2000));
  const Place place;
  prepare_documents(packed_options(file.path()), place.set(), 1);
  const auto refusal = [&] {
    return refusal_of(Exit::kInput,
                      [&] { document_data().open(packed_options(place.set())).fingerprint(); });
  };
  EXPECT_EQ(refusal(), "");
  const std::string part = place.file("00000");
  const size_t bytes = std::filesystem::file_size(part);
  for (const auto& [at, words] :
       std::map<size_t, std::string>{{9, "is no part of a prepared set"},
                                     {200, "the places of documents are damaged"},
                                     {bytes - 3, "the digests are damaged"},
                                     {bytes - 2000, "bytes from here are damaged"}}) {
    change(part, at);
    EXPECT_THAT(refusal(), HasSubstr(words)) << at;
    change(part, at);
  }
  std::filesystem::resize_file(part, bytes - 8);
  EXPECT_THAT(refusal(), HasSubstr("the header wants"));
  change(place.file("list"), 3);
  EXPECT_THAT(refusal(), HasSubstr("is no list of a prepared set"));
}

}  // namespace
}  // namespace zero
