#include "zero/io/interop/torch_file.hpp"

#include <algorithm>
#include <map>

#include "io/interop/torch_pickle.hpp"
#include "io/interop/zip_entries.hpp"
#include "zero/base/error.hpp"
#include "zero/io/files/file_kind.hpp"
#include "zero/io/interop/json.hpp"

namespace zero {
namespace {

/// Throws Error(kInput) for a file that is no zip archive, with the way to a readable one.
void require_zip(const InputFile& file) {
  const std::string first = first_bytes(file);
  if (first.starts_with("PK")) return;
  if (first.starts_with("\x80\x02")) {
    refuse(Exit::kInput, file.path(), ": is of PyTorch before 1.6, which is not read; write it ",
           "anew: python3 -c \"import torch; torch.save(torch.load('", file.path(),
           "', map_location='cpu', weights_only=True), 'NEW.bin')\"");
  }
  const std::string kind = file_kind(first, file.path());
  refuse(Exit::kInput, file.path(), kind.empty() ? ": is no file of torch.save" : ": it " + kind,
         kind.empty() ? "; the file is cut off or damaged, so fetch it again" : "");
}

FileBlock block_of(const ZipEntry& entry) {
  return {.name = entry.name, .begin = entry.begin, .end = entry.end, .crc = entry.crc};
}

/// The entries of a file of torch.save, by their names in its folder.
class Archive {
 public:
  explicit Archive(const InputFile& file) : file_(file), entries_(zip_entries(file)) {
    // The first entry names the folder, as for PyTorch.
    const std::string first = entries_.empty() ? "" : entries_[0].name;
    const std::string folder = first.substr(0, first.find('/') + 1);
    for (const ZipEntry& entry : entries_) {
      const std::string_view name = entry.name;
      if (name.starts_with(folder)) by_name_[name.substr(folder.size())] = &entry;
    }
  }

  /// Returns nullptr if the folder has no such entry.
  const ZipEntry* find(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second;
  }
  std::string content(const ZipEntry& entry, int64_t limit) const {
    const int64_t bytes = entry.end - entry.begin;
    if (bytes > limit) {
      refuse(Exit::kInput, file_.path(), ": \"", shown(entry.name), "\": has ", bytes,
             " bytes, at most ", limit, " are read");
    }
    if (entry.crc != 0) require_crc(file_, block_of(entry));
    std::string out(size_t(bytes), '\0');
    file_.read(entry.begin, std::as_writable_bytes(std::span(out)));
    return out;
  }

  /// Returns the entries whose CRC is stated.
  std::vector<FileBlock> blocks() const {
    std::vector<FileBlock> all;
    for (const ZipEntry& entry : entries_)
      if (entry.crc != 0) all.push_back(block_of(entry));
    return all;
  }

 private:
  const InputFile& file_;
  std::vector<ZipEntry> entries_;
  std::map<std::string_view, const ZipEntry*> by_name_;
};

/// Throws Error(kInput) if the file says that its numbers are not little-endian.
void require_little_endian(const InputFile& file, const Archive& archive) {
  constexpr int64_t kWordBytesMax = 16;
  const ZipEntry* entry = archive.find("byteorder");
  if (!entry || archive.content(*entry, kWordBytesMax) == "little") return;
  refuse(Exit::kInput, file.path(), ": its byteorder is not \"little\"; write the file anew with ",
         "torch.save on a little-endian machine");
}

/// Returns the elements from a tensor's first to its last in memory; none if two share a place, or
/// beyond an int64. REQUIRES: no extent is below 1.
std::optional<int64_t> reach_of(const PickledTensor& tensor) {
  std::vector<std::pair<int64_t, int64_t>> axes;  // stride, extent
  for (size_t i = 0; i < tensor.shape.size(); ++i)
    if (tensor.shape[i] > 1) axes.emplace_back(tensor.strides[i], tensor.shape[i]);
  std::ranges::sort(axes);
  int64_t reach = 1;
  for (const auto& [stride, extent] : axes) {
    int64_t more = 0;
    if (stride < reach || __builtin_mul_overflow(stride, extent - 1, &more) ||
        __builtin_add_overflow(reach, more, &reach)) {
      return {};
    }
  }
  return reach;
}

bool is_row_major(const PickledTensor& tensor) {
  int64_t below = 1;
  for (size_t i = tensor.shape.size(); i-- > 0; below *= tensor.shape[i])
    if (tensor.shape[i] > 1 && tensor.strides[i] != below) return false;
  return true;
}

/// Returns the tensor at its place in the file. Throws Error(kInput) if it leaves its storage.
FileTensor placed(PickledTensor tensor, const InputFile& file, const Archive& archive) {
  const auto fail = [&](const auto&... what) {
    refuse(Exit::kInput, file.path(), ": \"", shown(tensor.name), "\": ", what...);
  };
  const ZipEntry* storage = archive.find("data/" + tensor.storage);
  if (!storage) fail("its storage data/", shown(tensor.storage), " is missing");
  const FileDtype& dtype = *file_dtype(tensor.dtype);
  const int64_t bytes = storage->end - storage->begin, numel = bytes / dtype.bytes;
  if (bytes % dtype.bytes != 0 || tensor.storage_numel != numel) {
    fail("a storage of ", tensor.storage_numel, " elements of ", dtype.name, " has ", bytes,
         " bytes; the file is damaged, so fetch it again");
  }
  const auto negative = [](int64_t extent) { return extent < 0; };
  if (std::ranges::any_of(tensor.shape, negative) || tensor.offset < 0)
    fail("shape ", shape_text(tensor.shape), " from element ", tensor.offset, " on");
  const bool is_empty = std::ranges::find(tensor.shape, 0) != tensor.shape.end();
  const std::optional<int64_t> reach = is_empty ? 0 : reach_of(tensor);
  if (!reach) {
    fail("strides ", shape_text(tensor.strides), " of shape ", shape_text(tensor.shape),
         " put several elements at one place; save its .contiguous()");
  }
  if (tensor.offset > numel || *reach > numel - tensor.offset) {
    fail("shape ", shape_text(tensor.shape), " with strides ", shape_text(tensor.strides),
         " from element ", tensor.offset, " on leaves a storage of ", numel, " elements");
  }
  const bool plain = is_empty || is_row_major(tensor);
  const int64_t begin = storage->begin + tensor.offset * dtype.bytes;
  return {.name = std::move(tensor.name),
          .dtype = std::string(dtype.name),
          .usable = dtype.usable,
          .shape = std::move(tensor.shape),
          .begin = begin,
          .end = begin + *reach * dtype.bytes,
          .strides = plain ? std::vector<int64_t>{} : std::move(tensor.strides)};
}

}  // namespace

TensorFile open_torch_file(const std::string& path) {
  InputFile file(path);
  require_zip(file);
  std::vector<FileTensor> tensors;
  std::vector<FileBlock> blocks;
  {
    const Archive archive(file);
    require_little_endian(file, archive);
    const ZipEntry* entry = archive.find("data.pkl");
    if (!entry) {
      refuse(Exit::kInput, path, ": has no data.pkl, as the files of torch.save; write it so: ",
             "torch.save(model.state_dict(), 'NEW.bin')");
    }
    const std::string pickle = archive.content(*entry, kTorchPickleBytesMax);
    for (PickledTensor& tensor : read_torch_pickle(pickle, path + ": data.pkl"))
      tensors.push_back(placed(std::move(tensor), file, archive));
    blocks = archive.blocks();
  }
  return {std::move(file), std::move(tensors), {}, std::move(blocks)};
}

}  // namespace zero
