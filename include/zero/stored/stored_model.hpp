#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zero/config/run_config.hpp"
#include "zero/io/data/data_source.hpp"
#include "zero/launch/session.hpp"
#include "zero/model/recipe.hpp"
#include "zero/save/stored_checkpoints.hpp"
#include "zero/state/state_view.hpp"

namespace zero::stored {

/// The content of a model folder's config.json: Hugging Face's keys of the model's family, and our
/// object "zeroapp", which may be missing.
struct ModelDescription {
  model::Architecture model = {};
  const model::Objective* objective = nullptr;  ///< whose head is stored; null: the family's own
  std::vector<model::Alteration> alterations = {};  ///< of the stored network
  std::string lender = {};                          ///< model.init_from, if it lends weights; ""
  std::string mixed_dropout = {};         ///< rates that one model.dropout cannot express, or ""
  std::vector<std::string> classes = {};  ///< names of labels; empty: no names, or no labels
  Dtype compute = Dtype::f32;             ///< type of the training; torch_dtype
  std::string tokenizer = {};    ///< "bytes", a folder for open_tokenizer(), or "": unknown
  int64_t sequence_length = 0;   ///< tokens of a training sample
  int64_t evaluation_micro = 0;  ///< samples a rank evaluated at a time; 0: unknown
  /// Generation settings of generation_config.json or, without that, config.json. A run's are its
  /// [generation].
  GenerationConfig generation = {};
  /// A generation_config.json with the settings of `generation` alone, which a new folder gets as
  /// it is; "": none.
  std::string generation_text = {};
  /// The config.json that the model came from, and the model in it, if its family keeps them.
  struct Origin {
    std::string text = {};  ///< "": none
    model::Architecture model = {};
  };
  Origin origin = {};

  model::Recipe recipe() const {
    return {.model = model, .objective = objective, .alterations = alterations};
  }
};

/// Parses `content`, a config.json; `name` is for messages. Throws Error(kInput) with `name`, the
/// key and a value that works, for a model that no family of the catalogue builds.
ModelDescription parse_description(const model::Catalogue& catalogue, std::string_view content,
                                   const std::string& name);

/// Reads <folder>/config.json, and generation_config.json if it exists. As in Transformers,
/// config.json's keys for texts count only without that file. The tokenizer is "bytes", or the
/// folder itself if it holds a tokenizer's files.
ModelDescription read_description(const model::Catalogue& catalogue, const std::string& folder);

/// Returns the origin for a model from the text of a config.json; none for "" and for a family of
/// the catalogue that keeps none.
ModelDescription::Origin origin_of(const model::Catalogue& catalogue, const std::string& text);

/// Returns a description as the text of a config.json: that of the origin, with what has changed
/// since.
std::string description_json(const ModelDescription& description);

/// Returns a description as the text of an adapter_config.json, for weights that stand on a
/// lender's.
std::string adapter_json(const ModelDescription& description);

/// Returns the text of a generation_config.json: the family's ids and `description.generation`.
/// Returns "" if both are empty, or the family writes no texts.
std::string generation_json(const ModelDescription& description);

/// Parses `content`, a generation_config.json; "" has no settings. `name` is for messages. Ignores
/// keys that are not implemented. The first process warns once of those that have an effect.
/// Ignores values that [generation] would refuse, because a model may serve for more than texts,
/// and ids beyond the vocabulary that no text would have. Throws Error(kInput) if the family's ids
/// differ from those of `model`.
GenerationConfig parse_generation(const model::Architecture& model, std::string_view content,
                                  const std::string& name);

/// A trained model in a folder of Hugging Face's format or in a checkpoint.
class StoredModel {
 public:
  virtual ~StoredModel() = default;

  /// Returns the path of the model's folder or checkpoint.
  virtual const std::string& path() const = 0;
  /// Returns the path of the file of all weights or of their index, or of a checkpoint's folder.
  virtual const std::string& weights() const = 0;
  virtual const ModelDescription& description() const = 0;

  /// The settings of the run that trained the model, as an input file.
  struct Settings {
    std::string name;                  ///< for messages
    std::string text;                  ///< "" if unknown
    GenerationConfig generation = {};  ///< the model's, for keys that `text` leaves open
  };
  virtual Settings settings() const = 0;

  /// Returns the stored type of a parameter, named as in model::graph_of().
  virtual Dtype dtype_of(std::string_view parameter) const = 0;
  /// Reads elements of a parameter from `first` on into `out`, as fp32. The table of tokens ends
  /// with the real vocabulary. REQUIRES: one thread reads at a time. Throws Error(kInput) for a
  /// damaged file.
  virtual void read(std::string_view parameter, int64_t first, std::span<float> out) const = 0;
  /// True if the model has this parameter. False for one that an alteration adds and the model
  /// lacks.
  virtual bool holds(std::string_view parameter) const = 0;

  /// Returns the names of parameters that a training draws anew and nobody reads here, in the
  /// model's order.
  const std::vector<std::string>& anew() const { return anew_; }
  bool is_anew(std::string_view parameter) const {
    return std::ranges::find(anew_, parameter) != anew_.end();
  }
  /// Returns the names of tensors of other tasks' heads, which the model holds and nobody reads.
  const std::vector<std::string>& other_heads() const { return other_heads_; }

 protected:
  std::vector<std::string> anew_ = {}, other_heads_ = {};
};

/// Returns the model folder or checkpoint step that `folder` means: itself or its model/, if that
/// holds a config.json. Otherwise it is the newest step, with a whole manifest, of a run or a
/// folder of checkpoints, or the step `folder`. Throws Error(kInput) with the way to make one.
std::string find_model(const model::Catalogue& catalogue, const std::string& folder);

/// Opens the model at `found`, a result of find_model(), by a family of the catalogue. `training`
/// are the settings of a training that begins with it, or null. Throws as ModelFolder and
/// CheckpointModel.
std::unique_ptr<StoredModel> open_model(const model::Catalogue& catalogue, const std::string& found,
                                        const RunConfig* training = nullptr);

/// Opens on every rank the model that rank 0 finds in `folder`, as the other open_model(). Throws
/// Ended. Collective.
std::unique_ptr<StoredModel> open_model(launch::Session& session, const model::Catalogue& catalogue,
                                        const std::string& folder,
                                        const RunConfig* training = nullptr);

/// Reads elements [begin, end) of a model's parameter, and calls `visit` with them, in order, at
/// most 4 MiB at a time.
void read_pieces(const StoredModel& model, std::string_view parameter, int64_t begin, int64_t end,
                 const std::function<void(int64_t first, std::span<const float>)>& visit);

/// Calls `set` with every parameter of a stored model in pieces: the index in the graph, the first
/// element and the values. Throws as StoredModel::read().
void load_weights(const StoredModel& model, const graph::Graph& graph,
                  const std::function<void(int32_t, int64_t, std::span<const float>)>& set);

/// Copies a stored model's parameters to a decoder or a writer of texts.
template <class Reader>
requires requires(const Reader& reader) { reader.graph(); }
void load_weights(const StoredModel& model, Reader& reader) {
  load_weights(model, reader.graph(),
               [&](int32_t parameter, int64_t first, std::span<const float> values) {
                 reader.set_parameter(parameter, first, values);
               });
}

/// Copies a stored model's parameters to this rank's weights, and their low parts, in the view of a
/// plan of the same model.
void load_weights(const StoredModel& model, const state::StateView& view);
/// Copies a stored model's parameters to the masters in the view of a new training, except weights
/// that it draws anew. Fills its initial states. If weights are gathered before their first use,
/// fills only this rank's shard of the optimizer's state.
void begin_with_weights(const StoredModel& model, const state::StateView& view);
/// Copies the borrowed weights that this rank holds to the view, from the stored model that lends
/// them.
void load_lent_weights(const StoredModel& model, const state::StateView& view);

/// Throws Error(kInput), naming both, if the model's numbers differ from those of `wanted`. Rates
/// of dropout may differ.
void require_same_model(const StoredModel& model, const model::Architecture& wanted);

/// True if `classes`, of data, may stand for those of a model, `there`. They may if they are the
/// same, or names that the user wrote (`are_written`) and that are no other order of the same. Any
/// may if `there` has no names.
bool may_stand_for(const std::vector<std::string>& classes, const std::vector<std::string>& there,
                   bool are_written);

/// Throws Error(kInput) if texts of `data` are read as bytes because the model's folder lacks its
/// tokenizer, while its vocabulary is larger. REQUIRES: nobody wrote data.tokenizer.
void require_tokenizer(const StoredModel& model, const DataSource& data);

/// Throws Error(kInput), naming both, if a training keeps the classifier of the model and
/// `classes`, of its data, may not stand for the model's. `are_written` is as in may_stand_for().
void require_same_classes(const StoredModel& model, const std::vector<std::string>& classes,
                          bool are_written);

/// A model in a checkpoint of any rank count and stage: the fp32 masters, or the weights if only
/// they were saved. Borrowed weights are read from the model that lent them.
class CheckpointModel : public StoredModel {
 public:
  /// Opens `folder` as StoredCheckpoint, with a model of the catalogue. Throws Error(kInput) as
  /// StoredCheckpoint, if the tensors do not match the model that the checkpoint names, and if the
  /// lent weights have changed. Tensors that `training` draws anew may be missing or have other
  /// extents.
  CheckpointModel(const model::Catalogue& catalogue, const std::string& folder,
                  const RunConfig* training = nullptr);

  const std::string& path() const override { return checkpoint_.folder(); }
  const std::string& weights() const override { return path(); }
  const ModelDescription& description() const override { return description_; }
  Settings settings() const override;
  Dtype dtype_of(std::string_view parameter) const override;
  void read(std::string_view parameter, int64_t first, std::span<float> out) const override;
  bool holds(std::string_view parameter) const override;

  const save::StoredCheckpoint& checkpoint() const { return checkpoint_; }

 private:
  const checkpoint::Tensor* find(std::string_view parameter) const;
  const checkpoint::Tensor& tensor_of(std::string_view parameter) const;
  void open_lender(const model::Catalogue& catalogue, const graph::Graph& graph);
  void match(const graph::Graph& graph, bool may_draw);

  save::StoredCheckpoint checkpoint_;
  ModelDescription description_;
  std::unique_ptr<StoredModel> lender_;  ///< null if no weights are borrowed
};

/// Returns the settings for the evaluation of a trained model. They are its run's, or those in the
/// model's description if the run is unknown, changed by `overrides` as on a command line. The
/// batch is one sample a rank, with the run's evaluation micro-batch, so the loss has the run's
/// digits. Keeps only the weights' home, for build_evaluation(), and only `reproducible` of
/// [numerics]. Throws Error(kUsage) as read_config(), or without validation data. Throws
/// Error(kInput) if settings and model disagree.
RunConfig evaluation_config(const ModelTable& models, const StoredModel& model,
                            std::span<const std::string> overrides);

}  // namespace zero::stored
