#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "zero/io/interop/safetensors.hpp"

namespace zero {

/// Writes a plain HDF5 file in bounded memory: a dataset in the root for each tensor, under its
/// name, and the metadata as attributes of the root. bf16 is a custom float that h5py reads as
/// float32.
class Hdf5Writer : public TensorWriter {
 public:
  /// Makes the file, which nothing has the name of. Throws Error(kIo).
  Hdf5Writer(const std::string& path, const SafetensorsWriter::Content& content);
  ~Hdf5Writer() override;

  void write(std::span<const std::byte> bytes) override;
  /// All bytes have come: syncs the file.
  void publish() override;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace zero
