#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/train/checkpoint_layout.hpp"
#include "zero/io/checkpoint/store.hpp"
#include "zero/io/files/open_file.hpp"

namespace zero::train {

/// Elements of whole tensors, out of the slices in which a checkpoint has them. Opens only the
/// files that hold what is asked for.
class CheckpointReader {
 public:
  /// Both outlive it. Throws as Store::open_folder.
  CheckpointReader(const checkpoint::Store& store, const checkpoint::Manifest& manifest);

  /// Elements from `begin` on of an fp32 tensor. Throws Error(kInput) where there is no such tensor
  /// or its extents are others, and as ShardReader.
  void read(const checkpoint::Tensor& tensor, int64_t begin, std::span<float> out);

 private:
  const std::vector<checkpoint::Slice>& slices_of(const checkpoint::Tensor& tensor) const;
  checkpoint::ShardReader& file(int32_t index);

  const checkpoint::Manifest& manifest_;
  std::string name_;
  OpenFile folder_;
  std::map<std::string, int32_t> tensors_;              ///< by name
  std::vector<std::vector<checkpoint::Slice>> slices_;  ///< [tensors]
  std::map<int32_t, std::unique_ptr<checkpoint::ShardReader>> files_;
};

/// Fills the optimizer state and the weights that the view's rank holds of them.
void load_state(CheckpointReader& reader, const StateView& view);

}  // namespace zero::train
