#pragma once
/// A checkpoint of three small tensors in the files of two ranks, cut at odd places.

#include <fcntl.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "zero/base/dtype.hpp"
#include "zero/io/checkpoint/shard_file.hpp"
#include "zero/io/checkpoint/store.hpp"
#include "zero/io/files/open_file.hpp"

namespace zero::testing_support {

/// A folder that goes away with the object, named after the process so that ranks do not meet.
class TempFolder {
 public:
  explicit TempFolder(const std::string& name)
      : path_((std::filesystem::temp_directory_path() /
               ("zero-test-" + std::to_string(getpid()) + "-" + name))
                  .string()) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directory(path_);
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline OpenFile opened_folder(const std::string& path) {
  return OpenFile(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

inline const checkpoint::Tensor kMatrix = {
    .name = "optimizer/master/h.0.weight", .dtype = Dtype::f32, .shape = {601, 1003}};
inline const checkpoint::Tensor kVector = {
    .name = "model/ln.weight", .dtype = Dtype::f32, .shape = {11}};
inline const checkpoint::Tensor kHalf = {
    .name = "model/h.0.weight", .dtype = Dtype::bf16, .shape = {5, 7}};

/// Element i of each of them is i / 4 and what is added, in bf16 rounded.
inline std::vector<std::byte> bytes_of_slice(const checkpoint::SlicePlan& slice, float added = 0) {
  const size_t element = bytes_of(slice.tensor.dtype);
  std::vector<std::byte> bytes(size_t(slice.numel) * element);
  for (int64_t i = 0; i < slice.numel; ++i) {
    const float value = float(slice.begin + i) / 4 + added;
    const uint16_t half = bf16_bits(value);
    const void* from = element == 2 ? static_cast<const void*>(&half) : &value;
    std::memcpy(bytes.data() + size_t(i) * element, from, element);
  }
  return bytes;
}

/// What rank 0 or 1 of two holds.
inline std::vector<checkpoint::SlicePlan> small_slices(int rank) {
  const int64_t cut = 301 * 1003 + 17;
  if (rank == 0) {
    return {{.tensor = kHalf, .begin = 0, .numel = 17},
            {.tensor = kMatrix, .begin = 0, .numel = cut},
            {.tensor = kVector, .begin = 0, .numel = 3}};
  }
  return {{.tensor = kHalf, .begin = 17, .numel = 18},
          {.tensor = kMatrix, .begin = cut, .numel = 601 * 1003 - cut},
          {.tensor = kVector, .begin = 3, .numel = 8}};
}

/// Writes one rank's file in pieces of an odd length.
inline checkpoint::ShardWriter::Written write_shard(int folder, const std::string& name,
                                                    const std::vector<checkpoint::SlicePlan>& all,
                                                    float added = 0) {
  const Arena staging(checkpoint::kStagingBytes);
  checkpoint::ShardWriter writer(folder, name, checkpoint::ShardStructure(all), staging, {});
  for (const checkpoint::SlicePlan& slice : all) {
    const std::vector<std::byte> bytes = bytes_of_slice(slice, added);
    for (size_t at = 0; at < bytes.size(); at += 70001) {
      writer.append(std::span(bytes).subspan(at, std::min<size_t>(70001, bytes.size() - at)));
    }
  }
  return writer.finish();
}

/// Writes all files but the manifest into an open folder.
inline checkpoint::Manifest write_small_files(int folder, int64_t step, float added = 0) {
  checkpoint::Manifest manifest;
  manifest.step = step;
  manifest.ranks = 2;
  manifest.facts = {{"seed", "42"},
                    {checkpoint::kHdf5Fact, checkpoint::hdf5_version()},
                    {"configuration", "[run]\nsteps = 3 # \"quoted\" \xc3\xa4\n"}};
  manifest.tensors = {kHalf, kMatrix, kVector};
  for (int rank = 0; rank < 2; ++rank) {
    const std::vector<checkpoint::SlicePlan> slices = small_slices(rank);
    const auto written = write_shard(folder, checkpoint::rank_file_name(rank), slices, added);
    for (size_t i = 0; i < slices.size(); ++i) {
      manifest.slices.push_back({.tensor = int32_t(i),
                                 .file = rank,
                                 .begin = slices[i].begin,
                                 .numel = slices[i].numel,
                                 .offset = written.offsets[i]});
    }
    manifest.files.push_back(written.file);
  }
  manifest.files.push_back(checkpoint::IndexStructure(manifest).write(folder, manifest));
  return manifest;
}

/// The whole protocol of one process.
inline void save_small(checkpoint::Store& store, int64_t step, float added = 0) {
  const std::string temporary = store.begin(step);
  const OpenFile folder(store.open_folder(temporary));
  store.write_manifest(temporary, write_small_files(folder.descriptor(), step, added));
  store.publish(temporary, step);
}

}  // namespace zero::testing_support
