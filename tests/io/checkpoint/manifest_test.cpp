// Ranks: 1
#include "zero/io/checkpoint/manifest.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>

#include "io/checkpoint/manifest_rules.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/small_checkpoint.hpp"
#include "zero/base/error.hpp"
#include "zero/io/checkpoint/store.hpp"

namespace zero::checkpoint {
namespace {

using ::testing::HasSubstr;

/// Two tensors in two files: "model/a" of 2 x 3 cut after 4 elements, "model/b" of 5 in the second.
Manifest good() {
  Manifest manifest;
  manifest.step = 1200;
  manifest.ranks = 2;
  manifest.facts = {{"seed", "42"}, {"configuration", "a = \"\xc3\xa4\"\n\t\x01"}};
  manifest.tensors = {{.name = "model/a", .dtype = Dtype::f32, .shape = {2, 3}},
                      {.name = "optimizer/master/b", .dtype = Dtype::bf16, .shape = {5}}};
  manifest.slices = {{.tensor = 0, .file = 0, .begin = 0, .numel = 4, .offset = 2048},
                     {.tensor = 0, .file = 1, .begin = 4, .numel = 2, .offset = 100},
                     {.tensor = 1, .file = 1, .begin = 0, .numel = 5, .offset = 108}};
  const std::string one(32, '1'), two(64, '2');
  manifest.files = {
      {.name = "rank00000.h5", .bytes = 4096, .digests = one, .xxh3 = ""},
      {.name = "rank00001.h5", .bytes = kShortBlockBytes + 1, .digests = two, .xxh3 = ""},
      {.name = "checkpoint.h5", .bytes = 10, .digests = one, .xxh3 = ""}};
  return manifest;
}

/// The same of an older version.
Manifest older(int64_t version) {
  Manifest manifest = good();
  manifest.format_version = version;
  for (File& file : manifest.files) {
    file.digests = std::string(8 * size_t(digest_form(manifest).blocks_of(file)), 'c');
    file.xxh3 = std::string(32, 'a');
  }
  return manifest;
}

/// What is said of a text; "" if it is taken.
std::string refusal_of_text(const std::string& text, Exit exit = Exit::kInput) {
  try {
    parse_manifest(text, "step/MANIFEST.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), exit) << error.what();
    EXPECT_THAT(error.what(), HasSubstr("step/MANIFEST.json"));
    return error.what();
  }
  return "";
}

std::string refusal_of_manifest(const std::function<void(Manifest&)>& change) {
  Manifest manifest = good();
  change(manifest);
  return refusal_of_text(to_text(manifest));
}

/// The good text with one part replaced and a right digest.
std::string refusal_of_manifest(const std::string& from, const std::string& to,
                                Exit exit = Exit::kInput) {
  std::string text = to_text(good());
  text.resize(text.find(",\n\"sha256\""));
  const size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return refusal_of_text(sealed(text.replace(at, from.size(), to)), exit);
}

TEST(Manifest, IsTheSameAfterItsText) {
  EXPECT_EQ(parse_manifest(to_text(good()), "m"), good());
  Manifest empty;
  EXPECT_EQ(parse_manifest(to_text(empty), "m"), empty);
  for (const int64_t version : {1, 2, 3}) {
    EXPECT_EQ(parse_manifest(to_text(older(version)), "m"), older(version));
  }
}

/// Without what a save fills in.
Manifest described(Manifest manifest) {
  for (Slice& slice : manifest.slices) slice.offset = 0;
  manifest.files.clear();
  return manifest;
}

TEST(Manifest, IsNeverLongerThanWasToldBefore) {
  Manifest manifest = good();
  EXPECT_GE(text_bytes_most(described(manifest)), int64_t(to_text(manifest).size()));
  // 9 TiB in one tensor: 32 digits of each MiB are nearly all of it.
  constexpr int64_t kBlocks = int64_t(9) << 20;
  manifest.tensors = {{.name = "model/a", .dtype = Dtype::f32, .shape = {kBlocks << 18}}};
  manifest.slices = {{.tensor = 0, .file = 0, .begin = 0, .numel = kBlocks << 18}};
  const int64_t bytes = text_bytes_most(described(manifest));
  EXPECT_GT(bytes, 32 * kBlocks);
  EXPECT_LT(bytes, 32 * kBlocks + 10'000);
  EXPECT_GT(bytes, kManifestBytesMax);
}

TEST(Manifest, ThatNobodyReadsIsNotWritten) {
  const testing_support::TempFolder folder("manifest");
  Store store({.root = folder.path() + "/checkpoints", .writes = true});
  const std::string temporary = store.begin(5);
  Manifest manifest;
  manifest.step = 5;
  manifest.facts["long"] = std::string(size_t(kManifestBytesMax), 'x');
  const std::string refused =
      testing_support::refusal_of(Exit::kIo, [&] { store.write_manifest(temporary, manifest); });
  EXPECT_THAT(refused, HasSubstr("of which at most 268435456 could be read again"));
  manifest.facts["long"].resize(size_t(kManifestBytesMax) - 1000);
  EXPECT_EQ(parse_manifest(to_text(manifest), "m"), manifest);
}

TEST(Manifest, NamesTheFilesOfRanks) {
  EXPECT_EQ(rank_file_name(3), "rank00003.h5");
  EXPECT_EQ(rank_file_name(123456), "rank123456.h5");
}

TEST(Manifest, EveryFlippedBitAndEveryCutIsFound) {
  const std::string text = to_text(good());
  for (size_t i = 0; i < text.size(); ++i) {
    std::string flipped = text;
    flipped[i] = char(flipped[i] ^ (1 << (i % 8)));
    EXPECT_NE(refusal_of_text(flipped), "") << "bit of byte " << i;
    EXPECT_THAT(refusal_of_text(text.substr(0, i)), HasSubstr("damaged or cut off"));
  }
}

TEST(Manifest, TellsWhatDigestsAreOf) {
  Manifest manifest;
  const auto block_bytes = [&](int64_t version, std::vector<int64_t> shape) {
    manifest.format_version = version;
    manifest.tensors = {{.name = "model/a", .dtype = Dtype::bf16, .shape = {1 << 10}},
                        {.name = "model/b", .dtype = Dtype::f32, .shape = std::move(shape)}};
    return digest_form(manifest).block_bytes;
  };
  const int64_t most = (kShortBlocksMost - (2 << 10)) / 4;
  for (const int64_t version : {3, 4}) {
    EXPECT_EQ(block_bytes(version, {most}), kShortBlockBytes);
    EXPECT_EQ(digest_form(manifest).is_crc32c, version == 3);
    EXPECT_EQ(block_bytes(version, {most + 1}), kLongBlockBytes);
    EXPECT_EQ(block_bytes(version, {INT64_MAX, INT64_MAX, INT64_MAX}), kLongBlockBytes);
  }
  EXPECT_EQ(block_bytes(2, {1}), kLongBlockBytes);
  EXPECT_FALSE(digest_form(manifest).file_is_of_bytes);
  EXPECT_EQ(block_bytes(1, {1}), kLongBlockBytes);
  EXPECT_TRUE(digest_form(manifest).file_is_of_bytes);
}

TEST(Manifest, OfOlderVersionsHasDigestsOfLongBlocks) {
  for (const int64_t version : {1, 2, 3}) {
    Manifest manifest = older(version);
    manifest.files[1].bytes = (256 << 10) + 1;
    manifest.files[1].digests.resize(8);
    const std::string said = refusal_of_text(to_text(manifest));
    EXPECT_THAT(said,
                version == 3 ? HasSubstr("crc32c of 2 blocks is not of 16 hexa") : HasSubstr(""));
    EXPECT_EQ(said.empty(), version < 3) << said;
  }
}

TEST(Manifest, OfOlderVersionsHasADigestOfEachFile) {
  for (const int64_t version : {1, 2, 3}) {
    Manifest manifest = older(version);
    manifest.files[0].xxh3.back() = 'A';
    EXPECT_THAT(refusal_of_text(to_text(manifest)), HasSubstr("xxh3 is not of 32 hexadecimal"));
    manifest.files[0].xxh3 = "aa";
    EXPECT_THAT(refusal_of_text(to_text(manifest)), HasSubstr("xxh3 is not of 32 hexadecimal"));
    manifest.files[0].xxh3 = "";
    EXPECT_THAT(refusal_of_text(to_text(manifest)),
                HasSubstr("entry 0 of \"files\" has 3 fields, not 4"));
  }
}

TEST(Manifest, ANewerVersionIsNamedWithOurs) {
  const std::string said = refusal_of_manifest(
      "\"format_version\": 4,", "\"format_version\": 5, \"new\": {},", Exit::kNoCheckpoint);
  EXPECT_THAT(said, HasSubstr("format version 5; this program reads versions 1 to 4"));
}

struct Replacement {
  const char *from, *to, *said;
};

TEST(Manifest, HostileTextsAreRefusedWithTheirPlace) {
  const Replacement hostile[] = {
      {"{\"format", "[\"format", "is no JSON"},
      {"\"step\": 1200", "\"step\": -1", "\"step\": is no whole number"},
      {"\"step\": 1200", "\"step\": 1.5", "\"step\": is no whole number"},
      {"\"step\": 1200", "\"step\": 99999999999999999999", "\"step\": is no whole number"},
      {"\"step\": 1200", "\"step\": \"1200\"", "\"step\": is no whole number"},
      {"\"step\": 1200", "\"step\": {}", "\"step\": a list or an object is not expected"},
      {"\"step\": 1200", "\"step\": [1]", "\"step\": a list is not expected"},
      {"\"step\": 1200", "\"step\": 1200, \"step\": 1", "stands twice"},
      {"\"step\": 1200", "\"stop\": 1200", "\"stop\": is not known"},
      {"\"step\": 1200,", "", "lacks a member"},
      {"\"ranks\": 2", "\"ranks\": 0", "ranks: 0"},
      {"\"ranks\": 2", "\"ranks\": 4294967298", "\"ranks\": is too large"},
      {"\"ranks\": 2", "\"ranks\": 2000000", "ranks: 2000000"},
      {"\"seed\": \"42\"", "\"seed\": 42", "\"facts.seed\": is no string"},
      {"\"seed\": \"42\"", "\"seed\": {\"a\": \"b\"}", "\"facts.seed\": a list or an object"},
      {"\"seed\": \"42\"", "\"\": \"42\"", "is no name"},
      {"\"seed\": \"42\"", "\"a\\u0000b\": \"42\"", "is no name"},
      {"\"tensors\": [", "\"tensors\": [[],", "\"tensors\""},
      {"\"tensors\": [", "\"tensors\": [7,", "\"tensors\""},
      {"\"tensors\": [", "\"tensors\": [{},", "entry 0 of \"tensors\" has 0 fields, not 3"},
      {"\"shape\":[2,3]", "\"shape\":[2,[3]]", "nested deeper than 4 levels"},
      {"\"shape\":[2,3]", "\"shape\":[2,{}]", "nested deeper than 4 levels"},
      {"\"shape\":[2,3]", "\"shape\":6", "\"tensors.shape\" of entry 0"},
      {"\"shape\":[2,3]", "\"shape\":[1,1,1,1,1,1,1,2,3]", "more than 8 extents"},
      {"\"dtype\":\"fp32\"", "\"dtype\":\"fp31\"", "no dtype \"fp31\""},
      {"\"dtype\":\"fp32\"", "\"dtype\":\"i32\"", "no dtype \"i32\""},
      {"\"dtype\":\"fp32\"", "\"dtype\":4", "is no string"},
      {"\"dtype\":\"fp32\",", "", "has 2 fields, not 3"},
      {"\"tensor\":0", "\"tensor\":2147483648", "is too large"},
      {"\"tensor\":0", "\"tensor\":null", "is no whole number"},
      {"\"tensor\":0", "\"tensor\":true", "is no whole number"},
      {"\"numel\":4", "\"numel\":4,\"more\":4", "\"slices.more\" of entry 0: is not known"},
      {"\"format_version\": 4,", "", "\"step\": stands in front of \"format_version\""},
      {"\"format_version\": 4,", "\"files\": [], \"format_version\": 4,",
       "\"files\": stands in front of \"format_version\""},
      {"\"xxh3\":\"1", "\"xxh3\":\"", "xxh3 of 1 blocks is not of 32 hexadecimal digits"},
      {"\"xxh3\":\"1", "\"xxh3\":\"g", "xxh3 of 1 blocks is not of 32 hexadecimal digits"},
      {"\"xxh3\":\"1", "\"xxh3\":\"-", "xxh3 of 1 blocks is not of 32 hexadecimal digits"},
      {"\"xxh3\":", "\"crc32c\":", "\"files.crc32c\" of entry 0: is not known"},
      {"\"facts\": {", "\"facts\": [{", "\"facts\""},
      {"\"seed\": \"42\"", "\"seed\": \"\xff\"", "is no JSON"},
  };
  for (const Replacement& change : hostile) {
    EXPECT_THAT(refusal_of_manifest(change.from, change.to), HasSubstr(change.said))
        << change.from << " -> " << change.to;
  }
}

TEST(Manifest, NamesThatLeadElsewhereAreRefused) {
  for (const char* name : {"../rank00000.h5", "/etc/passwd", "rank00000.h5/..", "rank0.h5", "",
                           "rank00002.h5", "rank-0001.h5", "rank000000.h5", "rank00000.h5 ",
                           "rank00000.hdf5", "MANIFEST.json", "rank99999999999999999999.h5"}) {
    EXPECT_THAT(refusal_of_manifest([&](Manifest& m) { m.files[0].name = name; }),
                HasSubstr("is no rank%05d"))
        << name;
  }
  for (const char* name : {"model/../a", "/model/a", "model//a", "model/./a", "model/", "a", "",
                           "state/step", "model/a@5", "model/a b", "model/\xc3\xa4", "model/a\n"}) {
    EXPECT_THAT(refusal_of_manifest([&](Manifest& m) { m.tensors[0].name = name; }),
                HasSubstr("is no name of a tensor"))
        << name;
  }
}

TEST(Manifest, PartsThatDoNotFitTogetherAreRefused) {
  const int64_t most = INT64_MAX;
  const struct {
    std::function<void(Manifest&)> change;
    const char* said;
  } wrong[] = {
      {[](Manifest& m) { m.files[1].name = "rank00000.h5"; }, "stands twice"},
      {[](Manifest& m) { m.tensors[1].name = "model/a"; }, "stands twice"},
      {[](Manifest& m) { m.files[1].digests.resize(32); }, "xxh3 of 2 blocks is not of 64"},
      {[](Manifest& m) { m.files[0].bytes = INT64_MAX; }, "xxh3 of 35184372088832 blocks"},
      {[](Manifest& m) { m.files[0].digests[3] = 'A'; }, "32 hexadecimal digits"},
      {[](Manifest& m) { m.tensors[0].shape = {}; }, "its shape is empty"},
      {[](Manifest& m) {
         m.tensors[0].shape = {0, 3};
       },
       "its shape is empty"},
      {[&](Manifest& m) {
         m.tensors[0].shape = {most, 2};
       },
       "too large"},
      {[&](Manifest& m) { m.tensors[0].shape = {most}; }, "too large"},
      {[](Manifest& m) { m.slices[0].tensor = 2; }, "no such tensor"},
      {[](Manifest& m) { m.slices[0].file = 3; }, "no such file"},
      {[](Manifest& m) { m.slices[0].file = 2; }, "lies in checkpoint.h5"},
      {[](Manifest& m) { m.slices[0].numel = 0; }, "elements [0, +0) of 6"},
      {[&](Manifest& m) { m.slices[0].numel = most; }, "of 6"},
      {[&](Manifest& m) { m.slices[1].begin = most; }, "of 6"},
      {[&](Manifest& m) { m.slices[0].offset = most; }, "of 4096 in rank00000.h5"},
      {[](Manifest& m) { m.slices[0].offset = 4081; }, "of 4096 in rank00000.h5"},
      {[](Manifest& m) { m.slices.pop_back(); }, "0 of 5 elements are covered"},
      {[](Manifest& m) { m.slices[2].numel = 4; }, "4 of 5 elements are covered"},
      {[](Manifest& m) { m.slices[1].begin = 3; }, "begins at element 3, those before end at 4"},
      {[](Manifest& m) { m.slices[1].begin = 5, m.slices[1].numel = 1; }, "begins at element 5"},
      {[](Manifest& m) { m.slices.push_back(m.slices[0]); }, "begins at element 0"},
      {[](Manifest& m) { m.slices[2].offset = 107; }, "lie over each other in rank00001.h5"},
      {[](Manifest& m) { m.slices[2].offset = 91; }, "lie over each other in rank00001.h5"},
  };
  for (const auto& [change, said] : wrong)
    EXPECT_THAT(refusal_of_manifest(change), HasSubstr(said));
}

TEST(Manifest, LargeHostileTextsCostLittle) {
  const auto start = std::chrono::steady_clock::now();
  const std::string begin = "{\"format_version\": 4, ";
  const std::string deep = begin + "\"facts\": " + std::string(1 << 20, '[');
  EXPECT_THAT(refusal_of_text(sealed(deep)), HasSubstr("a list"));
  std::string many = begin + "\"slices\": [";
  for (int i = 0; i < (1 << 20); ++i) many += "{},";
  EXPECT_THAT(refusal_of_text(sealed(many)), HasSubstr("entry 0 of \"slices\" has 0 fields"));
  EXPECT_THAT(refusal_of_text(std::string(size_t(kManifestBytesMax) + 1, ' ')),
              HasSubstr("at most"));
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  EXPECT_LT(taken.count(), 5) << "seconds";
}

}  // namespace
}  // namespace zero::checkpoint
