#include "zero/train/model_export.hpp"

#include <unistd.h>

#include <filesystem>
#include <optional>
#include <vector>

#include "zero/io/files/input_file.hpp"
#include "zero/io/files/output_file.hpp"
#include "zero/kernels/optimizer.hpp"
#include "zero/train/model_folder.hpp"
#include "zero/train/state_reader.hpp"

namespace zero::train {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kTokenizerBytesMax = int64_t(256) << 20;

/// A folder that goes away with the object unless it has been given its name.
class NewFolder {
 public:
  explicit NewFolder(const std::string& path)
      : path_(path), temporary_(text(path, ".tmp-", getpid())) {
    std::error_code error;
    if (fs::exists(path)) refuse(Exit::kIo, path, ": is there already and is never overwritten");
    if (!fs::create_directory(temporary_, error)) {
      refuse(Exit::kIo, temporary_, ": ", error ? error.message() : "is there already");
    }
  }
  ~NewFolder() {
    std::error_code ignored;
    fs::remove_all(temporary_, ignored);
  }
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  std::string file(const std::string& name) const { return temporary_ + "/" + name; }
  void publish() { rename_new(temporary_, path_); }

 private:
  std::string path_, temporary_;
};

void write_new_file(const std::string& path, const std::string& content) {
  OutputFile file(path);
  file.write(content);
  file.publish();
}

void copy_tokenizer(const NewFolder& folder, const std::string& tokenizer) {
  if (tokenizer.empty() || tokenizer == "bytes") return;
  for (const char* name : {"vocab.json", "merges.txt", "tokenizer.json", "tokenizer_config.json"}) {
    const std::string path = tokenizer + "/" + name;
    if (fs::exists(path)) write_new_file(folder.file(name), read_whole(path, kTokenizerBytesMax));
  }
}

SafetensorsWriter::Content content_of(const graph::Graph& graph, Dtype compute) {
  // Without a format of its own the hub's reader takes no file.
  SafetensorsWriter::Content content{
      .dtype = compute, .tensors = stored_tensors(graph), .metadata = {{"format", "pt"}}};
  for (SafetensorsWriter::Tensor& tensor : content.tensors) {
    tensor.name = "transformer." + tensor.name;
  }
  return content;
}

/// The weight of a master, as the optimizer made it.
bf16 weight_of(float master, bf16) {
  int16_t rest;
  return kernels::split_master(master, rest);
}
f16 weight_of(float master, f16) { return f16(master); }

template <class T>
void write_weights(SafetensorsWriter& file, std::span<const float> master, std::vector<T>& room) {
  room.resize(master.size());
  for (size_t i = 0; i < master.size(); ++i) room[i] = weight_of(master[i], T());
  file.write(std::as_bytes(std::span(room)));
}

/// Turns joined masters into the file's weights, piece by piece.
class WeightFile {
 public:
  WeightFile(const std::string& path, const graph::Graph& graph, Dtype compute)
      : file_(path, content_of(graph, compute)), compute_(compute) {}

  void add(std::span<const float> master) {
    if (compute_ == Dtype::bf16) return write_weights(file_, master, bf16_);
    if (compute_ == Dtype::f16) return write_weights(file_, master, f16_);
    file_.write(std::as_bytes(master));
  }
  void publish() { file_.publish(); }

 private:
  SafetensorsWriter file_;
  Dtype compute_;
  std::vector<bf16> bf16_;
  std::vector<f16> f16_;
};

}  // namespace

ModelDescription describe_model(const RunConfig& config, const Build& build, const DataSets& data) {
  // A token file brings a vocabulary of its own, whose tokenizer only the user knows.
  const bool unknown = config.data.tokenizer == "bytes" && data.train_source->vocab_size() > 256;
  return {.model = build.model,
          .compute = build.plan.request.compute,
          .tokenizer = unknown ? "" : config.data.tokenizer,
          .sequence_length = config.data.sequence_length,
          .evaluation_micro = build.evaluation_micro ? build.evaluation_micro : build.batch.micro};
}

void export_model(const StateView& view, const Peers& peers, const std::string& folder,
                  const ModelDescription& description) {
  const graph::Graph& graph = view.plan->graphs[0];
  std::optional<NewFolder> made;
  std::optional<WeightFile> weights;
  if (view.rank == 0) {
    made.emplace(folder);
    write_new_file(made->file("config.json"), description_json(description));
    copy_tokenizer(*made, description.tokenizer);
    weights.emplace(made->file("model.safetensors"), graph, description.compute);
  }
  for (size_t p = 0; p < graph.parameters.size(); ++p) {
    join_state(view, peers, StateKind::master, int32_t(p),
               [&](std::span<const float> piece) { weights->add(piece); });
  }
  if (!weights) return;
  weights->publish();
  made->publish();
}

}  // namespace zero::train
