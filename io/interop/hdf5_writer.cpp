#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "io/checkpoint/hdf5.hpp"
#include "io/checkpoint/payload_writer.hpp"
#include "io/checkpoint/structure_memory.hpp"
#include "zero/base/error.hpp"
#include "zero/io/interop/hdf5.hpp"

namespace zero {
namespace {

namespace fs = std::filesystem;
using checkpoint::FileStructure;
using checkpoint::Hdf5File;
using checkpoint::Hdf5Handle;
using checkpoint::PayloadFile;
using checkpoint::PayloadWriter;
using checkpoint::StructureMemory;

OpenFile folder_of(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  const std::string name = parent.empty() ? "." : parent.string();
  OpenFile folder(open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) refuse(Exit::kIo, name, ": ", std::strerror(errno));
  return folder;
}

using Content = SafetensorsWriter::Content;

FileStructure::Extent make_tensor(const Hdf5File& file, const SafetensorsWriter::Tensor& tensor,
                                  Dtype dtype, const Hdf5Handle& layout) {
  const Hdf5Handle dataset = file.make_dataset(
      tensor.name, {.dtype = dtype, .shape = tensor.shape, .creation = layout.id()});
  int64_t bytes = int64_t(bytes_of(dtype));
  for (const int64_t extent : tensor.shape) bytes *= extent;
  return {.offset = payload_offset(file, dataset, tensor.name), .bytes = bytes};
}

std::shared_ptr<const FileStructure> structure_of(const std::string& path, const Content& content) {
  const StructureMemory memory(path);
  Hdf5File hdf5(memory.descriptor(), memory.name());
  std::vector<FileStructure::Extent> extents;
  {
    const Hdf5Handle layout = payload_layout(hdf5);
    for (const SafetensorsWriter::Tensor& tensor : content.tensors) {
      extents.push_back(make_tensor(hdf5, tensor, content.dtype, layout));
    }
    const Hdf5Handle root = hdf5.root();
    for (const auto& [name, value] : content.metadata) hdf5.set_attribute(root, name, value);
  }
  hdf5.close();
  return std::make_shared<const FileStructure>(memory, std::move(extents));
}

}  // namespace

struct Hdf5Writer::Parts {
  Parts(const std::string& path, const Content& content)
      : file(folder_of(path).descriptor(), fs::path(path).filename().string(), 0644),
        staging(checkpoint::kStagingBytes),
        payload(file, structure_of(path, content), {staging.data(), size_t(staging.bytes())}, {}) {}

  PayloadFile file;
  Arena staging;
  PayloadWriter payload;
};

Hdf5Writer::Hdf5Writer(const std::string& path, const Content& content)
    : parts_(std::make_unique<Parts>(path, content)) {}

Hdf5Writer::~Hdf5Writer() = default;

void Hdf5Writer::write(std::span<const std::byte> bytes) { parts_->payload.append(bytes); }

void Hdf5Writer::publish() { parts_->payload.finish(parts_->file.path()); }

}  // namespace zero
