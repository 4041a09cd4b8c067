#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "src/commands/command_settings.hpp"
#include "src/commands/user_text.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/config/schedule.hpp"
#include "zero/io/data/data_source.hpp"
#include "zero/io/text/tokenizer.hpp"
#include "zero/save/checkpointer.hpp"
#include "zero/save/stored_checkpoints.hpp"
#include "zero/setup/groups.hpp"
#include "zero/setup/prepare_data.hpp"
#include "zero/state/batch_loader.hpp"
#include "zero/train/banner.hpp"

namespace zero::commands {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kTextWidth = 88;
constexpr int64_t kMostSteps = 1'000'000'000'000;
constexpr size_t kTokensShown = 6;  // tokens at either end of a sample

struct Steps {
  int64_t first, last;
};

std::optional<int64_t> number_of(std::string_view word) {
  int64_t number = 0;
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

/// Reads "3" or "1..3".
Steps steps_of(std::string_view word) {
  const size_t dots = word.find("..");
  const auto first = number_of(word.substr(0, dots));
  const auto last = dots == word.npos ? first : number_of(word.substr(dots + 2));
  if (first && last && *first >= 1 && *first <= *last && *last <= kMostSteps) {
    return {*first, *last};
  }
  refuse(Exit::kUsage, "command line: --steps: \"", word,
         "\" names no steps; write one as 3, or a range as 1..3");
}

/// A sample, and its place in the run.
struct SamplePosition {
  int64_t step, position, micro_batch;
  int rank;
};

/// The opened data that the command line and the input file ask for.
class View {
 public:
  explicit View(const CommandLine& line);

  std::string summary() const;
  Json summary_json() const;
  void show(const Steps& steps) const;

 private:
  void show_micro_batch(int64_t step, int64_t micro_batch, int rank) const;
  void show_sample(const SamplePosition& at) const;
  std::string text_of(const std::vector<int32_t>& ids) const;
  /// Returns the samples consumed before a step.
  int64_t consumed(int64_t step) const { return cursor_before(step, done_, batch_.train).samples; }
  double epochs() const {
    return double(consumed(config_.run.steps + 1)) / double(train().samples());
  }
  const Dataset& train() const { return *data_.train; }

  const CommandLine& line_;
  RunConfig config_;
  BatchSizes batch_{};
  plan::Request request_;  ///< which rank reads what
  DataCursor done_;
  DataSets data_;
  uint64_t fingerprint_ = 0;
  std::unique_ptr<Tokenizer> tokenizer_;
};

/// Opens the tokenizer. Refuses "bytes" for ids beyond bytes.
std::unique_ptr<Tokenizer> tokenizer_of(const RunConfig& config, const DataSource& source) {
  if (config.data.tokenizer == "bytes" && source.vocab_size() > 256) {
    refuse(Exit::kUsage, "command line: --decode: data.tokenizer = \"bytes\" knows 256 tokens, ",
           config.data.train, " may have ", source.vocab_size(),
           "; write data.tokenizer=FOLDER, the one with its tokenizer.json, or its vocab.json and ",
           "merges.txt");
  }
  return open_tokenizer(config.data.tokenizer);
}

/// Returns the cursor of a run that goes on from the checkpoints in a folder.
DataCursor cursor_in(const std::string& folder) {
  const save::Survey survey =
      save::survey_checkpoints(folder, save::SurveyDepth::manifests, [](const auto&) {});
  if (!survey.resume) {
    refuse(Exit::kNoCheckpoint, "command line: --from: ", survey.root, ": ", survey.why);
  }
  const checkpoint::Store store({.root = survey.root});
  const std::string name = checkpoint::Store::folder_of(*survey.resume);
  const OpenFile place(store.open_folder(name));
  return save::cursor_of(store.read_manifest(place.descriptor(), *survey.resume),
                         survey.root + "/" + name);
}

/// Returns what decides which rank reads a micro-batch. Ranks are taken to share a node.
plan::Request request_of(const RunConfig& config, const CommandLine& line,
                         const BatchSizes& batch) {
  plan::Request request;
  request.ranks = int(line.ranks);
  request.group_ranks = setup::group_ranks(config, {.ranks = request.ranks});
  request.micro_batches = int(batch.accumulation);
  request.reproducible = config.numerics.reproducible;
  return request;
}

View::View(const CommandLine& line) : line_(line) {
  if (!line.from.empty()) done_ = cursor_in(line.from);
  train::StartModel start;
  const ConfigInput input = read_settings(line, start);
  config_ = input.config;
  std::string warning;
  input.locate([&] {
    batch_ = resolve_batch(config_, line.ranks);
    request_ = request_of(config_, line, batch_);
    data_ = setup::open_as_run(config_);
    setup::order_by_length(config_, batch_, data_);
    warning = resolve_steps(config_, train().samples(), batch_.train, done_);
  });
  if (!warning.empty()) warn(warning);
  fingerprint_ = data_.fingerprint();
  if (line.decode) tokenizer_ = tokenizer_of(config_, *data_.train_source);
}

std::string source_text(const std::string& path, const DataSource& source) {
  return text(path, ": ", source.format(), "; ", counted(source.items(), source.item()));
}

std::string fingerprint_text(uint64_t fingerprint) {
  return format("%016llx", (unsigned long long)fingerprint);
}

std::string View::summary() const {
  const DataConfig& data = config_.data;
  std::string out = text("train        ", source_text(data.train, *data_.train_source), "\n");
  out += text("             ", counted(train().samples(), "sample"), " of ", train().form(), "\n");
  if (data_.validation) {
    const std::string from = data_.validation_source
                                 ? source_text(data.validation, *data_.validation_source)
                                 : text("the last ", data.validation_fraction, " of ", data.train);
    out += text("validation   ", from, "; ", counted(data_.validation->samples(), "sample"),
                " held out\n");
  }
  if (!data_.remark.empty()) out += text("remark       ", data_.remark, "\n");
  out += train::lengths_text(data_, batch_.micro);
  out += text("vocabulary   ids below ", data_.train_source->vocab_size(), ", the model's is ",
              model::data_form(model::architecture_of(config_)).vocabulary, "\n");
  out += text("fingerprint  ", fingerprint_text(fingerprint_), "\n");
  out += text("step         ", counted(batch_.train, "sample"), " = ", batch_.micro, " x ",
              batch_.accumulation, " x ", counted(line_.ranks, "rank"), ", ",
              counted(batch_.train * data.sequence_length, "token"), "\n");
  out += text("run          ", counted(config_.run.steps, "step"), " = ", epochs(),
              epochs() == 1 ? " epoch\n" : " epochs\n");
  return out;
}

Json source_json(const std::string& path, const DataSource& source, const Dataset& set) {
  return {{"file", path},
          {"format", source.format()},
          {text(source.item(), "s"), source.items()},
          {"vocab_size", source.vocab_size()},
          {"samples", set.samples()}};
}

Json View::summary_json() const {
  const DataConfig& data = config_.data;
  Json out = {{"train", source_json(data.train, *data_.train_source, train())}};
  if (data_.validation) {
    const bool own = data_.validation_source != nullptr;
    out["validation"] =
        source_json(own ? data.validation : data.train,
                    own ? *data_.validation_source : *data_.train_source, *data_.validation);
  }
  if (!data_.remark.empty()) out["remark"] = data_.remark;
  out["model_vocab_size"] = model::data_form(model::architecture_of(config_)).vocabulary;
  out["sequence_length"] = data.sequence_length;
  if (!train().form_lengths().empty()) out["length_buckets"] = data.length_buckets;
  out["fingerprint"] = fingerprint_text(fingerprint_);
  out["ranks"] = line_.ranks;
  out["train_batch_size"] = batch_.train;
  out["steps"] = config_.run.steps;
  out["epochs"] = epochs();
  return out;
}

void View::show(const Steps& steps) const {
  if (steps.first <= done_.steps) {
    refuse(Exit::kUsage, "command line: --steps: ", steps.first, ": --from ", line_.from,
           " has it behind it, with a batch that may have been another; write ", done_.steps + 1,
           " or a later one");
  }
  if (config_.zero.shard_group == kGroupOfNode && request_.reproducible) {
    refuse_settings({"zero.shard_group"}, "which rank reads a sample depends on the nodes; write ",
                    "the ranks of one");
  }
  const int ranks = int(line_.ranks);
  for (int64_t step = steps.first; step <= steps.last; ++step) {
    for (int64_t number = 0; number < batch_.accumulation * ranks; ++number) {
      show_micro_batch(step, number / ranks, int(number % ranks));
    }
  }
}

void View::show_micro_batch(int64_t step, int64_t micro_batch, int rank) const {
  const int64_t first = state::first_position(batch_, request_, consumed(step), micro_batch, rank);
  for (int64_t i = 0; i < batch_.micro; ++i) {
    show_sample({.step = step, .position = first + i, .micro_batch = micro_batch, .rank = rank});
  }
}

std::string ends_of(const std::vector<int32_t>& tokens) {
  std::string out;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const bool skipped = i >= kTokensShown && i + kTokensShown < tokens.size();
    if (skipped && i == kTokensShown) out += " ...";
    if (!skipped) out += text(" ", tokens[i]);
  }
  return out;
}

/// Decodes ids. Sentinels, which the tokenizer may not know, become numbers.
std::string View::text_of(const std::vector<int32_t>& ids) const {
  if (config_.data.noise_density == 0) return tokenizer_->decode(ids);
  std::string out;
  std::vector<int32_t> known;
  for (const int32_t id : ids) {
    if (id < tokenizer_->vocab_size()) {
      known.push_back(id);
    } else {
      out += text(tokenizer_->decode(std::exchange(known, {})), '<', id, '>');
    }
  }
  return out + tokenizer_->decode(known);
}

void View::show_sample(const SamplePosition& at) const {
  const std::vector<ShownIds> columns = train().shown(at.position);
  const int64_t sample = train().sample_at(at.position);
  const int64_t epoch = at.position / train().samples() + 1;
  if (line_.json) {
    Json json = {{"step", at.step}, {"micro_batch", at.micro_batch},
                 {"rank", at.rank}, {"position", at.position},
                 {"epoch", epoch},  {"sample", sample}};
    for (const ShownIds& column : columns) {
      json[column.name] = column.words.empty() ? Json(column.ids) : Json(column.words);
      const std::string key = columns.size() > 1 ? column.name + "_text" : "text";
      if (tokenizer_ && column.is_text) json[key] = text_of(column.ids);
    }
    std::puts(json.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
    return;
  }
  std::printf("step %lld  micro-batch %lld  rank %d  position %lld  epoch %lld  sample %lld\n",
              (long long)at.step, (long long)at.micro_batch, at.rank, (long long)at.position,
              (long long)epoch, (long long)sample);
  for (const ShownIds& column : columns) {
    const std::string name = columns.size() > 1 ? " " + column.name : "";
    const std::string ids = column.words.empty() ? ends_of(column.ids) : " " + column.words;
    std::printf("   %s%s\n", name.c_str(), ids.c_str());
    if (tokenizer_ && column.is_text)
      std::printf("    %s\n", escaped_text(text_of(column.ids), kTextWidth).c_str());
  }
}

}  // namespace

int data(const CommandLine& line) {
  std::optional<Steps> steps;
  if (!line.steps.empty()) steps = steps_of(line.steps);
  const View view(line);
  if (!line.json) std::fputs(view.summary().c_str(), stdout);
  if (line.json && !steps)
    std::puts(view.summary_json().dump(2, ' ', false, Json::error_handler_t::replace).c_str());
  if (steps) view.show(*steps);
  if (std::fflush(stdout) != 0) refuse(Exit::kIo, "the console: could not be written");
  return int(Exit::kFinished);
}

}  // namespace zero::commands
