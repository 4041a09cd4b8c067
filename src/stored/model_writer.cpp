#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "zero/base/error.hpp"
#include "zero/base/path.hpp"
#include "zero/base/text.hpp"
#include "zero/io/files/input_file.hpp"
#include "zero/io/files/new_folder.hpp"
#include "zero/io/files/open_file.hpp"
#include "zero/io/files/output_file.hpp"
#include "zero/io/interop/hdf5.hpp"
#include "zero/io/text/tokenizer.hpp"
#include "zero/kernels/optimizer.hpp"
#include "zero/stored/model_folder.hpp"

namespace zero::stored {
namespace {

namespace fs = std::filesystem;
using Tensor = SafetensorsWriter::Tensor;

constexpr int64_t kTokenizerBytesMax = int64_t(256) << 20;

void write_new_file(const std::string& path, const std::string& content) {
  OutputFile file(path);
  file.write(content);
  file.publish();
}

/// True if the file lies in `folder`, with links resolved, or is a blob that a snapshot of the
/// hub's cache links to: <model>/snapshots/<commit> and <model>/blobs.
bool belongs_to(const fs::path& file, const fs::path& folder) {
  const fs::path snapshots = folder.parent_path(), place = file.parent_path();
  const bool is_cached = snapshots.filename() == "snapshots";
  return place == folder || (is_cached && place == snapshots.parent_path() / "blobs");
}

/// Copies the tokenizer's files. A link out of its folder could publish a file unintentionally, but
/// a file that the user named is copied.
void copy_tokenizer(const NewFolder& folder, const std::string& tokenizer) {
  for (const TokenizerFile& file : tokenizer_files(tokenizer)) {
    std::error_code unknown;
    const fs::path path = fs::canonical(file.path, unknown),
                   own = fs::canonical(tokenizer, unknown);
    if (unknown || (path != own && !belongs_to(path, own))) {
      warn(file.path, ": is a link that leads out of its folder, and is not copied to the model; ",
           "copy what it leads to there, if the model may have it");
      continue;
    }
    const InputFile source(
        OpenFile(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)), file.path);
    write_new_file(folder.file(file.name), read_whole(source, kTokenizerBytesMax));
  }
}

/// Returns the weight of a master, rounded as by the optimizer.
bf16 weight_of(float master, bf16) {
  int16_t low;
  return kernels::split_master(master, low);
}
f16 weight_of(float master, f16) { return f16(master); }

template <class T>
void write_weights(TensorWriter& file, std::span<const float> masters, std::vector<T>& room) {
  room.resize(masters.size());
  for (size_t i = 0; i < masters.size(); ++i) room[i] = weight_of(masters[i], T());
  file.write(std::as_bytes(std::span(room)));
}

int64_t numel_of(const std::vector<int64_t>& shape) {
  int64_t numel = 1;
  for (const int64_t extent : shape) numel *= extent;
  return numel;
}

/// A file of weights.
struct Part {
  std::string name;
  std::vector<Tensor> tensors;
  int64_t numel = 0;
};

/// Groups neighbouring tensors into files of at most `most` elements, or of one tensor.
std::vector<Part> parts_of(const std::vector<Tensor>& tensors, int64_t most) {
  std::vector<Part> parts;
  for (const Tensor& tensor : tensors) {
    const int64_t numel = numel_of(tensor.shape);
    if (parts.empty() || parts.back().numel + numel > most) parts.emplace_back();
    parts.back().tensors.push_back(tensor);
    parts.back().numel += numel;
  }
  return parts;
}

void name_parts(const std::string& stem, std::vector<Part>& parts) {
  for (size_t i = 0; i < parts.size(); ++i)
    parts[i].name = stem + format("-%05zu-of-%05zu.safetensors", i + 1, parts.size());
  if (parts.size() == 1) parts[0].name = stem + ".safetensors";
}

/// Returns the beginning of the names of files: adapters have those of Hugging Face's PEFT.
std::string stem_of(const ModelDescription& description) {
  return description.lender.empty() ? "model" : "adapter_model";
}

std::vector<Part> parts_of(const ModelWriter::Options& options,
                           const std::vector<StoredParameter>& parameters) {
  std::vector<Tensor> tensors;
  const model::StoredNames& stored = options.description.model.family->stored;
  for (const StoredParameter& parameter : parameters) {
    const std::vector<std::string>& names = parameter.form.names;
    for (size_t t = 0; t < names.size(); ++t) {
      tensors.push_back(
          {stored.written(names[t]), graph::stored_extents(parameter.form, parameter.shape, t)});
    }
  }
  const bool whole = options.format == ModelWriter::Format::hdf5;
  const auto size = int64_t(bytes_of(options.description.compute));
  std::vector<Part> parts = parts_of(tensors, whole ? INT64_MAX : options.file_bytes / size);
  name_parts(stem_of(options.description), parts);
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

std::string tokenizer_left_out(const std::string& tokenizer, const std::string& folder) {
  if (tokenizer.empty() || tokenizer == "bytes") return "";
  if (!is_there(tokenizer))
    return text("copy the files of ", tokenizer, ", which is gone, to ", folder);
  std::string missing;
  for (const TokenizerFile& file : tokenizer_files(tokenizer)) {
    if (!is_there(folder + "/" + file.name)) missing += (missing.empty() ? "" : ", ") + file.path;
  }
  return missing.empty() ? "" : text("copy ", missing, " to ", folder);
}

struct ModelWriter::Parts {
  explicit Parts(const Options& from)
      : options(from),
        folder(from.folder),
        parameters(stored_parameters(from.description.recipe())),
        files(parts_of(from, parameters)) {
    if (options.description.lender.empty()) {
      write_descriptions();
    } else {
      write_new_file(folder.file("adapter_config.json"), adapter_json(options.description));
    }
    copy_tokenizer(folder, options.description.tokenizer);
    if (files.size() > 1) {
      write_new_file(folder.file(stem_of(options.description) + ".safetensors.index.json"),
                     index_of(files, options.description.compute));
    }
  }

  void write_descriptions() const {
    write_new_file(folder.file("config.json"), description_json(options.description));
    const std::string generation = generation_json(options.description);
    if (!generation.empty()) write_new_file(folder.file("generation_config.json"), generation);
  }

  /// Opens the file of the next element.
  void open_next() {
    // The hub's reader refuses a file without a format.
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

  /// Appends elements of the tensors, in the files' order.
  void append(std::span<const float> masters) {
    while (!masters.empty()) {
      if (left == 0) open_next();
      const size_t now = size_t(std::min(left, int64_t(masters.size())));
      write(masters.first(now));
      masters = masters.subspan(now);
      left -= int64_t(now);
      if (left == 0) file->publish();
    }
  }

  /// Takes elements of the current parameter and returns their number. Collects a parameter whole
  /// if it is not plain.
  size_t take(std::span<const float> masters) {
    ZERO_REQUIRE(parameter < parameters.size(), options.folder, ": ", masters.size(),
                 " elements more than the model has");
    const StoredParameter& own = parameters[parameter];
    const int64_t numel = numel_of(own.shape);
    const size_t now = size_t(std::min(numel - taken, int64_t(masters.size())));
    taken += int64_t(now);
    if (own.form.is_plain()) {
      append(masters.first(now));
    } else {
      whole.insert(whole.end(), masters.begin(), masters.begin() + ptrdiff_t(now));
      if (taken == numel) append_tensors(own);
    }
    if (taken == numel) ++parameter, taken = 0;
    return now;
  }

  void append_tensors(const StoredParameter& own) {
    std::vector<float> tensors(whole.size());
    graph::to_stored(own.form, own.shape, whole, tensors);
    append(tensors);
    whole.clear();
  }

  const Options options;
  NewFolder folder;
  const std::vector<StoredParameter> parameters;
  size_t parameter = 0;      ///< index of the current one
  int64_t taken = 0;         ///< elements of it that have come
  std::vector<float> whole;  ///< elements of a parameter that is not plain
  std::vector<Part> files;
  size_t next = 0;   ///< index of the next file
  int64_t left = 0;  ///< elements missing in the open file
  std::unique_ptr<TensorWriter> file;
  std::vector<bf16> bf16_room;
  std::vector<f16> f16_room;
};

ModelWriter::ModelWriter(const Options& options) : parts_(std::make_unique<Parts>(options)) {}

ModelWriter::~ModelWriter() = default;

void ModelWriter::add(std::span<const float> masters) {
  while (!masters.empty()) masters = masters.subspan(parts_->take(masters));
}

void ModelWriter::publish() {
  ZERO_REQUIRE(parts_->parameter == parts_->parameters.size(), parts_->options.folder,
               ": elements of its model have not come");
  parts_->file.reset();
  parts_->folder.publish();
}

}  // namespace zero::stored
