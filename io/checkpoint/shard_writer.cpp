#include "io/checkpoint/hdf5.hpp"
#include "io/checkpoint/shard_stream.hpp"
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

ShardWriter::ShardWriter(int folder, const std::string& name, const ShardStructure& structure,
                         const Arena& staging, const DigestForm& digests)
    : stream_(std::make_unique<ShardStream>(
          ShardStream::Target{.folder = folder, .name = name}, structure.structure_,
          std::span(staging.data(), size_t(staging.bytes())), digests)) {}

ShardWriter::~ShardWriter() = default;

void ShardWriter::append(std::span<const std::byte> bytes) { stream_->append(bytes); }

void ShardWriter::append_resting(std::span<const std::byte> bytes) { stream_->append(bytes, true); }

ShardWriter::Written ShardWriter::finish() { return stream_->finish(); }

}  // namespace zero::checkpoint
