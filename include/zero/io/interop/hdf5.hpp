#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "zero/io/interop/safetensors.hpp"

namespace zero {

/// A writer of a plain HDF5 file in bounded memory. Each tensor is a dataset in the root, under its
/// name. The metadata are attributes of the root. bf16 is a custom float that h5py reads as
/// float32.
class Hdf5Writer : public TensorWriter {
 public:
  /// Creates the file `path`, with the tensors and metadata of `content`. Throws Error(kIo), also
  /// if the path exists.
  Hdf5Writer(const std::string& path, const SafetensorsWriter::Content& content);
  ~Hdf5Writer() override;

  void write(std::span<const std::byte> bytes) override;
  /// Syncs the file. REQUIRES: all bytes were written.
  void publish() override;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace zero
