#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "zero/launch/session.hpp"
#include "zero/models/model_description.hpp"
#include "zero/state/state_view.hpp"

namespace zero::models {

/// A trained model, wherever it lies: a folder as Hugging Face has it, or a checkpoint.
class StoredModel {
 public:
  virtual ~StoredModel() = default;

  /// Where it lies.
  virtual const std::string& path() const = 0;
  virtual const ModelDescription& description() const = 0;

  /// The settings of the run that trained it, as the text of an input file.
  struct Settings {
    std::string name;  ///< for messages
    std::string text;  ///< "" if they are not known
  };
  virtual Settings settings() const = 0;

  /// The type in which a parameter, named as in model::forward(), is stored.
  virtual Dtype dtype_of(std::string_view parameter) const = 0;
  /// Elements from `first` on of a parameter, as fp32. The table of tokens ends with the real
  /// vocabulary. Not from two threads at once. Throws Error(kInput) for a damaged file.
  virtual void read(std::string_view parameter, int64_t first, std::span<float> out) const = 0;
};

/// The model folder or the step of a checkpoint that a user means: `folder` itself if it holds a
/// config.json, or model/ in it, as a run leaves it; else the newest step, whose manifest is whole,
/// of a run or a folder of checkpoints, or the step that `folder` is. Throws Error(kInput) with the
/// way to make one.
std::string find_model(const model::Catalogue& catalogue, const std::string& folder);

/// Opens what find_model() has found. Throws as ModelFolder and CheckpointModel.
std::unique_ptr<StoredModel> open_model(const model::Catalogue& catalogue,
                                        const std::string& found);

/// The same of a folder in which rank 0 finds something, on every rank. Collective; throws Ended.
std::unique_ptr<StoredModel> open_model(launch::Session& session, const model::Catalogue& catalogue,
                                        const std::string& folder);

/// Elements [begin, end) of a parameter in pieces of at most 4 MiB, in their order.
void read_pieces(const StoredModel& model, std::string_view parameter, int64_t begin, int64_t end,
                 const std::function<void(int64_t first, std::span<const float>)>& visit);

/// Fills what this rank holds of the weights, and of what completes them to masters, in a plan of
/// the same model.
void load_weights(const StoredModel& model, const state::StateView& view);
/// The same for a training that begins: where weights are gathered before their first use, only
/// what this rank holds of the optimizer's state.
void begin_with_weights(const StoredModel& model, const state::StateView& view);

/// Throws Error(kInput) naming both unless the model has the numbers of `wanted`. The rate of
/// dropout is none of them.
void require_same_model(const StoredModel& model, const model::Architecture& wanted);

}  // namespace zero::models
