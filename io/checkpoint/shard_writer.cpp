#include "io/checkpoint/hdf5.hpp"
#include "io/checkpoint/payload_writer.hpp"
#include "zero/base/error.hpp"
#include "zero/io/checkpoint/shard_file.hpp"

namespace zero::checkpoint {
namespace {

FileStructure structure_of(std::span<const SlicePlan> slices) {
  Hdf5File file("the structure of a rank's file");
  for (const SlicePlan& slice : slices) {
    ZERO_REQUIRE(slice.numel > 0 && slice.begin >= 0, slice.tensor.name, ": a slice [", slice.begin,
                 ", +", slice.numel, ")");
    const Hdf5Handle dataset = file.make_payload(dataset_name(slice.tensor.name, slice.begin),
                                                 slice.tensor.dtype, {&slice.numel, 1});
    file.set_attribute(dataset, "begin", {&slice.begin, 1});
    file.set_attribute(dataset, "shape", slice.tensor.shape);
  }
  return file.finish();
}

}  // namespace

ShardStructure::ShardStructure(std::span<const SlicePlan> slices)
    : structure_(std::make_shared<const FileStructure>(structure_of(slices))) {}

struct ShardWriter::Parts {
  Parts(int folder, const std::string& file_name, std::shared_ptr<const FileStructure> shared,
        std::span<std::byte> staging, const DigestForm& digests)
      : name(file_name),
        structure(std::move(shared)),
        file(folder, file_name),
        payload(file, structure, staging, digests) {}

  std::string name;
  std::shared_ptr<const FileStructure> structure;
  PayloadFile file;
  PayloadWriter payload;
};

ShardWriter::ShardWriter(int folder, const std::string& name, const ShardStructure& structure,
                         const Arena& staging, const DigestForm& digests)
    : parts_(std::make_unique<Parts>(folder, name, structure.structure_,
                                     std::span(staging.data(), size_t(staging.bytes())), digests)) {
}

ShardWriter::~ShardWriter() = default;

void ShardWriter::append(std::span<const std::byte> bytes) { parts_->payload.append(bytes); }

void ShardWriter::append_resting(std::span<const std::byte> bytes) {
  parts_->payload.append_resting(bytes);
}

ShardWriter::Written ShardWriter::finish() {
  Written written{.file = parts_->payload.finish(parts_->name),
                  .offsets = {},
                  .refuses_direct = parts_->file.refuses_direct()};
  for (const FileStructure::Extent& extent : parts_->structure->extents()) {
    written.offsets.push_back(extent.offset);
  }
  return written;
}

}  // namespace zero::checkpoint
