#include "io/checkpoint/hdf5.hpp"
#include "io/checkpoint/payload_writer.hpp"
#include "io/checkpoint/structure_file.hpp"
#include "zero/base/error.hpp"
#include "zero/io/checkpoint/shard_file.hpp"

namespace zero::checkpoint {
namespace {

using Extent = PayloadWriter::Extent;

Extent make_slice(const Hdf5File& file, const SlicePlan& slice, const Hdf5Handle& layout) {
  ZERO_REQUIRE(slice.numel > 0 && slice.begin >= 0, slice.tensor.name, ": a slice [", slice.begin,
               ", +", slice.numel, ")");
  const std::string path = dataset_name(slice.tensor.name, slice.begin);
  const Hdf5Handle dataset = file.make_dataset(
      path, {.dtype = slice.tensor.dtype, .shape = {&slice.numel, 1}, .creation = layout.id()});
  file.set_attribute(dataset, "begin", {&slice.begin, 1});
  file.set_attribute(dataset, "shape", slice.tensor.shape);
  return {.offset = payload_offset(file, dataset, path),
          .bytes = slice.numel * int64_t(bytes_of(slice.tensor.dtype))};
}

std::vector<Extent> write_structure(const StructureFile& file, std::span<const SlicePlan> slices) {
  Hdf5File hdf5(file.descriptor(), file.path());
  std::vector<Extent> extents;
  {
    const Hdf5Handle layout = payload_layout(hdf5);
    for (const SlicePlan& slice : slices) extents.push_back(make_slice(hdf5, slice, layout));
  }
  hdf5.close();
  return extents;
}

}  // namespace

struct ShardWriter::Parts {
  Parts(int folder, const std::string& file_name, std::span<const SlicePlan> slices)
      : name(file_name),
        file(folder, file_name),
        extents(write_structure(file, slices)),
        payload(file, extents) {}

  std::string name;
  PayloadFile file;
  std::vector<Extent> extents;
  PayloadWriter payload;
};

ShardWriter::ShardWriter(int folder, const std::string& name, std::span<const SlicePlan> slices)
    : parts_(std::make_unique<Parts>(folder, name, slices)) {}

ShardWriter::~ShardWriter() = default;

void ShardWriter::append(std::span<const std::byte> bytes) { parts_->payload.append(bytes); }

ShardWriter::Written ShardWriter::finish() {
  Written written{.file = parts_->payload.finish(parts_->name), .offsets = {}};
  for (const Extent& extent : parts_->extents) written.offsets.push_back(extent.offset);
  return written;
}

}  // namespace zero::checkpoint
