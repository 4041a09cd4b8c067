#include "io/checkpoint/file_structure.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/checkpoint/folder_files.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/io/checkpoint/shard_file.hpp"
#include "zero/io/interop/json.hpp"

namespace zero::checkpoint {
namespace {

/// Bytes that are not compared, because HDF5 always writes the time into the superblock's
/// extension, and a checksum over it.
constexpr FileStructure::Extent kTimes[] = {{.offset = 54, .bytes = 16},
                                            {.offset = 104, .bytes = 4}};

std::string why_of_another_writer(const Manifest& manifest) {
  if (manifest.format_version != kFormatVersion) {
    return text("its format is ", manifest.format_version, ", this program writes ",
                kFormatVersion);
  }
  const auto fact = manifest.facts.find(kHdf5Fact);
  if (fact == manifest.facts.end()) return "it does not say which HDF5 has written it";
  if (fact->second == hdf5_version()) return "";
  return text("HDF5 ", shown(fact->second), " has written it, this program has ", hdf5_version());
}

template <class... Parts>
[[noreturn]] void fail(const InputFile& file, const Parts&... parts) {
  refuse(Exit::kInput, file.path(), ": ", parts...,
         "; whoever opens it with HDF5 may see what is not in the checkpoint");
}

std::vector<Slice> slices_in(const Manifest& manifest, const File& file) {
  const auto found = std::ranges::find(manifest.files, file.name, &File::name);
  const auto number = int32_t(found - manifest.files.begin());
  std::vector<Slice> slices;
  std::ranges::copy_if(manifest.slices, std::back_inserter(slices),
                       [&](const Slice& slice) { return slice.file == number; });
  return slices;
}

/// Most pieces of a compared index: HDF5 takes some 25 KB and a millisecond for each joined piece.
constexpr size_t kJoinedPiecesMost = 2000;
/// Least bytes that HDF5 writes for a dataset. A file with less beside its payloads is not HDF5's.
constexpr int64_t kDatasetBytesLeast = 128;

/// Throws Error(kInput) if the file is too small for the manifest's datasets, before HDF5 makes so
/// many. A later check finds payloads beyond the end.
void require_room(const InputFile& file, const Manifest& manifest,
                  const std::vector<Slice>& slices) {
  int64_t beside = file.bytes();
  for (const Slice& slice : slices) {
    beside -= slice.numel * bytes_of(manifest.tensors[size_t(slice.tensor)].dtype);
  }
  const auto datasets = int64_t(slices.size());
  if (beside < 0 || beside >= datasets * kDatasetBytesLeast) return;
  fail(file, "has ", beside, " bytes beside the payloads, too few for ",
       counted(datasets, "dataset"));
}

std::vector<SlicePlan> plans_of(const Manifest& manifest, const std::vector<Slice>& slices) {
  std::vector<SlicePlan> plans;
  for (const Slice& slice : slices) {
    plans.push_back({.tensor = manifest.tensors[size_t(slice.tensor)],
                     .begin = slice.begin,
                     .numel = slice.numel});
  }
  return plans;
}

void require_same(const InputFile& file, int64_t begin, std::span<const std::byte> expected) {
  std::vector<std::byte> found(expected.size());
  file.read(begin, found);
  for (const auto& [from, bytes] : kTimes) {
    if (begin == 0) std::copy_n(expected.data() + from, bytes, found.data() + from);
  }
  const auto other = std::ranges::mismatch(found, expected).in1;
  if (other == found.end()) return;
  fail(file, "byte ", begin + (other - found.begin()), " is not what HDF5 writes for the manifest");
}

void require_same(const InputFile& file, const FileStructure& expected, const Manifest& manifest,
                  const std::vector<Slice>& slices) {
  if (file.bytes() != expected.file_bytes()) {
    fail(file, "has ", file.bytes(), " bytes, HDF5 writes ", expected.file_bytes(),
         " for the manifest");
  }
  int64_t begin = 0;
  for (size_t i = 0; i < slices.size(); ++i) {
    const auto& [offset, bytes] = expected.extents()[i];
    if (slices[i].offset != offset) {
      fail(file, manifest.tensors[size_t(slices[i].tensor)].name, " lies at byte ",
           slices[i].offset, " by the manifest, where HDF5 puts it at ", offset);
    }
    require_same(file, begin, expected.before(i));
    begin = offset + bytes;
  }
  require_same(file, begin, expected.before(slices.size()));
}

}  // namespace

FileStructure::FileStructure(const InputFile& file, std::vector<Extent> extents)
    : file_bytes_(file.bytes()), extents_(std::move(extents)) {
  int64_t begin = 0;
  const auto keep = [&](int64_t end) {
    between_.emplace_back(size_t(end - begin));
    file.read(begin, between_.back());
  };
  for (size_t i = 0; i < extents_.size(); ++i) {
    const auto& [offset, bytes] = extents_[i];
    ZERO_REQUIRE(begin <= offset, file.path(), ": HDF5 laid payload ", i,
                 " not behind the one before");
    keep(offset);
    begin = offset + bytes;
  }
  ZERO_REQUIRE(begin <= file_bytes_, file.path(), ": ends before its last payload does");
  keep(file_bytes_);
}

std::string compare_structure(int folder, const std::string& folder_name, const Manifest& manifest,
                              const File& file) {
  if (std::string why = why_of_another_writer(manifest); !why.empty()) return why;
  const InputFile found = open_plain(folder, folder_name, file.name);
  if (file.name == kIndexName) {
    const size_t pieces = manifest.slices.size();
    if (pieces > kJoinedPiecesMost) {
      return text(file.name, " joins ", pieces, " pieces, and of at most ", kJoinedPiecesMost,
                  " the structure is made anew");
    }
    require_same(found, IndexStructure(manifest).structure(manifest), manifest, {});
    return "";
  }
  const std::vector<Slice> slices = slices_in(manifest, file);
  require_room(found, manifest, slices);
  require_same(found, *ShardStructure(plans_of(manifest, slices)).structure_, manifest, slices);
  return "";
}

}  // namespace zero::checkpoint
