#pragma once
/// A run as its input file describes it. Each member is one key of inputs/reference.toml with its
/// default, unit and legal values; read_config.hpp fills it, and src/config/fields.cpp is the table
/// between the two. DeepSpeed's keys keep DeepSpeed's names and meaning. Where a number says
/// "auto", the member holds 0 and a function derives it: model_numbers() and resolve_batch(). Keys
/// whose only legal value is what this program does by construction (contiguous_gradients,
/// reduce_scatter ...) are checked by that table and have no member.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "zero/config/generation.hpp"
#include "zero/config/optimizer.hpp"

namespace zero {

struct ModelFamily;
/// Every family that there is, the default first: see model_table.hpp.
using ModelTable = std::vector<ModelFamily>;

/// The numbers of a model by the names that its family gives them: those of its keys of [model].
struct ModelNumbers {
  std::map<std::string, int64_t, std::less<>> counts = {};
  std::map<std::string, double, std::less<>> rates = {};

  /// Throws Error(kInternal) for a name that the family has not.
  int64_t count(std::string_view name) const;
  double rate(std::string_view name) const;

  bool operator==(const ModelNumbers&) const = default;
};

/// [model]: the name of a size, or a family and its numbers. Not both.
struct ModelConfig {
  const ModelTable* table = nullptr;  ///< that names, families and numbers refer to
  std::string name = {};              ///< of a size; "" = by numbers
  std::string family = {};            ///< "" = the first of the table, or that of the name
  ModelNumbers numbers = {};          ///< by key; of a count 0 = auto
  /// A model folder, or a run, its checkpoints or one of them, whose weights the first step begins
  /// with; "" = drawn from run.seed. Without effect where a launch goes on from a checkpoint.
  std::string init_from = {};
  /// Parameters that are not trained, by their names or those of Hugging Face's files, in which *
  /// stands for any letters and ? for one; empty: all are.
  std::vector<std::string> freeze = {};

  bool operator==(const ModelConfig&) const = default;
};

enum class TooLong { cut, refuse };

/// [data]. Paths are relative to the folder the program is started in.
struct DataConfig {
  std::string train;               ///< required: a text or token file, or "synthetic"
  std::string validation;          ///< a file of the same kind; "" = none
  double validation_fraction = 0;  ///< the last share of `train` held out; 0 <= f < 1
  /// "bytes": a token is a byte, 256 in all. Else a folder: vocab.json, merges.txt or spiece.model
  std::string tokenizer = "bytes";
  int64_t sequence_length = 1024;      ///< tokens a sample predicts
  int64_t max_train_samples = 0;       ///< use the first n samples; 0 = all
  int64_t max_validation_samples = 0;  ///< 0 = all
  bool changed = false;                ///< allows a resume with data other than the checkpoint's

  // Keys that act where a model learns from pairs of texts, a source and a target.
  std::string source_field = "source";  ///< "translation.en" is en in a record's translation
  std::string target_field = "target";
  std::string source_prefix;        ///< in front of every source
  int64_t source_length = 0;        ///< tokens at most, with the end; auto = sequence_length
  TooLong too_long = TooLong::cut;  ///< what becomes of texts of more tokens
  /// Pairs of lengths that micro-batches are padded to: "none", one for all; "auto", chosen from
  /// the data; or up to four as "32x16, 128x64", sources by targets: length_pairs() in batch.hpp.
  std::string length_buckets = "none";
  int64_t pad_id = -1;                  ///< fills up short samples; -1: the tokenizer's
  int64_t eos_id = -1;                  ///< ends each text; -1: the tokenizer's
  int64_t decoder_start_id = -1;        ///< what a decoder reads first; -1: likewise
  double noise_density = 0;             ///< share of tokens to mask; 0 = files hold pairs
  double mean_noise_span_length = 3.0;  ///< mean length of a masked span
  int64_t sentinel_id = -1;  ///< of the first such span; -1: <extra_id_0>, or the last id

  bool operator==(const DataConfig&) const = default;
};

/// [run]
struct SessionConfig {
  int64_t steps = 0;    ///< optimizer steps of the whole training; 0 = epochs says
  int64_t epochs = 0;   ///< passes over the training samples; exactly one of steps and epochs
  int64_t stop_at = 0;  ///< end this launch after this step; 0 = at `steps`
  std::string output;   ///< folder; "" = runs/<stem of the input file>, filled in by read_config
  int64_t seed = 1;     ///< of initial weights, dropout and data order
  int64_t log_interval = 1;  ///< steps between two lines on the console
  /// Seconds of this launch until it ends at a step border, in a file also "HH:MM:SS"; 0 = none.
  int64_t walltime = 0;
  int64_t watchdog = 0;  ///< seconds without progress until the run is given up; auto = 0
  int64_t threads = 0;   ///< a rank; 0 = the cores that the rank is allowed to use
  /// Several ranks of a node may drive one GPU, and exchange through host memory; on a host build
  /// ranks share the cores anyway.
  bool share_device = false;
  /// On a GPU: kernels of a lane are recorded as graphs and queued as a whole; false queues them
  /// one by one, slower, to find out which of them fails.
  bool record = true;
  /// The hashes of the state at a run's end, in summary.json; false leaves them out, and null
  /// there.
  bool state_hash = true;
  /// The machine whose rates choose buffers and update sites: a machine file of `zeroapp calibrate`
  /// or a built-in profile; "" = the profile of the device.
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

/// [scheduler]: see schedule.hpp for the formulas.
struct ScheduleConfig {
  ScheduleType type = ScheduleType::constant;
  WarmupType warmup_type = WarmupType::linear;  ///< linear | log (DeepSpeed's default)
  int64_t warmup_num_steps = 1000;              ///< updates; at least 2 act, as in DeepSpeed
  double warmup_min_lr = 0;                ///< WarmupLR, WarmupDecayLR, WSD, like warmup_max_lr
  double warmup_max_lr = 0;                ///< auto = optimizer.lr
  int64_t total_num_steps = 0;             ///< WarmupDecayLR, WarmupCosineLR, WSD; auto = run.steps
  double warmup_min_ratio = 0;             ///< WarmupCosineLR: first rate / optimizer.lr
  double cos_min_ratio = 1e-4;             ///< WarmupCosineLR: last rate / optimizer.lr
  double cycle_min_lr = 0;                 ///< OneCycle, like what follows
  double cycle_max_lr = 0;                 ///< auto = optimizer.lr
  int64_t cycle_first_step_size = 2000;    ///< updates in which the rate rises
  int64_t cycle_second_step_size = 0;      ///< in which it falls; auto = as many
  int64_t cycle_first_stair_count = 0;     ///< stairs of the first half; 0 = a slope
  int64_t cycle_second_stair_count = -1;   ///< of the second; -1 = as many
  int64_t decay_step_size = 0;             ///< after the cycle; 0 = the rate stays
  double decay_lr_rate = 0;                ///< a decay_step_size
  double lr_range_test_min_lr = 1e-3;      ///< LRRangeTest, like what follows
  int64_t lr_range_test_step_size = 2000;  ///< updates of one interval
  double lr_range_test_step_rate = 1;      ///< growth an interval, of the first rate
  bool lr_range_test_staircase = false;    ///< grows at the ends of intervals only
  int64_t wsd_decay_steps = 0;             ///< WSD: updates at the end; auto = a tenth of all
  DecayType wsd_decay_type = DecayType::linear;  ///< linear | cosine | sqrt
  double wsd_min_ratio = 0;                      ///< WSD: what the rate falls to / warmup_max_lr

  bool operator==(const ScheduleConfig&) const = default;
};

/// [zero]. Bucket and other sizes count elements, as in DeepSpeed.
struct ZeroConfig {
  int64_t stage = 0;  ///< 0 replicates | 1 shards optimizer state | 2 + gradients | 3 + parameters
  int64_t reduce_bucket_size = 500'000'000;     ///< gradients travel in pieces of at most this
  int64_t allgather_bucket_size = 500'000'000;  ///< weights, in pieces of at most this
  bool overlap_comm = true;                     ///< collectives run on their own lane
  // Stage 3 gathers whole units, with their padding: a block, or the embedding with the head.
  int64_t stage3_prefetch_bucket_size = 50'000'000;  ///< gathered ahead of use; 0 = on demand
  /// Units of at most this stay gathered from their first use to their last in a step.
  int64_t stage3_param_persistence_threshold = 100'000;
  /// Units stay gathered, and are gathered ahead of use, only while they and the unit in use are at
  /// most this. What an op reads is gathered whatever the limit.
  int64_t stage3_max_live_parameters = 1'000'000'000;
  int64_t stage3_max_reuse_distance = 1'000'000'000;       ///< kept if used again within this
  bool stage3_gather_16bit_weights_on_model_save = false;  ///< as export.at_end, at every stage

  bool operator==(const ZeroConfig&) const = default;
};

/// Where something rests: in the device's memory, in the host's, or on a local disk; `automatic`:
/// in the fastest of them that it fits in.
enum class Home { none, cpu, nvme, automatic };

/// [zero.offload_optimizer]: what completes weights to masters and what the optimizer keeps; at
/// stages 1 to 3.
struct OffloadOptimizerConfig {
  /// none | cpu | nvme, and the optimizer then runs on the host; auto = the fastest that fits
  Home device = Home::none;
  std::string nvme_path;     ///< the folder of a local disk; required for nvme; auto may take it
  int64_t buffer_count = 0;  ///< units whose states are on their way at the same time; 0: "auto"
  /// Share of the parameters whose states leave the device, 0 to 1; of auto the most that may.
  double ratio = 1;
  bool pin_memory = true;  ///< of GPUs: their host memory is pinned; false: it may be swapped
  /// Updates begin before the norm is known, into second copies of the states; none: "auto", where
  /// a GPU's step is shorter for it and the host has the room.
  std::optional<bool> speculate = {};

  bool operator==(const OffloadOptimizerConfig&) const = default;
};

/// [zero.offload_param]: weights; at stage 3.
struct OffloadParamConfig {
  Home device = Home::none;  ///< none | cpu | nvme; auto = the fastest that fits
  std::string nvme_path;     ///< the folder of a local disk; required for nvme; auto may take it
  bool pin_memory = true;    ///< as that of offload_optimizer, with which it shares one block

  bool operator==(const OffloadParamConfig&) const = default;
};

/// [activation_checkpointing]: what recomputation begins with, a block's input under full
/// recompute, between its forward and its backward pass.
struct OffloadActivationsConfig {
  Home offload = Home::none;       ///< none | cpu | nvme; needs recompute
  bool cpu_checkpointing = false;  ///< DeepSpeed's name of offload = "cpu"
  std::string nvme_path;           ///< the folder of a local disk; required for nvme
  int64_t buffer_count = 2;        ///< blocks whose inputs are on their way at the same time

  Home home() const { return cpu_checkpointing ? Home::cpu : offload; }
  bool operator==(const OffloadActivationsConfig&) const = default;
};

/// [aio]: how the disk of a home nvme is read and written.
struct AioConfig {
  int64_t block_size = 1 << 20;      ///< bytes that one request moves; a multiple of 4096
  int64_t queue_depth = 8;           ///< requests in flight
  int64_t intra_op_parallelism = 1;  ///< threads, where io_uring is not to be had
  bool single_submit = false;        ///< one system call a request, not one a batch
  bool overlap_events = true;        ///< new requests go before all old ones are back
  bool require_uring = false;        ///< refuse to run without io_uring

  bool operator==(const AioConfig&) const = default;
};

/// [fp16]; the automaton is DeepSpeed's dynamic loss scaler.
struct Fp16Config {
  bool enabled = false;
  double loss_scale = 0;                ///< 0 = dynamic, else this constant
  int64_t initial_scale_power = 16;     ///< the first dynamic scale is 2 to this power; 0 to 32
  int64_t loss_scale_window = 1000;     ///< good steps until the scale doubles
  int64_t hysteresis = 2;               ///< overflows until the scale halves
  bool consecutive_hysteresis = false;  ///< a good step refills the hysteresis
  double min_loss_scale = 1;  ///< at most the first; an overflow at this scale ends the run

  bool operator==(const Fp16Config&) const = default;
};

/// [bf16]. Neither fp16 nor bf16 enabled: fp32.
struct Bf16Config {
  bool enabled = false;

  bool operator==(const Bf16Config&) const = default;
};

enum class GradientDtype { compute, fp32 };

/// In which order a GPU's library adds the gradients of attention: a fixed one, or as they come.
enum class AttentionOrder { deterministic, fast };

/// [numerics]
struct NumericsConfig {
  /// The same bytes at every rank count and stage, with the same micro-batch size (slower).
  bool reproducible = false;
  GradientDtype gradient_dtype = GradientDtype::compute;  ///< of a step's finished sum
  /// More steps in a row with NaN or Inf end the run. Not under a dynamic loss scale, whose end is
  /// fp16.min_loss_scale.
  int64_t max_bad_steps = 20;
  /// On a GPU. fast: no two runs give the same bytes, and none of the promises of equal bytes
  /// holds.
  AttentionOrder attention = AttentionOrder::deterministic;

  bool operator==(const NumericsConfig&) const = default;
};

/// activation_checkpointing.recompute: "none" | "selective" | "full" | [0, 2, 5]
struct Recompute {
  enum class Mode { none, selective, full, layers };
  Mode mode = Mode::none;
  std::vector<int64_t> layers;  ///< Mode::layers: those blocks in full; ascending, each once

  bool operator==(const Recompute&) const = default;
};

/// [memory]: bytes, or text such as "24GiB".
struct MemoryConfig {
  int64_t device_limit = 0;  ///< a rank; auto = what is free
  int64_t host_limit = 0;    ///< a node; auto = what is free

  bool operator==(const MemoryConfig&) const = default;
};

/// [evaluation] on data.validation or data.validation_fraction.
struct EvaluationConfig {
  int64_t interval = 0;          ///< steps; 0 = only after the last step
  int64_t micro_batch_size = 0;  ///< samples a rank; auto = the training micro-batch
  int64_t show_samples = 0;      ///< texts written after the last step to sample.txt: answers to
                                 ///< sources of the validation set, or what follows a newline
  /// An evaluation also answers the validation set's sources and counts BLEU and exact matches.
  bool generate = false;
  int64_t generate_samples = 0;  ///< the first n of them; 0 = all

  bool operator==(const EvaluationConfig&) const = default;
};

/// [profile]
struct ProfileConfig {
  bool trace = false;  ///< writes <run>/trace.json: what each lane did in the last steps

  bool operator==(const ProfileConfig&) const = default;
};

/// [export]
struct ExportConfig {
  bool at_end = false;  ///< writes <run>/model after the last step, in the compute type

  bool operator==(const ExportConfig&) const = default;
};

enum class Resume { automatic, require, never };
/// The number whose best value makes a checkpoint the best one: of a loss and a perplexity the
/// lowest, of the others the highest.
enum class BestMetric { none, validation_loss, perplexity, bleu, exact_match };
/// As an input file names it; "" for none.
std::string_view name_of(BestMetric metric);
/// Folders and files are for nobody else, read by the group, read by all, written by the group.
enum class Permissions { owner, group_reads, all_read, group_writes };

/// [checkpoint]. A launch writes a checkpoint when it ends without failure: after the last step, at
/// run.stop_at, run.walltime or a signal. Synthetic data, from which nothing is learnt, are saved
/// only if an interval is set.
struct CheckpointConfig {
  std::string dir;                    ///< "" = <run.output>/checkpoints
  int64_t interval = 0;               ///< steps between two; 0 = only where a launch ends
  int64_t keep = 2;                   ///< the newest ones, at least 2; 0 = all
  int64_t keep_every = 0;             ///< and every step that this divides; 0 = none
  Resume resume = Resume::automatic;  ///< auto | require | never
  std::string resume_from;            ///< a run, its checkpoints or one: begins there; "" = anew
  bool async = false;                 ///< written beside the steps
  /// The metric by which the best checkpoint is kept: "" | "validation_loss", which "eval_loss" is
  /// another word for,
  /// | "perplexity" | "bleu" | "exact_match".
  BestMetric best_metric = BestMetric::none;
  int64_t patience = 0;  ///< evaluations without a better one that end the training; 0 = none do
  bool load_best_at_end = false;  ///< what is exported then has the best weights
  int64_t max_failures = 0;       ///< saves that may fail before training is given up
  Permissions permissions = Permissions::owner;  ///< "0700" | "0750" | "0755" | "0770"
  bool weights_only = false;  ///< weights without what a resume needs: for model.init_from, export

  bool operator==(const CheckpointConfig&) const = default;
};

/// train_micro_batch_size_per_gpu = "max": the largest that the plan says will fit.
inline constexpr int64_t kMicroBatchMax = -1;

/// Element type of a sum of gradients between ranks; `automatic` is fp32.
enum class CommunicationDtype { automatic, fp32, bf16 };

struct RunConfig {
  /// train_batch_size = train_micro_batch_size_per_gpu x gradient_accumulation_steps x ranks, in
  /// samples; auto (0) is derived by resolve_batch() from the others.
  int64_t train_batch_size = 0;
  int64_t train_micro_batch_size_per_gpu = 0;
  int64_t gradient_accumulation_steps = 0;
  double gradient_clipping = 1.0;  ///< the norm of the whole gradient, at most; 0 = no clipping
  CommunicationDtype communication_data_type = CommunicationDtype::automatic;
  bool wall_clock_breakdown = false;  ///< prints ms of forward, backward, reduce ...

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
  ExportConfig export_model;  ///< [export]
  CheckpointConfig checkpoint;

  bool operator==(const RunConfig&) const = default;
};

}  // namespace zero
