#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "zero/models/model_description.hpp"

namespace zero::models {

/// As Hugging Face's: larger models are cut into several files.
inline constexpr int64_t kModelFileBytesMax = 5'000'000'000;

/// Writes a new model folder, tensor by tensor: config.json, the files of the tokenizer, and
/// model.safetensors as ModelFolder reads it - or the files behind model.safetensors.index.json -
/// or model.h5, which h5py reads. Tied weights and rows of padding are not in it. The folder
/// appears when it is whole.
class ModelWriter {
 public:
  enum class Format { safetensors, hdf5 };
  struct Options {
    std::string folder;
    ModelDescription description;  ///< `compute` is the type of the weights in the files
    Format format = Format::safetensors;
    /// Of a file of weights; a tensor that is larger has one to itself. HDF5 is always one file.
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

}  // namespace zero::models
