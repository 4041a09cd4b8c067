#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "zero/io/checkpoint/store.hpp"
#include "zero/io/checkpoint/tensor_reader.hpp"

namespace zero::save {

/// One warning, of a step in whose place an older one is taken.
void warn_passed_over(int64_t step, const std::string& problem);

/// Whether `folder` is a run with checkpoints, a folder of checkpoints, or one of them.
bool holds_checkpoints(const std::string& folder);

/// One published checkpoint, open for reading. Its manifest is whole and its files are there; a
/// block is held against its digest when it is read.
class StoredCheckpoint {
 public:
  /// Where `folder` is a run or has several, it is the newest of which this is so, with a warning
  /// of each newer one. Throws Error(kInput) where there is none, naming what is wrong with the
  /// newest, Error(kNoCheckpoint) for one of a newer format, and Error(kIo) for one that could not
  /// be read.
  explicit StoredCheckpoint(const std::string& folder);

  /// "runs/x/checkpoints/step00001200"
  const std::string& folder() const { return folder_; }
  const checkpoint::Manifest& manifest() const { return manifest_; }
  /// What the checkpoint says in words; "" if it says nothing of that name.
  const std::string& fact(const std::string& name) const;
  checkpoint::TensorReader& tensors() const { return *tensors_; }

 private:
  void open_newest(const std::string& folder);

  std::unique_ptr<checkpoint::Store> store_;
  checkpoint::Manifest manifest_;
  std::string folder_;
  std::unique_ptr<checkpoint::TensorReader> tensors_;
};

}  // namespace zero::save
