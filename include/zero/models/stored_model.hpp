#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "zero/config/run_config.hpp"
#include "zero/launch/session.hpp"
#include "zero/model/family.hpp"
#include "zero/save/stored_checkpoints.hpp"
#include "zero/state/state_view.hpp"

namespace zero::models {

/// What config.json of a model folder says: Hugging Face's keys of a model of its family, and an
/// object "zeroapp" of our own, without which a folder is read as well.
struct ModelDescription {
  model::Architecture model = {};
  std::string mixed_dropout = {};  ///< rates that no single model.dropout says; "" where one does
  Dtype compute = Dtype::f32;      ///< that it was trained in; torch_dtype
  std::string tokenizer = {};    ///< "bytes", a folder as open_tokenizer() takes, or "": not known
  int64_t sequence_length = 0;   ///< of its training data
  int64_t evaluation_micro = 0;  ///< samples a rank evaluated at a time; 0 = not known
  /// From generation_config.json or, where there is none, of config.json; of a run, its
  /// [generation].
  GenerationConfig generation = {};
};

/// Reads the text of a config.json, `name` being for messages. Throws Error(kInput) with it, the
/// key, and what would work, for a model that no family builds so.
ModelDescription parse_description(const model::Catalogue& catalogue, std::string_view content,
                                   const std::string& name);

/// Reads <folder>/config.json, and generation_config.json where it is there: what config.json says
/// of texts counts only without that file, as in Transformers. A tokenizer that is not "bytes" is
/// the folder itself, if the files of one lie there.
ModelDescription read_description(const model::Catalogue& catalogue, const std::string& folder);

/// The text of such a config.json.
std::string description_json(const ModelDescription& description);

/// The text of a generation_config.json: what the model's family says of ids, and what
/// `description.generation` says; "" where neither says anything.
std::string generation_json(const ModelDescription& description);

/// Reads such a text, "" saying nothing; `name` is for messages. Keys that nothing is made of are
/// passed over with one warning of the first process that names them, but for those that change no
/// text or ask for nothing. So are a value that [generation] would refuse, since a model may serve
/// for more than texts, and ids beyond the vocabulary that no text would have.
/// Throws Error(kInput) for ids that `model` has elsewhere.
GenerationConfig parse_generation(const model::Architecture& model, std::string_view content,
                                  const std::string& name);

/// A trained model, wherever it lies: a folder as Hugging Face has it, or a checkpoint.
class StoredModel {
 public:
  virtual ~StoredModel() = default;

  /// Where it lies.
  virtual const std::string& path() const = 0;
  virtual const ModelDescription& description() const = 0;

  /// The settings of the run that trained it, as the text of an input file.
  struct Settings {
    std::string name;                  ///< for messages
    std::string text;                  ///< "" if they are not known
    GenerationConfig generation = {};  ///< what the model says of keys that they leave open
  };
  virtual Settings settings() const = 0;

  /// The type in which a parameter, named as in model::forward(), is stored.
  virtual Dtype dtype_of(std::string_view parameter) const = 0;
  /// Elements from `first` on of a parameter, as fp32. The table of tokens ends with the real
  /// vocabulary. Not from two threads at once. Throws Error(kInput) for a damaged file.
  virtual void read(std::string_view parameter, int64_t first, std::span<float> out) const = 0;
};

/// The model folder or the step of a checkpoint that a user means: `folder` itself if it holds a
/// config.json, or model/ in it, as a run leaves it. Else it is the newest step, whose manifest is
/// whole, of a run or a folder of checkpoints, or the step that `folder` is. Throws Error(kInput)
/// with the way to make one.
std::string find_model(const model::Catalogue& catalogue, const std::string& folder);

/// Opens what find_model() has found. Throws as ModelFolder and CheckpointModel.
std::unique_ptr<StoredModel> open_model(const model::Catalogue& catalogue,
                                        const std::string& found);

/// Opens on every rank what rank 0 finds in a folder. Collective; throws Ended.
std::unique_ptr<StoredModel> open_model(launch::Session& session, const model::Catalogue& catalogue,
                                        const std::string& folder);

/// Elements [begin, end) of a parameter in pieces of at most 4 MiB, in their order.
void read_pieces(const StoredModel& model, std::string_view parameter, int64_t begin, int64_t end,
                 const std::function<void(int64_t first, std::span<const float>)>& visit);

/// Fills what this rank holds of the weights, and of what completes them to masters, in a plan of
/// the same model.
void load_weights(const StoredModel& model, const state::StateView& view);
/// As load_weights(), for a training that begins: where weights are gathered before their first
/// use, only what this rank holds of the optimizer's state.
void begin_with_weights(const StoredModel& model, const state::StateView& view);

/// Throws Error(kInput) naming both unless the model has the numbers of `wanted`. The rate of
/// dropout is none of them.
void require_same_model(const StoredModel& model, const model::Architecture& wanted);

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

/// The settings that a trained model is evaluated under: those of the run that trained it where
/// they are known, else what the model's description says, and then `overrides` as on a command
/// line. The batch is one sample a rank, and the evaluation's micro-batch the run's, so that the
/// loss has the digits of the run's. The home of the run's weights stays, and no other home, for
/// build_evaluation(); of [numerics] `reproducible` stays. Throws Error(kUsage) as read_config(),
/// or where no validation data are named; Error(kInput) where settings and model disagree.
RunConfig evaluation_config(const ModelTable& models, const StoredModel& model,
                            std::span<const std::string> overrides);

}  // namespace zero::models
