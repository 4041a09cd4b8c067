#include <algorithm>

#include "io/checkpoint/block_writer.hpp"
#include "io/checkpoint/hdf5.hpp"
#include "io/checkpoint/structure_file.hpp"
#include "zero/base/error.hpp"
#include "zero/io/checkpoint/shard_file.hpp"

namespace zero::checkpoint {
namespace {

constexpr size_t kPieceBytes = size_t(64) << 10;

int64_t bytes_of_slice(const SlicePlan& slice) {
  return slice.numel * int64_t(bytes_of(slice.tensor.dtype));
}

/// Contiguous, there from the start, filled by nobody.
Hdf5Handle payload_layout(const Hdf5File& file) {
  Hdf5Handle layout = file.checked(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "dataset creation");
  file.require(H5Pset_layout(layout.id(), H5D_CONTIGUOUS), "contiguous layout");
  file.require(H5Pset_alloc_time(layout.id(), H5D_ALLOC_TIME_EARLY), "early allocation");
  file.require(H5Pset_fill_time(layout.id(), H5D_FILL_TIME_NEVER), "no fill");
  return layout;
}

int64_t make_slice(const Hdf5File& file, const SlicePlan& slice, const Hdf5Handle& layout) {
  ZERO_REQUIRE(slice.numel > 0 && slice.begin >= 0, slice.tensor.name, ": a slice [", slice.begin,
               ", +", slice.numel, ")");
  const std::string path = dataset_name(slice.tensor.name, slice.begin);
  const Hdf5Handle dataset = file.make_dataset(
      path, {.dtype = slice.tensor.dtype, .shape = {&slice.numel, 1}, .creation = layout.id()});
  file.set_attribute(dataset, "begin", {&slice.begin, 1});
  file.set_attribute(dataset, "shape", slice.tensor.shape);
  const haddr_t offset = H5Dget_offset(dataset.id());
  file.require(offset == HADDR_UNDEF ? -1 : 0, "offset of " + path);
  return int64_t(offset);
}

std::vector<int64_t> write_structure(const StructureFile& file, std::span<const SlicePlan> slices) {
  Hdf5File hdf5(file.descriptor(), file.path());
  std::vector<int64_t> offsets;
  {
    const Hdf5Handle layout = payload_layout(hdf5);
    for (const SlicePlan& slice : slices) offsets.push_back(make_slice(hdf5, slice, layout));
  }
  hdf5.close();
  return offsets;
}

}  // namespace

std::string dataset_name(const std::string& tensor, int64_t begin) {
  return begin == 0 ? tensor : text(tensor, "@", begin);
}

/// The file is written once from front to back: before each payload comes the structure as HDF5
/// left it.
struct ShardWriter::Parts {
  Parts(int folder, const std::string& file_name, std::span<const SlicePlan> slices)
      : name(file_name),
        file(folder, file_name),
        offsets(write_structure(file, slices)),
        file_bytes(file.bytes()),
        writer(file.descriptor(), file.path()) {
    for (const SlicePlan& slice : slices) bytes.push_back(bytes_of_slice(slice));
    for (size_t i = 0; i < bytes.size(); ++i) {
      const int64_t next = i + 1 < bytes.size() ? offsets[i + 1] : file_bytes;
      ZERO_REQUIRE(offsets[i] + bytes[i] <= next, name, ": HDF5 laid slice ", i,
                   " not before the next one");
    }
  }

  void copy_structure(int64_t end) {
    std::vector<std::byte> piece(kPieceBytes);
    while (writer.bytes() < end) {
      const size_t now = size_t(std::min(int64_t(kPieceBytes), end - writer.bytes()));
      file.read(writer.bytes(), std::span(piece).first(now));
      writer.append(std::span(piece).first(now));
    }
  }

  /// Bytes that the slice to be appended to still lacks; 0 after the last one.
  int64_t left() const {
    return current == bytes.size() ? 0 : offsets[current] + bytes[current] - writer.bytes();
  }

  std::string name;
  StructureFile file;
  std::vector<int64_t> offsets, bytes = {};
  int64_t file_bytes;
  BlockWriter writer;
  size_t current = 0;
};

ShardWriter::ShardWriter(int folder, const std::string& name, std::span<const SlicePlan> slices)
    : parts_(std::make_unique<Parts>(folder, name, slices)) {
  parts_->copy_structure(slices.empty() ? 0 : parts_->offsets[0]);
}

ShardWriter::~ShardWriter() = default;

void ShardWriter::append(std::span<const std::byte> bytes) {
  Parts& parts = *parts_;
  while (!bytes.empty()) {
    const size_t now = size_t(std::min(parts.left(), int64_t(bytes.size())));
    ZERO_REQUIRE(now > 0, parts.name, ": ", bytes.size(), " bytes beyond the last slice");
    parts.writer.append(bytes.first(now));
    bytes = bytes.subspan(now);
    if (parts.left() > 0) continue;
    ++parts.current;
    if (parts.current < parts.bytes.size()) parts.copy_structure(parts.offsets[parts.current]);
  }
}

ShardWriter::Written ShardWriter::finish() {
  Parts& parts = *parts_;
  ZERO_REQUIRE(parts.current == parts.bytes.size(), parts.name, ": slice ", parts.current, " of ",
               parts.bytes.size(), " lacks ", parts.left(), " bytes");
  parts.copy_structure(parts.file_bytes);
  parts.writer.finish();
  parts.file.sync();
  return {.file = parts.writer.digests(parts.name), .offsets = parts.offsets};
}

}  // namespace zero::checkpoint
