#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "io/checkpoint/hdf5.hpp"
#include "io/checkpoint/shard_writer.hpp"
#include "zero/base/error.hpp"
#include "zero/io/interop/hdf5.hpp"

namespace zero {
namespace {

namespace fs = std::filesystem;
using checkpoint::FileStructure;
using checkpoint::Hdf5File;

OpenFile folder_of(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  const std::string name = parent.empty() ? "." : parent.string();
  OpenFile folder(open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) refuse(Exit::kIo, name, ": ", std::strerror(errno));
  return folder;
}

using Content = SafetensorsWriter::Content;

std::shared_ptr<const FileStructure> structure_of(const std::string& path, const Content& content) {
  Hdf5File file(path);
  for (const SafetensorsWriter::Tensor& tensor : content.tensors) {
    file.make_payload(tensor.name, content.dtype, tensor.shape);
  }
  for (const auto& [name, value] : content.metadata) file.set_attribute(file.root(), name, value);
  return std::make_shared<const FileStructure>(file.finish());
}

}  // namespace

struct Hdf5Writer::Parts {
  Parts(const std::string& path, const Content& content)
      : stream({.folder = folder_of(path).descriptor(),
                .name = fs::path(path).filename().string(),
                .mode = 0644},
               structure_of(path, content), {staging.data(), size_t(staging.bytes())}, {}) {}

  Arena staging{checkpoint::kStagingBytes};
  checkpoint::ShardStream stream;
};

Hdf5Writer::Hdf5Writer(const std::string& path, const Content& content)
    : parts_(std::make_unique<Parts>(path, content)) {}

Hdf5Writer::~Hdf5Writer() = default;

void Hdf5Writer::write(std::span<const std::byte> bytes) { parts_->stream.append(bytes); }

void Hdf5Writer::publish() { parts_->stream.finish(); }

}  // namespace zero
