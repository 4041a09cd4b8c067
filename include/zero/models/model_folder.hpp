#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zero/io/interop/safetensors.hpp"
#include "zero/models/stored_model.hpp"

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

/// A trained model as Hugging Face stores it: config.json and model.safetensors, or the files that
/// model.safetensors.index.json names. Names and forms of tensors are as model::StoredNames has
/// them; a parameter that is not plain there is held whole, in fp32, while it is read.
class ModelFolder : public StoredModel {
 public:
  /// Reads the description and all headers. Throws Error(kInput) that lists the first five tensors
  /// that the description does not expect so, with what was expected and what was found.
  ModelFolder(const model::Catalogue& catalogue, const std::string& path);

  const std::string& path() const override { return path_; }
  const ModelDescription& description() const override { return description_; }
  /// effective.toml beside a folder `model/`, where a run has left both.
  Settings settings() const override;
  Dtype dtype_of(std::string_view parameter) const override;
  void read(std::string_view parameter, int64_t first, std::span<float> out) const override;

 private:
  struct Place {
    const SafetensorsFile* file;
    const SafetensorsTensor* tensor;
  };
  const StoredParameter& expected(std::string_view parameter) const;
  const Place& place_of(std::string_view stored) const;
  void read_whole_parameter(const StoredParameter& as) const;
  void open_files();
  void add(const std::string& name, const Place& place);
  void match();
  void match(const model::StoredCopy& stored) const;

  std::string path_;
  ModelDescription description_;
  std::vector<StoredParameter> expected_;
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::map<std::string, Place, std::less<>> places_;  ///< by name without prefix
  std::map<std::string_view, size_t> by_parameter_;
  /// The last parameter that was not plain, as the model has it.
  mutable std::string whole_name_;
  mutable std::vector<float> whole_;
};

}  // namespace zero::models
