#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "zero/io/data/data_kind.hpp"
#include "zero/io/interop/safetensors.hpp"
#include "zero/io/interop/tensor_file.hpp"
#include "zero/launch/peers.hpp"
#include "zero/setup/build.hpp"
#include "zero/state/state_view.hpp"
#include "zero/stored/stored_model.hpp"

namespace zero::stored {

/// Returns a graph with the parameters of a recipe's model that files hold.
graph::Graph stored_graph(const model::Recipe& recipe);

/// Returns names and extents of the parameters of stored_graph() as files store them, in order and
/// without the rows that pad the vocabulary.
std::vector<SafetensorsWriter::Tensor> stored_tensors(const graph::Graph& graph);

/// A parameter and its tensors in a model folder.
struct StoredParameter {
  std::string name;
  std::vector<int64_t> shape;  ///< as stored_shape()
  graph::StoredForm form;
};
/// Returns all parameters of a recipe in the model's order, except borrowed ones.
std::vector<StoredParameter> stored_parameters(const model::Recipe& recipe);

/// Returns the prefix of weights' names in checkpoints: "model/transformer.".
std::string saved_weights_prefix(const model::Architecture& model);

/// Returns advice on files of the folder `tokenizer` that an exported model's `folder` lacks: "copy
/// a/vocab.json, a/merges.txt to b". Returns "" if none is missing.
std::string tokenizer_left_out(const std::string& tokenizer, const std::string& folder);

/// A trained model in Hugging Face's format: config.json, and model.safetensors or, without that,
/// pytorch_model.bin, each also as the files in its index. Names and forms of tensors are those of
/// model::StoredNames. A parameter that is not plain, or has strides, is held whole, in fp32, while
/// it is read. A shared table may have any of its names. A wrapper's prefix of names is ignored,
/// with a warning.
class ModelFolder : public StoredModel {
 public:
  /// Reads the description, of a model of the catalogue, and all headers in the folder `path`.
  /// Throws Error(kInput) with the first five tensors that do not match the description, as
  /// expected and as found. Tensors that `training` draws anew may be missing or have other
  /// extents. Heads of other tasks are passed over.
  ModelFolder(const model::Catalogue& catalogue, const std::string& path,
              const RunConfig* training = nullptr);

  const std::string& path() const override { return path_; }
  const std::string& weights() const override { return weights_; }
  const ModelDescription& description() const override { return description_; }
  /// Returns effective.toml beside a folder `model`, if both lie in a run's folder.
  Settings settings() const override;
  Dtype dtype_of(std::string_view parameter) const override;
  void read(std::string_view parameter, int64_t first, std::span<float> out) const override;
  bool holds(std::string_view parameter) const override {
    return by_parameter_.contains(parameter);
  }

 private:
  struct FoundTensor {
    const TensorFile* file;
    const FileTensor* tensor;
  };
  using Found = std::vector<std::pair<std::string, FoundTensor>>;
  const StoredParameter& expected(std::string_view parameter) const;
  const FoundTensor& found_tensor(std::string_view stored) const;
  void read_whole_parameter(const StoredParameter& as) const;
  void expect(const RunConfig* training);
  Found open_files();
  Found open_indexed(TensorFile (*open)(const std::string& path));
  void take(const Found& found);
  void find_shared();
  std::vector<std::string> faults_of(const StoredParameter& as) const;
  bool is_of_other_type(const StoredParameter& as) const;
  void match(bool may_draw) const;
  void match(const model::StoredCopy& stored) const;
  void match_copies();

  std::string path_, weights_;
  ModelDescription description_;
  std::string_view said_ = "its config.json says";  ///< source of the expected extents
  std::vector<StoredParameter> expected_;
  std::set<std::string, std::less<>> known_;  ///< names that tensors may have, without prefix
  std::vector<std::unique_ptr<TensorFile>> files_;
  std::map<std::string, FoundTensor, std::less<>> tensors_;  ///< by name without prefix
  std::map<std::string_view, size_t> by_parameter_;
  /// The last parameter read that is not plain, in the model's form.
  mutable std::string whole_name_;
  mutable std::vector<float> whole_;
};

/// Maximum bytes of a file of weights, as Hugging Face's. Larger models have several files.
inline constexpr int64_t kModelFileBytesMax = 5'000'000'000;

/// A writer of a new model folder, tensor by tensor: config.json, generation_config.json unless it
/// is empty, and the tokenizer's files. If weights are borrowed, the folder holds the others alone,
/// as adapter_config.json, with the folder that lends, and adapter_model.safetensors. Tensors go to
/// model.safetensors or the files in model.safetensors.index.json, for ModelFolder, or to model.h5
/// for h5py. Tied weights and padding rows are left out. The folder appears when it is whole.
class ModelWriter {
 public:
  enum class Format { safetensors, hdf5 };
  struct Options {
    std::string folder;
    ModelDescription description;  ///< `compute` is the type of the weights in the files
    Format format = Format::safetensors;
    /// Maximum bytes of a file of weights. A larger tensor has a file of its own. HDF5 is one file.
    int64_t file_bytes = kModelFileBytesMax;
  };
  /// Begins the folder of `options`. Throws Error(kIo) if it exists or the disk is full.
  explicit ModelWriter(const Options& options);
  ~ModelWriter();
  ModelWriter(const ModelWriter&) = delete;
  ModelWriter& operator=(const ModelWriter&) = delete;

  /// Appends fp32 masters, in pieces of any length: all parameters that are not borrowed in the
  /// order of model::graph_of(), each from its first element on. Rounds them as training does.
  /// Throws Error(kIo).
  void add(std::span<const float> masters);
  /// Completes the folder after all masters. Throws Error(kIo).
  void publish();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// Returns the description of the model that a run of `config`, compiled to `build`, trains on
/// `data`.
ModelDescription describe_model(const RunConfig& config, const setup::Build& build,
                                const DataSets& data);

/// Writes the weights of the views of all ranks to the new model folder `folder`, as ModelWriter.
/// They are those that training multiplied with, bit for bit. Rank 0 writes, in pieces of 4 MiB.
/// `description.compute` is the plan's. Throws Error(kIo) on rank 0 alone, in the middle of
/// communication, if the folder exists or the disk is full. Collective.
void export_model(const state::StateView& view, const launch::Peers& peers,
                  const std::string& folder, const ModelDescription& description);

/// Writes a model as the checkpoint of step 0 to a new folder of checkpoints, `root`. It goes by
/// the commit protocol and in pieces of 4 MiB. The checkpoint holds weights alone, each in its
/// stored type, and `program` as the program's version. Throws Error(kIo) if the folder exists.
/// Leaves nothing after any error.
void import_model(const StoredModel& model, const std::string& root, const std::string& program);

}  // namespace zero::stored
