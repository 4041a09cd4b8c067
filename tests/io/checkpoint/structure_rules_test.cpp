// Ranks: 1
#include "io/checkpoint/structure_rules.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include "tests/support/refusal.hpp"
#include "tests/support/small_checkpoint.hpp"
#include "zero/base/error.hpp"

namespace zero::checkpoint {
namespace {

using ::testing::HasSubstr;
using testing_support::opened_folder;
using testing_support::refusal_of;
using testing_support::TempFolder;

class Structures : public ::testing::Test {
 protected:
  void require(const Manifest& manifest, const std::string& name) const {
    for (const File& file : manifest.files) {
      if (file.name != name) continue;
      require_structure(InputFile(temp_.path() + "/" + name), manifest, file);
    }
  }
  /// What is said of a file under a manifest that says something else.
  std::string refusal(const std::string& name, const std::function<void(Manifest&)>& change) const {
    Manifest other = manifest_;
    change(other);
    return refusal_of(Exit::kInput, [&] { require(other, name); });
  }

  TempFolder temp_{"structures"};
  OpenFile folder_ = opened_folder(temp_.path());
  Manifest manifest_ = testing_support::write_small_files(folder_.descriptor(), 12);
};

TEST_F(Structures, OfOurOwnFilesPass) {
  for (const char* name : {"rank00000.h5", "rank00001.h5", "checkpoint.h5"}) {
    EXPECT_NO_THROW(require(manifest_, name)) << name;
  }
}

/// Fifty links make a tree of names of one node, thousands a deep one and a heap of many blocks.
TEST_F(Structures, OfLargeGroupsPass) {
  for (const int64_t count : {9, 50, 4000}) {
    const TempFolder place(text("structures-", count));
    Manifest manifest;
    std::vector<SlicePlan> slices;
    for (int64_t i = 0; i < count; ++i) {
      const Tensor tensor{.name = text("model/transformer.h.", i, ".weight"), .shape = {3}};
      manifest.tensors.push_back(tensor);
      slices.push_back({.tensor = tensor, .begin = 0, .numel = 3});
    }
    const auto written = testing_support::write_shard(opened_folder(place.path()).descriptor(),
                                                      "rank00000.h5", slices);
    for (int64_t i = 0; i < count; ++i) {
      manifest.slices.push_back(
          {.tensor = int32_t(i), .numel = 3, .offset = written.offsets[size_t(i)]});
    }
    manifest.files = {written.file};
    const InputFile file(place.path() + "/rank00000.h5");
    EXPECT_NO_THROW(require_structure(file, manifest, manifest.files[0])) << count;
    manifest.slices.back().offset += 8;
    EXPECT_THAT(
        refusal_of(Exit::kInput, [&] { require_structure(file, manifest, manifest.files[0]); }),
        HasSubstr(text("/model/transformer.h.", count - 1, ".weight: the place of")));
  }
}

TEST_F(Structures, ThatSayOtherThanTheManifestAreRefused) {
  const std::string name = "rank00001.h5", half = "HDF5 object /model/h.0.weight@17: ";
  const struct {
    std::function<void(Manifest&)> change;
    std::string said;
  } wrong[] = {
      {[](Manifest& m) { m.slices[3].offset -= 2; }, half + "the place of its elements is "},
      {[](Manifest& m) { m.slices[3].numel -= 1; }, half + "an extent is 18, and not 17"},
      {[](Manifest& m) { m.slices[3].begin += 1; }, "HDF5 object /model/h.0.weight@17: is not of"},
      {[](Manifest& m) { m.tensors[0].dtype = Dtype::f16; }, half + "is of another type"},
      {[](Manifest& m) {
         m.tensors[0].shape = {7, 5};
       },
       half + "a number of an attribute is 5"},
      {[](Manifest& m) { m.tensors[0].shape = {35}; }, half + "an extent is 2, and not 1"},
      {[](Manifest& m) { m.tensors[0].name = "model/x"; }, half + "is not of this checkpoint"},
      {[](Manifest& m) { m.slices.pop_back(); }, "/model/ln.weight@3: is not of this checkpoint"},
      {[](Manifest& m) { m.slices.push_back({.tensor = 2, .file = 1, .begin = 9, .numel = 1}); },
       "HDF5 object /model/ln.weight@9: is not there"},
  };
  for (const auto& [change, said] : wrong) EXPECT_THAT(refusal(name, change), HasSubstr(said));
}

TEST_F(Structures, OfAnIndexThatJoinsOtherSlicesAreRefused) {
  const std::string name = "checkpoint.h5", half = "HDF5 object /model/h.0.weight: ";
  EXPECT_THAT(refusal(name, [](Manifest& m) { std::swap(m.slices[0].file, m.slices[3].file); }),
              HasSubstr(half + "looks elsewhere than in rank00001.h5"));
  EXPECT_THAT(refusal(name, [](Manifest& m) { m.slices[3].begin += 1, m.slices[3].numel -= 1; }),
              HasSubstr(half + "looks elsewhere than in model/h.0.weight@18"));
  EXPECT_THAT(refusal(name,
                      [](Manifest& m) {
                        m.tensors[0].shape = {7, 5};
                      }),
              HasSubstr(half + "an extent is 5, and not 7"));
  EXPECT_THAT(refusal(name, [](Manifest& m) { m.slices.pop_back(); }),
              HasSubstr("/model/ln.weight: joins 2 boxes, and not 1"));
}

/// Where a byte is turned round the file passes or is refused in one error, in little time.
TEST_F(Structures, AnyByteMayBeAnother) {
  const std::string name = "rank00000.h5", path = temp_.path() + "/" + name;
  int refused = 0;
  for (int64_t at = 0; at < 4096; ++at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(at);
    const char byte = char(file.get());
    file.seekp(at);
    file.put(char(~byte)).flush();
    try {
      require(manifest_, name);
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::kInput) << error.what();
      ++refused;
    }
    file.seekp(at);
    file.put(byte);
  }
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace zero::checkpoint
