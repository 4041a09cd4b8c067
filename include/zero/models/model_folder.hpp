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

#include "zero/io/data/dataset.hpp"
#include "zero/io/interop/safetensors.hpp"
#include "zero/launch/peers.hpp"
#include "zero/models/stored_model.hpp"
#include "zero/state/build.hpp"
#include "zero/state/state_view.hpp"

namespace zero::models {

/// A graph that has the parameters of a model.
graph::Graph stored_graph(const model::Architecture& model);

/// Names and extents of a model's parameters in their order, without the rows that pad the
/// vocabulary: what a file stores.
std::vector<SafetensorsWriter::Tensor> stored_tensors(const graph::Graph& graph);

/// A parameter, and the tensors that hold it in a model folder.
struct StoredParameter {
  std::string name;
  std::vector<int64_t> shape;  ///< as stored_shape()
  model::StoredForm form;
};
/// In the model's order.
std::vector<StoredParameter> stored_parameters(const model::Architecture& model);

/// What stands before a parameter's name where a checkpoint has its weights: "model/transformer.".
std::string saved_weights_prefix(const model::Architecture& model);

/// Returns what a user is to do about files of a tokenizer that are not in the folder of an
/// exported model: "copy a/vocab.json, a/merges.txt to b". "" if none is missing.
std::string tokenizer_left_out(const std::string& tokenizer, const std::string& folder);

/// A trained model as Hugging Face stores it: config.json and model.safetensors, or the files that
/// model.safetensors.index.json names. Names and forms of tensors are as model::StoredNames has
/// them; a parameter that is not plain there is held whole, in fp32, while it is read. A shared
/// table may stand under any of its names; names that begin with a wrapper's are read without it,
/// with a warning.
class ModelFolder : public StoredModel {
 public:
  /// Reads the description and all headers. Throws Error(kInput) that lists the first five tensors
  /// that the description does not expect so, with what was expected and what was found.
  ModelFolder(const model::Catalogue& catalogue, const std::string& path);

  const std::string& path() const override { return path_; }
  const ModelDescription& description() const override { return description_; }
  /// Reads effective.toml beside a folder `model`, if both lie in the folder of a run.
  Settings settings() const override;
  Dtype dtype_of(std::string_view parameter) const override;
  void read(std::string_view parameter, int64_t first, std::span<float> out) const override;

 private:
  struct FoundTensor {
    const SafetensorsFile* file;
    const SafetensorsTensor* tensor;
  };
  using Found = std::vector<std::pair<std::string, FoundTensor>>;
  const StoredParameter& expected(std::string_view parameter) const;
  const FoundTensor& found_tensor(std::string_view stored) const;
  void read_whole_parameter(const StoredParameter& as) const;
  void expect();
  Found open_files();
  void take(const Found& found);
  void find_shared();
  void match();
  void match(const model::StoredCopy& stored) const;

  std::string path_;
  ModelDescription description_;
  std::vector<StoredParameter> expected_;
  std::set<std::string, std::less<>> known_;  ///< names that tensors may have, without prefix
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::map<std::string, FoundTensor, std::less<>> tensors_;  ///< by name without prefix
  std::map<std::string_view, size_t> by_parameter_;
  /// The last parameter that was not plain, as the model has it.
  mutable std::string whole_name_;
  mutable std::vector<float> whole_;
};

/// As Hugging Face's: larger models are cut into several files.
inline constexpr int64_t kModelFileBytesMax = 5'000'000'000;

/// Writes a new model folder, tensor by tensor: config.json, generation_config.json where there is
/// anything to say in it, and the files of the tokenizer. The tensors go to model.safetensors as
/// ModelFolder reads it, or to the files that model.safetensors.index.json names, or to model.h5,
/// which h5py reads. Tied weights and rows of padding are not in it. The folder appears when it is
/// whole.
class ModelWriter {
 public:
  enum class Format { safetensors, hdf5 };
  struct Options {
    std::string folder;
    ModelDescription description;  ///< `compute` is the type of the weights in the files
    Format format = Format::safetensors;
    /// The most of a file of weights; a larger tensor has one to itself. HDF5 is always one file.
    int64_t file_bytes = kModelFileBytesMax;
  };
  /// Throws Error(kIo) if something has the name already, or the disk is full.
  explicit ModelWriter(const Options& options);
  ~ModelWriter();
  ModelWriter(const ModelWriter&) = delete;
  ModelWriter& operator=(const ModelWriter&) = delete;

  /// The next fp32 masters: all parameters in the order of model::forward(), each from its first
  /// element on, in pieces of any length. They are rounded as training rounds them. Throws
  /// Error(kIo).
  void add(std::span<const float> masters);
  /// Everything has come. Throws Error(kIo).
  void publish();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// The description of what a run trains.
ModelDescription describe_model(const RunConfig& config, const state::Build& build,
                                const DataSets& data);

/// Writes the weights as training multiplied with them, bit for bit, to a new model folder as
/// ModelWriter makes it. Rank 0 writes, in pieces of 4 MiB. `description.compute` is the plan's.
/// Throws Error(kIo) on rank 0 alone, in the middle of communication, if something has the name
/// already, or the disk is full. Collective.
void export_model(const state::StateView& view, const launch::Peers& peers,
                  const std::string& folder, const ModelDescription& description);

/// Writes a model as the checkpoint of step 0 in a new folder of checkpoints, by the commit
/// protocol and in pieces of 4 MiB: weights alone, each parameter in the type that it is stored in.
/// `program` is what the checkpoint says it was built by. Throws Error(kIo) where something has the
/// name already; after any error nothing stays.
void import_model(const StoredModel& model, const std::string& root, const std::string& program);

}  // namespace zero::models
