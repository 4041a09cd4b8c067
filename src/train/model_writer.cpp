#include "zero/train/model_writer.hpp"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "src/train/format.hpp"
#include "zero/base/error.hpp"
#include "zero/base/path.hpp"
#include "zero/io/files/input_file.hpp"
#include "zero/io/files/new_folder.hpp"
#include "zero/io/files/output_file.hpp"
#include "zero/io/interop/hdf5.hpp"
#include "zero/kernels/optimizer.hpp"
#include "zero/train/model_folder.hpp"

namespace zero::train {
namespace {

namespace fs = std::filesystem;
using Tensor = SafetensorsWriter::Tensor;

constexpr int64_t kTokenizerBytesMax = int64_t(256) << 20;

void write_new_file(const std::string& path, const std::string& content) {
  OutputFile file(path);
  file.write(content);
  file.publish();
}

void copy_tokenizer(const NewFolder& folder, const std::string& tokenizer) {
  if (tokenizer.empty() || tokenizer == "bytes") return;
  for (const char* name : {"vocab.json", "merges.txt", "tokenizer.json", "tokenizer_config.json"}) {
    const std::string path = tokenizer + "/" + name;
    if (is_there(path)) write_new_file(folder.file(name), read_whole(path, kTokenizerBytesMax));
  }
}

/// The weight of a master, as the optimizer made it.
bf16 weight_of(float master, bf16) {
  int16_t rest;
  return kernels::split_master(master, rest);
}
f16 weight_of(float master, f16) { return f16(master); }

template <class T>
void write_weights(TensorWriter& file, std::span<const float> masters, std::vector<T>& room) {
  room.resize(masters.size());
  for (size_t i = 0; i < masters.size(); ++i) room[i] = weight_of(masters[i], T());
  file.write(std::as_bytes(std::span(room)));
}

int64_t numel_of(const Tensor& tensor) {
  int64_t numel = 1;
  for (const int64_t extent : tensor.shape) numel *= extent;
  return numel;
}

/// One file of weights.
struct Part {
  std::string name;
  std::vector<Tensor> tensors;
  int64_t numel = 0;
};

/// Neighbouring tensors file by file, as many as `most` elements allow and at least one.
std::vector<Part> parts_of(const std::vector<Tensor>& tensors, int64_t most) {
  std::vector<Part> parts;
  for (const Tensor& tensor : tensors) {
    const int64_t numel = numel_of(tensor);
    if (parts.empty() || parts.back().numel + numel > most) parts.emplace_back();
    parts.back().tensors.push_back(tensor);
    parts.back().numel += numel;
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    parts[i].name = format("model-%05zu-of-%05zu.safetensors", i + 1, parts.size());
  }
  if (parts.size() == 1) parts[0].name = "model.safetensors";
  return parts;
}

std::vector<Part> parts_of(const ModelWriter::Options& options) {
  std::vector<Tensor> tensors = stored_tensors(stored_graph(options.description.model));
  const std::string_view prefix = options.description.model.family->stored.prefix;
  for (Tensor& tensor : tensors) tensor.name = text(prefix, tensor.name);
  const bool whole = options.format == ModelWriter::Format::hdf5;
  const auto size = int64_t(bytes_of(options.description.compute));
  std::vector<Part> parts = parts_of(tensors, whole ? INT64_MAX : options.file_bytes / size);
  if (whole) parts[0].name = "model.h5";
  return parts;
}

std::string index_of(const std::vector<Part>& parts, Dtype dtype) {
  int64_t numel = 0;
  std::string map;
  for (const Part& part : parts) {
    numel += part.numel;
    for (const Tensor& tensor : part.tensors) {
      map += text(map.empty() ? "" : ",", "\n    \"", tensor.name, "\": \"", part.name, "\"");
    }
  }
  return text("{\n  \"metadata\": {\"total_size\": ", numel * int64_t(bytes_of(dtype)),
              "},\n  \"weight_map\": {", map, "\n  }\n}\n");
}

}  // namespace

struct ModelWriter::Parts {
  explicit Parts(const Options& from) : options(from), folder(from.folder), files(parts_of(from)) {
    write_new_file(folder.file("config.json"), description_json(options.description));
    copy_tokenizer(folder, options.description.tokenizer);
    if (files.size() > 1) {
      write_new_file(folder.file("model.safetensors.index.json"),
                     index_of(files, options.description.compute));
    }
  }

  /// The file that the next element goes to.
  void open_next() {
    // Without a format of its own the hub's reader takes no file.
    const SafetensorsWriter::Content content{.dtype = options.description.compute,
                                             .tensors = files[next].tensors,
                                             .metadata = {{"format", "pt"}}};
    const std::string path = folder.file(files[next].name);
    left = files[next].numel;
    ++next;
    if (options.format == Format::hdf5) {
      file = std::make_unique<Hdf5Writer>(path, content);
    } else {
      file = std::make_unique<SafetensorsWriter>(path, content);
    }
  }

  void write(std::span<const float> masters) {
    switch (options.description.compute) {
      case Dtype::bf16:
        return write_weights(*file, masters, bf16_room);
      case Dtype::f16:
        return write_weights(*file, masters, f16_room);
      default:
        return file->write(std::as_bytes(masters));
    }
  }

  const Options options;
  NewFolder folder;
  std::vector<Part> files;
  size_t next = 0;   ///< of files, to be opened
  int64_t left = 0;  ///< elements that the open file lacks
  std::unique_ptr<TensorWriter> file;
  std::vector<bf16> bf16_room;
  std::vector<f16> f16_room;
};

ModelWriter::ModelWriter(const Options& options) : parts_(std::make_unique<Parts>(options)) {}

ModelWriter::~ModelWriter() = default;

void ModelWriter::add(std::span<const float> masters) {
  Parts& parts = *parts_;
  while (!masters.empty()) {
    if (parts.left == 0) {
      ZERO_REQUIRE(parts.next < parts.files.size(), parts.options.folder, ": ", masters.size(),
                   " elements more than the model has");
      parts.open_next();
    }
    const size_t now = size_t(std::min(parts.left, int64_t(masters.size())));
    parts.write(masters.first(now));
    masters = masters.subspan(now);
    parts.left -= int64_t(now);
    if (parts.left == 0) parts.file->publish();
  }
}

void ModelWriter::publish() {
  ZERO_REQUIRE(parts_->left == 0 && parts_->next == parts_->files.size(), parts_->options.folder,
               ": elements of its model have not come");
  parts_->file.reset();
  parts_->folder.publish();
}

}  // namespace zero::train
