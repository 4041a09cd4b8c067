#pragma once

#include <string>
#include <string_view>

#include "zero/models/stored_model.hpp"
#include "zero/save/stored_checkpoint.hpp"

namespace zero::models {

/// The model in a checkpoint, of any rank count and stage: the fp32 masters, or the weights where
/// only they were saved.
class CheckpointModel : public StoredModel {
 public:
  /// `folder` as StoredCheckpoint takes it. Throws Error(kInput) as that does, and where the
  /// tensors are not those of the model that the checkpoint says it is of.
  CheckpointModel(const model::Catalogue& catalogue, const std::string& folder);

  const std::string& path() const override { return checkpoint_.folder(); }
  const ModelDescription& description() const override { return description_; }
  Settings settings() const override;
  Dtype dtype_of(std::string_view parameter) const override;
  void read(std::string_view parameter, int64_t first, std::span<float> out) const override;

  const save::StoredCheckpoint& checkpoint() const { return checkpoint_; }

 private:
  const checkpoint::Tensor& tensor_of(std::string_view parameter) const;
  void match() const;

  save::StoredCheckpoint checkpoint_;
  ModelDescription description_;
};

}  // namespace zero::models
