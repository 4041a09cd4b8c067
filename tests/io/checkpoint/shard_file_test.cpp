// Ranks: 1
#include "zero/io/checkpoint/shard_file.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <thread>

#include "tests/support/refusal.hpp"
#include "tests/support/small_checkpoint.hpp"
#include "zero/base/error.hpp"
#include "zero/io/files/input_file.hpp"

namespace zero::checkpoint {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing_support::bytes_of_slice;
using testing_support::opened_folder;
using testing_support::small_slices;
using testing_support::TempFolder;
using testing_support::write_shard;

class ShardFiles : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return temp_.path() + "/" + name; }
  ShardReader reader(const File& file) const { return {folder_.descriptor(), "step", file, {}}; }
  ShardWriter::Written written() const {
    return write_shard(folder_.descriptor(), "rank00000.h5", small_slices(0));
  }
  /// What is said of the file now; "" if it is taken for good.
  std::string refusal(const File& file) const {
    try {
      reader(file).verify();
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::kInput) << error.what();
      return error.what();
    }
    return "";
  }
  void flip(int64_t offset) const {
    std::fstream file(path("rank00000.h5"), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(offset);
    const char byte = char(file.get() ^ 4);
    file.seekp(offset);
    file.put(byte);
  }

  TempFolder temp_{"shard-file"};
  OpenFile folder_ = opened_folder(temp_.path());
};

TEST_F(ShardFiles, GiveBackEachSliceWhereItWasPut) {
  const ShardWriter::Written file = written();
  ShardReader shard = reader(file.file);
  const std::vector<SlicePlan> slices = small_slices(0);
  for (size_t i = 0; i < slices.size(); ++i) {
    const std::vector<std::byte> expected = bytes_of_slice(slices[i]);
    std::vector<std::byte> found(expected.size());
    shard.read(file.offsets[i], found);
    EXPECT_TRUE(found == expected) << slices[i].tensor.name;
  }
  EXPECT_EQ(refusal(file.file), "");
  EXPECT_EQ(file.offsets[1] % 4096, 0) << "a large slice begins at a page";
  EXPECT_NO_THROW(shard.read(file.file.bytes, {})) << "nothing behind the last byte";
}

TEST_F(ShardFiles, AreForTheirOwnerAloneAndMadeOnce) {
  written();
  struct stat status {};
  ASSERT_EQ(stat(path("rank00000.h5").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_THROW(written(), Error);
}

TEST_F(ShardFiles, HoldManySmallSlicesInTheirOrder) {
  std::vector<SlicePlan> slices;
  for (int64_t i = 0; i < 300; ++i) {
    slices.push_back({.tensor = {.name = text("model/layer.", i, ".weight"), .shape = {5000}},
                      .begin = i,
                      .numel = i % 7 == 0 ? 1500 : 1 + i % 3});
  }
  const auto file = write_shard(folder_.descriptor(), "rank00000.h5", slices);
  ShardReader shard = reader(file.file);
  for (size_t i = 0; i < slices.size(); ++i) {
    std::vector<std::byte> found(size_t(slices[i].numel) * 4);
    shard.read(file.offsets[i], found);
    EXPECT_TRUE(found == bytes_of_slice(slices[i])) << i;
  }
  EXPECT_EQ(refusal(file.file), "");
}

TEST_F(ShardFiles, HaveLongBlocksWhereThatIsSaid) {
  const std::vector<SlicePlan> slices = {
      {.tensor = {.name = "model/a", .dtype = Dtype::f32, .shape = {kLongBlockBytes}},
       .numel = kLongBlockBytes}};
  constexpr DigestForm kLong = {.block_bytes = kLongBlockBytes};
  const Arena staging(kStagingBytes);
  ShardWriter writer(folder_.descriptor(), "rank00000.h5", ShardStructure(slices), staging, kLong);
  writer.append(bytes_of_slice(slices[0]));
  const ShardWriter::Written written = writer.finish();
  EXPECT_EQ(kLong.blocks_of(written.file), written.file.bytes / kLongBlockBytes + 1);
  EXPECT_EQ(int64_t(written.file.digests.size()), 32 * kLong.blocks_of(written.file));
  ShardReader shard(folder_.descriptor(), "step", written.file, kLong);
  shard.verify();
  std::vector<std::byte> found(size_t(kLongBlockBytes) * 4);
  shard.read(written.offsets[0], found);
  EXPECT_TRUE(found == bytes_of_slice(slices[0]));
  EXPECT_NE(refusal(written.file), "") << "not of short ones";
}

TEST_F(ShardFiles, CountTheBlocksThatAreChecked) {
  const ShardWriter::Written file = written();
  std::atomic<int64_t> checked{5};
  reader(file.file).verify(&checked);
  const int64_t blocks = DigestForm().blocks_of(file.file);
  ASSERT_GT(blocks, 1);
  EXPECT_EQ(checked, 5 + blocks);
}

TEST_F(ShardFiles, WithoutSlicesAreStillChecked) {
  const auto file = write_shard(folder_.descriptor(), "rank00000.h5", {});
  EXPECT_EQ(refusal(file.file), "");
  flip(file.file.bytes / 2);
  EXPECT_NE(refusal(file.file), "");
}

TEST_F(ShardFiles, ShowAFlippedBitInEveryRegion) {
  const ShardWriter::Written file = written();
  const int64_t bytes = file.file.bytes;
  std::vector<int64_t> places = {0,
                                 9,
                                 file.offsets[0],
                                 file.offsets[1] - 1,
                                 file.offsets[1],
                                 file.offsets[2],
                                 file.offsets[2] + 11,
                                 bytes - 1};
  for (int64_t i = 1; i < 20; ++i) places.push_back(bytes * i / 20);
  for (const int64_t place : places) {
    flip(place);
    EXPECT_THAT(refusal(file.file),
                HasSubstr(text("rank00000.h5: block ", place / kShortBlockBytes, " ")));
    flip(place);
  }
  EXPECT_EQ(refusal(file.file), "");
}

TEST_F(ShardFiles, ADamagedBlockIsNeverReadButOthersAre) {
  const ShardWriter::Written file = written();
  flip(file.offsets[1] + (int64_t(1) << 20));
  ShardReader shard = reader(file.file);
  std::vector<std::byte> some(1000);
  shard.read(file.offsets[1], some);
  std::vector<std::byte> all(size_t(small_slices(0)[1].numel) * 4);
  EXPECT_THROW(shard.read(file.offsets[1], all), Error);
}

TEST_F(ShardFiles, OfAnotherLengthOrKindAreRefused) {
  const ShardWriter::Written file = written();
  const std::string name = path("rank00000.h5");
  fs::create_hard_link(name, path("second"));
  EXPECT_THAT(refusal(file.file), HasSubstr("has 2 links"));
  fs::rename(name, path("third"));
  fs::remove(path("second"));
  EXPECT_THAT(refusal(file.file), HasSubstr("No such file"));
  fs::create_symlink("third", name);
  EXPECT_THAT(refusal(file.file), HasSubstr("symbolic link"));
  fs::remove(name);
  fs::create_directory(name);
  EXPECT_THAT(refusal(file.file), HasSubstr("is no regular file"));
  fs::remove(name);
  ASSERT_EQ(mkfifo(name.c_str(), 0600), 0);
  EXPECT_THAT(refusal(file.file), HasSubstr("is no regular file"));
  fs::remove(name);
  fs::rename(path("third"), name);
  for (const int64_t bytes : {file.file.bytes - 1, file.file.bytes + 1, int64_t(0)}) {
    fs::resize_file(name, uintmax_t(bytes));
    EXPECT_THAT(refusal(file.file), HasSubstr(text("has ", bytes, " bytes, the manifest says ")));
  }
}

/// Source: HDF5 File Format Specification 3.0, IV.A.2.d, floating-point: version and class, bits
/// with the sign's place, size, offset, precision, exponent's place and size, mantissa's place and
/// size, bias.
TEST_F(ShardFiles, SayWhichBitsOfSixteenAreWhich) {
  const std::pair<Dtype, std::string> types[] = {
      {Dtype::f16, {"\x11\x20\x0f\0\2\0\0\0\0\0\x10\0\x0a\5\0\x0a\x0f\0\0\0", 20}},
      {Dtype::bf16, {"\x11\x20\x0f\0\2\0\0\0\0\0\x10\0\7\x08\0\7\x7f\0\0\0", 20}}};
  for (const auto& [type, message] : types) {
    const std::string name = text("rank", message.size() + size_t(type), ".h5");
    write_shard(folder_.descriptor(), name,
                {{{.name = "model/a", .dtype = type, .shape = {8}}, 0, 8}});
    EXPECT_THAT(read_whole(InputFile(path(name)), 1 << 20), HasSubstr(message)) << name_of(type);
  }
}

TEST_F(ShardFiles, DoNotTakeMoreOrFewerBytesThanTheirSlices) {
  const std::vector<SlicePlan> slices = {{.tensor = testing_support::kVector, .numel = 3}};
  const Arena staging(kStagingBytes);
  ShardWriter writer(folder_.descriptor(), "rank00000.h5", ShardStructure(slices), staging, {});
  EXPECT_THROW(writer.finish(), Error);
  EXPECT_THROW(writer.append(std::vector<std::byte>(13)), Error);
}

class ShardStructures : public ShardFiles {
 protected:
  static const File& entry(const Manifest& manifest, const std::string& name) {
    return *std::ranges::find(manifest.files, name, &File::name);
  }
  std::string compare(const Manifest& manifest, const std::string& name) const {
    return compare_structure(folder_.descriptor(), temp_.path(), manifest, entry(manifest, name));
  }
  std::string compare_refusal(const Manifest& manifest, const std::string& name) const {
    return testing_support::refusal_of(Exit::kInput, [&] { compare(manifest, name); });
  }

  Manifest manifest_ = testing_support::write_small_files(folder_.descriptor(), 12);
};

TEST_F(ShardStructures, OfOurOwnFilesAreTheSameAtAnyTime) {
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // HDF5 keeps seconds
  for (const char* name : {"rank00000.h5", "rank00001.h5", "checkpoint.h5"}) {
    EXPECT_EQ(compare(manifest_, name), "") << name;
  }
}

/// Thousands of links in a group make a deep tree of names and a heap of many blocks.
TEST_F(ShardStructures, OfLargeGroupsAreTheSame) {
  Manifest manifest;
  manifest.facts = manifest_.facts;
  std::vector<SlicePlan> slices;
  for (int64_t i = 0; i < 4000; ++i) {
    const Tensor tensor{.name = text("model/transformer.h.", i, ".weight"), .shape = {3}};
    manifest.tensors.push_back(tensor);
    slices.push_back({.tensor = tensor, .begin = 0, .numel = 3});
  }
  fs::remove(path("rank00000.h5"));
  const auto written = write_shard(folder_.descriptor(), "rank00000.h5", slices);
  for (int32_t i = 0; i < 4000; ++i) {
    manifest.slices.push_back({.tensor = i, .numel = 3, .offset = written.offsets[size_t(i)]});
  }
  manifest.files = {written.file};
  EXPECT_EQ(compare(manifest, "rank00000.h5"), "");
}

TEST_F(ShardStructures, ShowAFlippedByteButInTheTime) {
  const int64_t end = manifest_.slices[0].offset;
  ASSERT_GT(end, 108);
  for (int64_t at = 0; at < end; at += at < 128 ? 1 : 211) {
    flip(at);
    if ((at >= 54 && at < 70) || (at >= 104 && at < 108)) {
      EXPECT_EQ(compare(manifest_, "rank00000.h5"), "");
    } else {
      EXPECT_THAT(compare_refusal(manifest_, "rank00000.h5"),
                  HasSubstr(text("rank00000.h5: byte ", at, " is not what HDF5 writes")));
    }
    flip(at);
  }
  flip(end);
  EXPECT_EQ(compare(manifest_, "rank00000.h5"), "") << "digests tell of payloads";
}

TEST_F(ShardStructures, ThatSayOtherThanTheManifestAreRefused) {
  const struct {
    std::function<void(Manifest&)> change;
    std::string in_shard, in_index;
  } wrong[] = {
      {[](Manifest& m) { m.slices[3].offset -= 2; }, "model/h.0.weight lies at byte ", ""},
      {[](Manifest& m) { m.slices[3].numel -= 1; }, "HDF5", "HDF5"},
      {[](Manifest& m) { m.slices[3].begin += 1, m.slices[3].numel -= 1; }, "HDF5", "HDF5"},
      {[](Manifest& m) { m.tensors[0].dtype = Dtype::f16; }, "byte ", "byte "},
      {[](Manifest& m) { std::swap(m.tensors[0].shape[0], m.tensors[0].shape[1]); }, "byte ",
       "HDF5"},
      {[](Manifest& m) { m.tensors[0].name[6] = 'x'; }, "byte ", "byte "},
      {[](Manifest& m) { m.slices.pop_back(); }, "HDF5", "HDF5"},
      {[](Manifest& m) { m.step = 13; }, "", "byte "},
      {[](Manifest& m) { m.facts["seed"] = "43"; }, "", "byte "},
  };
  for (const auto& [change, in_shard, in_index] : wrong) {
    Manifest other = manifest_;
    change(other);
    for (const auto& [name, said] : {std::pair("rank00001.h5", in_shard), {kIndexName, in_index}}) {
      if (said.empty()) {
        EXPECT_EQ(compare(other, name), "");
      } else {
        EXPECT_THAT(compare_refusal(other, name), HasSubstr(said)) << name;
      }
    }
  }
}

TEST_F(ShardStructures, OfOtherProgramsAreNotCompared) {
  flip(100);
  Manifest other = manifest_;
  other.format_version = 1;
  EXPECT_THAT(compare(other, "rank00000.h5"), HasSubstr("its format is 1, this program writes "));
  other = manifest_;
  other.facts[kHdf5Fact] = "1.8.0\n";
  EXPECT_EQ(compare(other, "rank00000.h5"),
            "HDF5 1.8.0? has written it, this program has " + hdf5_version());
  other.facts.erase(kHdf5Fact);
  EXPECT_EQ(compare(other, "rank00000.h5"), "it does not say which HDF5 has written it");
}

TEST_F(ShardStructures, OfFilesLargerThanMemoryTakeNone) {
  constexpr int64_t kNumel = int64_t(1) << 38;
  Manifest manifest = {.facts = manifest_.facts,
                       .tensors = {{.name = "model/a", .shape = {kNumel}}},
                       .slices = {{.numel = kNumel, .offset = 4096}},
                       .files = {manifest_.files[0]}};
  const std::string said = compare_refusal(manifest, "rank00000.h5"), words = "HDF5 writes ";
  ASSERT_THAT(said, HasSubstr(words));
  const int64_t bytes = std::stoll(said.substr(said.find(words) + words.size()));
  EXPECT_GT(bytes, 4 * kNumel);
  fs::resize_file(path("rank00000.h5"), uintmax_t(bytes));
  EXPECT_THAT(compare_refusal(manifest, "rank00000.h5"), HasSubstr("byte "));
}

/// What a Python program with h5py prints; none where there is no h5py.
class H5py : public ShardFiles {
 protected:
  void SetUp() override {
    for (const char* python : {"python3", "/usr/bin/python3"}) {
      if (std::system(text(python, " -c 'import h5py' 2> /dev/null").c_str()) == 0) {
        python_ = python;
        return;
      }
    }
    GTEST_SKIP() << "no Python with h5py (Debian: python3-h5py)";
  }
  std::string printed(const std::string& program, const std::string& file = kIndexName) const {
    std::ofstream(path("program.py")) << "import h5py, numpy\n"
                                      << "f = h5py.File('" << path(file) << "', 'r')\n"
                                      << program;
    const std::string command = python_ + " " + path("program.py") + " 2>&1";
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
    std::string out;
    std::array<char, 4096> piece;
    while (fgets(piece.data(), int(piece.size()), pipe.get())) out += piece.data();
    return out;
  }

  std::string python_;
};

TEST_F(H5py, SeesWholeTensorsThroughTheIndex) {
  testing_support::write_small_files(folder_.descriptor(), 1200);
  EXPECT_EQ(printed("m = f['optimizer/master/h.0.weight']\n"
                    "print(m.shape, m.dtype, (m[:].ravel() * 4 == numpy.arange(m.size)).all())\n"),
            "(601, 1003) float32 True\n");
  EXPECT_EQ(printed("m = f['model/h.0.weight']\n"
                    "print(m.shape, m.dtype, (m[:].ravel() * 4 == numpy.arange(m.size)).all())\n"),
            "(5, 7) float32 True\n");
  EXPECT_EQ(printed("print((f['model/ln.weight'][:] * 4).astype(int).tolist())\n"),
            "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n");
  EXPECT_EQ(printed("a = f['state'].attrs\n"
                    "print(a['step'][0], a['ranks'][0], a['seed'], sorted(a))\n"),
            "1200 2 b'42' ['format_version', 'hdf5', 'ranks', 'seed', 'step']\n");
  EXPECT_EQ(printed("print(f['config'][()].decode())\n"),
            "[run]\nsteps = 3 # \"quoted\" \xc3\xa4\n\n");
}

TEST_F(H5py, SeesAMissingFileAsNaN) {
  testing_support::write_small_files(folder_.descriptor(), 1200);
  fs::remove(path("rank00001.h5"));
  EXPECT_EQ(printed("m = f['optimizer/master/h.0.weight'][:].ravel()\n"
                    "n = numpy.isnan(m)\n"
                    "print(n.argmax(), n.sum(), numpy.isnan(f['model/h.0.weight'][:]).sum())\n"),
            text(301 * 1003 + 17, " ", 300 * 1003 - 17, " 18\n"));
}

TEST_F(H5py, SeesTheFilesThroughLatestAfterTheFolderHasMoved) {
  fs::create_directory(path("step"));
  testing_support::write_small_files(opened_folder(path("step")).descriptor(), 1200);
  fs::rename(path("step"), path("elsewhere"));
  fs::create_symlink("elsewhere", path("latest"));
  const std::string sum = "print((f['model/ln.weight'][:] * 4).sum())\n";
  EXPECT_EQ(printed(sum, "latest/checkpoint.h5"), "55.0\n");
}

TEST_F(H5py, SeesASliceInTheFileOfItsRank) {
  written();
  fs::rename(path("rank00000.h5"), path(kIndexName));
  EXPECT_EQ(printed("d = f['model/h.0.weight']\n"
                    "print((d[:] * 4).astype(int).tolist(), d.dtype, d.attrs['begin'][0], "
                    "d.attrs['shape'].tolist())\n"),
            "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16] float32 0 [5, 7]\n");
}

}  // namespace
}  // namespace zero::checkpoint
