#pragma once
/// A run as its input file describes it. Each member is a key of inputs/reference.toml, with its
/// default, unit and legal values. read_config.hpp fills it, and src/config/fields.cpp maps keys to
/// members. DeepSpeed's keys keep their names and meaning. A number that is "auto" is stored as 0,
/// and model_numbers() or resolve_batch() derives it. Keys with a single legal value
/// (contiguous_gradients, reduce_scatter ...) have no member; the table checks them.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "zero/config/data_keys.hpp"
#include "zero/config/generation_keys.hpp"
#include "zero/config/monitor_keys.hpp"
#include "zero/config/optimizer_keys.hpp"

namespace zero {

struct ModelFamily;
/// All families, the default first: see model_keys.hpp.
using ModelTable = std::vector<ModelFamily>;

/// The numbers of a model, by the names of its keys in [model].
struct ModelNumbers {
  std::map<std::string, int64_t, std::less<>> counts = {};
  std::map<std::string, double, std::less<>> rates = {};
  /// Several numbers under a name, such as one for each layer. No key sets them: a stored model has
  /// them, or its family derives them.
  std::map<std::string, std::vector<double>, std::less<>> lists = {};

  /// Returns the count called `name`; rate() likewise. Throws Error(kInternal) if the model has no
  /// such number.
  int64_t count(std::string_view name) const;
  double rate(std::string_view name) const;
  /// Returns the numbers called `name`; none if the model has no such list.
  const std::vector<double>& list(std::string_view name) const;

  bool operator==(const ModelNumbers&) const = default;
};

/// The names that a run takes from the model that it starts from or evaluates. No key sets them.
struct StartNames {
  std::vector<std::string> labels = {};  ///< of classes, in their order
  bool are_final = false;                ///< true: evaluated; no file brings other classes

  bool operator==(const StartNames&) const = default;
};

/// The section [model]: the name of a size, or a family with its numbers, but not both.
struct ModelConfig {
  const ModelTable* table = nullptr;  ///< table of families for the members below
  std::string name = {};              ///< name of a size; "" = defined by numbers
  std::string family = {};    ///< "" = the family of `name`, otherwise the first of the table
  ModelNumbers numbers = {};  ///< by key; a count of 0 = auto
  /// Initial weights: a model folder, a run, its checkpoints folder or a checkpoint. "" = drawn
  /// from run.seed. No effect if a launch resumes from a checkpoint.
  std::string init_from = {};
  /// Parameters that are not trained, by our names or those of Hugging Face's files. * matches any
  /// letters, ? matches one. Empty: all are trained.
  std::vector<std::string> freeze = {};
  /// Parameters that are drawn from run.seed although init_from names a model, by patterns as
  /// `freeze`. Empty: that model must have all.
  std::vector<std::string> reinit = {};
  StartNames start = {};  ///< of the model that the run starts from

  bool operator==(const ModelConfig&) const = default;
};

/// The answer of a run to an audit that has found wrong numbers.
enum class AuditAnswer { stop, warn };

/// The section [run].
struct SessionConfig {
  int64_t steps = 0;         ///< optimizer steps of the whole training; 0 = from epochs
  int64_t epochs = 0;        ///< passes over the training samples; exclusive with steps
  int64_t stop_at = 0;       ///< last step of this launch; 0 = `steps`
  std::string output;        ///< folder; "" = runs/<stem of the input file>, set by read_config
  int64_t seed = 1;          ///< seed of initial weights, dropout and data order
  int64_t log_interval = 1;  ///< steps between two console lines
  /// Seconds until this launch ends at a step border, in files also "HH:MM:SS"; 0 = no limit.
  int64_t walltime = 0;
  int64_t watchdog = 0;  ///< seconds without progress before the run is given up; auto = 0
  int64_t threads = 0;   ///< per rank; 0 = the cores that the rank may use
  /// True: several ranks of a node may drive one GPU, with exchange through host memory. On a host
  /// build ranks always share the cores.
  bool share_device = false;
  /// True: a GPU replays a lane's kernels as recorded graphs. False: kernels are queued singly,
  /// slower, to find the one that fails.
  bool record = true;
  /// True: summary.json has hashes of the final state. False: it has null.
  bool state_hash = true;
  int64_t digest_interval = 0;  ///< steps between two lines of digests.jsonl; 0 = none
  /// Steps between two in which each rank repeats a micro-batch of the next one; 0 = none.
  int64_t audit_interval = 0;
  AuditAnswer audit = AuditAnswer::stop;
  std::string prometheus;  ///< file of the last shown step's metrics, for Prometheus; "" = none
  /// Machine whose rates choose buffers and update sites: a file of `zeroapp calibrate` or a
  /// built-in profile. "" = the profile of the device.
  std::string machine;

  bool operator==(const SessionConfig&) const = default;
};

enum class ScheduleType {
  constant,
  WarmupLR,
  WarmupDecayLR,
  WarmupCosineLR,
  OneCycle,
  LRRangeTest,
  WSD
};
enum class WarmupType { linear, log };
enum class DecayType { linear, cosine, sqrt };

/// The section [scheduler]. schedule.hpp has the formulas.
struct ScheduleConfig {
  ScheduleType type = ScheduleType::constant;
  WarmupType warmup_type = WarmupType::linear;  ///< linear | log (DeepSpeed's default)
  int64_t warmup_num_steps = 1000;              ///< updates; at least 2, as in DeepSpeed
  double warmup_min_lr = 0;                     ///< WarmupLR, WarmupDecayLR, WSD
  double warmup_max_lr = 0;                ///< WarmupLR, WarmupDecayLR, WSD; auto = optimizer.lr
  int64_t total_num_steps = 0;             ///< WarmupDecayLR, WarmupCosineLR, WSD; auto = run.steps
  double warmup_min_ratio = 0;             ///< WarmupCosineLR: first rate / optimizer.lr
  double cos_min_ratio = 1e-4;             ///< WarmupCosineLR: last rate / optimizer.lr
  double cycle_min_lr = 0;                 ///< OneCycle, like the next seven
  double cycle_max_lr = 0;                 ///< auto = optimizer.lr
  int64_t cycle_first_step_size = 2000;    ///< updates in which the rate rises
  int64_t cycle_second_step_size = 0;      ///< updates in which the rate falls; auto = the first
  int64_t cycle_first_stair_count = 0;     ///< stairs of the first half; 0 = a slope
  int64_t cycle_second_stair_count = -1;   ///< stairs of the second half; -1 = as the first
  int64_t decay_step_size = 0;             ///< updates after the cycle; 0 = a constant rate
  double decay_lr_rate = 0;                ///< decay per decay_step_size
  double lr_range_test_min_lr = 1e-3;      ///< LRRangeTest, like the next three
  int64_t lr_range_test_step_size = 2000;  ///< updates per interval
  double lr_range_test_step_rate = 1;      ///< growth per interval, relative to the first rate
  bool lr_range_test_staircase = false;    ///< true: the rate grows only at ends of intervals
  int64_t wsd_decay_steps = 0;             ///< WSD: updates in the decay; auto = a tenth of all
  DecayType wsd_decay_type = DecayType::linear;  ///< linear | cosine | sqrt
  double wsd_min_ratio = 0;                      ///< WSD: last rate / warmup_max_lr

  bool operator==(const ScheduleConfig&) const = default;
};

/// The least stage at which optimizer states may rest beside the device, because ranks share them.
/// At stage 0 every rank would run the whole optimizer on the host.
inline constexpr int64_t kLeastOffloadStage = 1;

/// ZeroConfig::shard_group = "node": the ranks of each node.
inline constexpr int64_t kGroupOfNode = -1;

/// The section [zero]. Sizes count elements, as in DeepSpeed.
struct ZeroConfig {
  int64_t stage = 0;  ///< 0 replicates | 1 shards optimizer states | 2 + gradients | 3 + parameters
  int64_t reduce_bucket_size = 500'000'000;     ///< most gradients per collective
  int64_t allgather_bucket_size = 500'000'000;  ///< most weights per collective
  bool overlap_comm = true;                     ///< true: collectives run on their own lane
  // Stage 3 gathers whole units, padding included: a block, or the embedding with the head.
  int64_t stage3_prefetch_bucket_size = 50'000'000;  ///< gathered ahead of use; 0 = on demand
  /// Units of at most this size stay gathered from their first use to their last in a step.
  int64_t stage3_param_persistence_threshold = 100'000;
  /// Limit for units that stay gathered or are gathered ahead, plus the unit in use. The operands
  /// of an op are always gathered.
  int64_t stage3_max_live_parameters = 1'000'000'000;
  int64_t stage3_max_reuse_distance = 1'000'000'000;       ///< kept gathered if reused within this
  bool stage3_gather_16bit_weights_on_model_save = false;  ///< like export.at_end, at every stage
  /// Stage 3: ranks that hold all weights between them; every group has a copy. 0: "all".
  int64_t shard_group = 0;

  bool operator==(const ZeroConfig&) const = default;
};

/// The tier where states rest: device, host or local disk. `automatic`: the fastest tier with room.
enum class Home { none, cpu, nvme, automatic };

/// The section [zero.offload_optimizer]: low parts of weights and states, at stages 1 to 3.
struct OffloadOptimizerConfig {
  /// none | cpu | nvme: cpu and nvme update on the host. auto = the fastest tier with room.
  Home device = Home::none;
  std::string nvme_path;     ///< folder on a local disk; required for nvme, optional for auto
  int64_t buffer_count = 0;  ///< units staged at the same time; 0: "auto"
  /// Share of the parameters whose states leave the device, 0 to 1. Under auto, the largest
  /// allowed.
  double ratio = 1;
  bool pin_memory = true;  ///< GPUs: true pins their host memory; false: it may be swapped
  /// True: updates begin before the norm is known, into second copies of the states. None: "auto",
  /// true if it shortens a GPU's step and host memory suffices.
  std::optional<bool> speculate = {};

  bool operator==(const OffloadOptimizerConfig&) const = default;
};

/// The section [zero.offload_param]: weights, at stage 3.
struct OffloadParamConfig {
  Home device = Home::none;  ///< none | cpu | nvme; auto = the fastest tier with room
  std::string nvme_path;     ///< folder on a local disk; required for nvme, optional for auto
  bool pin_memory = true;    ///< as in offload_optimizer, with which it shares one block

  bool operator==(const OffloadParamConfig&) const = default;
};

/// The section [activation_checkpointing]: home of the inputs of recomputation, from forward to
/// backward. Under full recompute these are the inputs of blocks.
struct OffloadActivationsConfig {
  Home offload = Home::none;       ///< none | cpu | nvme; needs recompute
  bool cpu_checkpointing = false;  ///< DeepSpeed's name of offload = "cpu"
  std::string nvme_path;           ///< folder on a local disk; required for nvme
  int64_t buffer_count = 2;        ///< blocks whose inputs are staged at the same time

  /// Returns the home that offload or cpu_checkpointing asks for.
  Home home() const { return cpu_checkpointing ? Home::cpu : offload; }
  bool operator==(const OffloadActivationsConfig&) const = default;
};

/// The section [aio]: I/O settings of the disk of a home nvme.
struct AioConfig {
  int64_t block_size = 1 << 20;      ///< bytes per request; a multiple of 4096
  int64_t queue_depth = 8;           ///< requests in flight
  int64_t intra_op_parallelism = 1;  ///< threads, used if io_uring is unavailable
  bool single_submit = false;        ///< true: one system call per request; false: per batch
  bool overlap_events = true;        ///< true: new requests start before all old ones end
  bool require_uring = false;        ///< true: refuse to run without io_uring

  bool operator==(const AioConfig&) const = default;
};

/// The section [fp16], with DeepSpeed's dynamic loss scaler.
struct Fp16Config {
  bool enabled = false;
  double loss_scale = 0;                ///< constant scale; 0 = dynamic
  int64_t initial_scale_power = 16;     ///< the first dynamic scale is 2 to this power; 0 to 32
  int64_t loss_scale_window = 1000;     ///< good steps before the scale doubles
  int64_t hysteresis = 2;               ///< overflows before the scale halves
  bool consecutive_hysteresis = false;  ///< true: a good step refills the hysteresis
  double min_loss_scale = 1;  ///< at most the first scale; an overflow at this scale ends the run

  bool operator==(const Fp16Config&) const = default;
};

/// The section [bf16]. Without fp16 and bf16, training is in fp32.
struct Bf16Config {
  bool enabled = false;

  bool operator==(const Bf16Config&) const = default;
};

enum class GradientDtype { compute, fp32 };

/// The order in which a GPU library adds attention gradients: fixed, or as they arrive.
enum class AttentionOrder { deterministic, fast };

/// The section [numerics].
struct NumericsConfig {
  /// True: equal bytes at every rank count and stage, for a fixed micro-batch size. Slower.
  bool reproducible = false;
  GradientDtype gradient_dtype = GradientDtype::compute;  ///< dtype of a step's final sum
  /// Most steps in a row with NaN or Inf; one more ends the run, except under a dynamic loss scale,
  /// which ends at fp16.min_loss_scale. Also the most steps in a row that spike_factor skips.
  int64_t max_bad_steps = 20;
  /// A finite step is skipped if its loss or gradient norm is this many standard deviations above
  /// the mean of the last 200 applied steps, at most max_bad_steps in a row; 0 = none is.
  double spike_factor = 0;
  /// GPUs only. fast: results differ between runs, and no promise of equal bytes holds.
  AttentionOrder attention = AttentionOrder::deterministic;

  bool operator==(const NumericsConfig&) const = default;
};

/// The key activation_checkpointing.recompute: "none" | "selective" | "full" | "auto" | [0, 2, 5].
struct Recompute {
  /// automatic: none, selective or full, whichever is forecast to be the fastest that fits.
  enum class Mode { none, selective, full, layers, automatic };
  Mode mode = Mode::none;
  std::vector<int64_t> layers;  ///< Mode::layers: blocks recomputed in full; ascending, unique

  bool operator==(const Recompute&) const = default;
};

/// The section [memory]: bytes, or text such as "24GiB".
struct MemoryConfig {
  int64_t device_limit = 0;  ///< bytes per rank; auto = free memory
  int64_t host_limit = 0;    ///< bytes per node; auto = free memory

  bool operator==(const MemoryConfig&) const = default;
};

/// The section [evaluation], on data.validation or data.validation_fraction.
struct EvaluationConfig {
  int64_t interval = 0;          ///< steps; 0 = after the last step only
  int64_t micro_batch_size = 0;  ///< samples per rank; auto = the training micro-batch
  /// Texts written to sample.txt after the last step: answers to sources of the validation set, or
  /// continuations of a newline.
  int64_t show_samples = 0;
  /// True: an evaluation also answers the validation set's sources and measures BLEU and exact
  /// matches.
  bool generate = false;
  int64_t generate_samples = 0;  ///< number of sources, from the first; 0 = all
  /// File of records of a context, choices that may follow it, and the answer; "" = none.
  std::string choices = {};
  /// File of documents whose perplexity by word and by byte is measured; "" = none.
  std::string documents = {};
  /// Token in front of a document, and in place of an empty context; -1: the tokenizer's bos, else
  /// its eos.
  int64_t prefix_token_id = -1;

  /// True if texts of files are scored token by token.
  bool scores_texts() const { return !choices.empty() || !documents.empty(); }
  bool operator==(const EvaluationConfig&) const = default;
};

/// The section [profile].
struct ProfileConfig {
  bool trace = false;  ///< true: writes <run>/trace.json, the last steps of every lane

  bool operator==(const ProfileConfig&) const = default;
};

/// The section [export].
struct ExportConfig {
  bool at_end = false;  ///< true: writes <run>/model after the last step, in the compute dtype

  bool operator==(const ExportConfig&) const = default;
};

enum class Resume { automatic, require, never };
/// The access to folders and files: owner only, group reads, all read, group writes.
enum class Permissions { owner, group_reads, all_read, group_writes };

/// The section [checkpoint]. A launch that ends without failure writes a checkpoint: after the last
/// step, at run.stop_at, run.walltime or a signal. Training on synthetic data is saved only if an
/// interval is set, because it teaches nothing.
struct CheckpointConfig {
  std::string dir;                    ///< "" = <run.output>/checkpoints
  int64_t interval = 0;               ///< steps between two; 0 = only at the end of a launch
  int64_t keep = 2;                   ///< newest checkpoints kept, at least 2; 0 = all
  int64_t keep_every = 0;             ///< also keeps steps that this divides; 0 = none
  Resume resume = Resume::automatic;  ///< auto | require | never
  std::string resume_from;  ///< run, checkpoints folder or checkpoint to begin from; "" = none
  bool async = false;       ///< true: written while training continues
  /// "" | "validation_loss" or its synonym "eval_loss" | a metric of the model's objective: the
  /// metric that chooses the best checkpoint.
  std::string best_metric;
  int64_t patience = 0;  ///< evaluations without a new best that end training; 0 = no limit
  bool load_best_at_end = false;  ///< true: the export has the best weights
  int64_t max_failures = 0;       ///< failed saves tolerated before training is given up
  Permissions permissions = Permissions::owner;  ///< "0700" | "0750" | "0755" | "0770"
  bool weights_only = false;  ///< true: only weights, for model.init_from and export; no resume

  bool operator==(const CheckpointConfig&) const = default;
};

/// train_micro_batch_size_per_gpu = "max": the largest size whose plan fits.
inline constexpr int64_t kMicroBatchMax = -1;
/// train_micro_batch_size_per_gpu = "best": the size whose plan is forecast to be the fastest.
inline constexpr int64_t kMicroBatchBest = -2;

/// The dtype of gradient sums between ranks; `automatic` is fp32.
enum class CommunicationDtype { automatic, fp32, bf16 };

struct RunConfig {
  /// Samples per step: train_batch_size = train_micro_batch_size_per_gpu x
  /// gradient_accumulation_steps x ranks. resolve_batch() derives sizes that are auto (0).
  int64_t train_batch_size = 0;
  int64_t train_micro_batch_size_per_gpu = 0;
  int64_t gradient_accumulation_steps = 0;
  double gradient_clipping = 1.0;  ///< largest norm of the whole gradient; 0 = no clipping
  CommunicationDtype communication_data_type = CommunicationDtype::automatic;
  bool wall_clock_breakdown = false;  ///< true: prints ms of forward, backward, reduce ...

  ModelConfig model;
  DataConfig data;
  SessionConfig run;
  OptimizerConfig optimizer;
  ScheduleConfig scheduler;
  ZeroConfig zero;
  OffloadOptimizerConfig offload_optimizer;  ///< [zero.offload_optimizer]
  OffloadParamConfig offload_param;          ///< [zero.offload_param]
  AioConfig aio;
  Fp16Config fp16;
  Bf16Config bf16;
  NumericsConfig numerics;
  Recompute recompute;                           ///< activation_checkpointing.recompute
  OffloadActivationsConfig offload_activations;  ///< [activation_checkpointing]
  MemoryConfig memory;
  EvaluationConfig evaluation;
  GenerationConfig generation;
  ProfileConfig profile;
  TensorboardConfig tensorboard;
  CsvMonitorConfig csv_monitor;
  ExportConfig export_model;  ///< [export]
  CheckpointConfig checkpoint;

  bool operator==(const RunConfig&) const = default;
};

}  // namespace zero
