#include <algorithm>
#include <utility>

#include "io/data/data_file.hpp"
#include "io/data/data_paths.hpp"
#include "io/data/document_samples.hpp"
#include "io/data/field_file.hpp"
#include "io/data/id_file.hpp"
#include "io/data/mixed_samples.hpp"
#include "io/data/parquet_file.hpp"
#include "io/data/prepared_documents.hpp"
#include "io/data/token_data.hpp"
#include "io/data/two_texts.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/io/data/data_kind.hpp"

namespace zero {
namespace {

constexpr const char *kTrain = "data.train", *kPacking = "data.packing";

bool names_documents(const std::string& path) {
  return names_fields(path) || names_prepared(path) || names_parquet(path);
}

/// True if a file of records is read.
bool reads_records(const DataConfig& data) {
  const auto names = [](const DataPart& part) { return names_documents(part.path); };
  return names_documents(data.train) || names_documents(data.validation) ||
         std::ranges::any_of(data.train_parts, names);
}

/// Counts of a set's documents for people.
struct Tally {
  int64_t documents = 0, rows = 0, cut = 0, unlearnt = 0;
  double filled = 0;  ///< rows without their padding
  DocumentSource::Counts of_source = {};

  void add(const RowPlan& plan) {
    documents += int64_t(plan.pieces.size());
    rows += plan.rows();
    cut += plan.cut;
    unlearnt += plan.unlearnt;
    filled += double(plan.rows()) * (1 - plan.padding());
  }
  std::string words(Packing packing, int64_t length) const;
};

std::string with_comma(const std::string& words) { return words.empty() ? "" : ", " + words; }

std::string Tally::words(Packing packing, int64_t length) const {
  std::string words;
  const auto say = [&](int64_t count, const std::string& what) {
    if (count > 0) words += text(words.empty() ? "" : ", ", what);
  };
  const bool is_stream = packing == Packing::stream;
  if (!is_stream && rows > 0) {
    words = text(counted(documents, "document"),
                 packing == Packing::documents ? text(" in ", counted(rows, "row")) : "",
                 format(", %.1f %% of places are padding", 100 * (1 - filled / double(rows))));
  }
  say(cut, text(counted(cut, "document"), " cut to ", counted(length, "token")));
  say(unlearnt,
      text(counted(unlearnt, is_stream ? "sample" : "document"), " without a target left out"));
  say(of_source.empty,
      text(counted(of_source.empty, "document"), of_source.empty == 1 ? " is" : " are", " empty"));
  say(of_source.merged, text(counted(of_source.merged, "completion"), " learnt with the prompt's ",
                             "last token, which reaches into it"));
  say(of_source.blank_lines, blank_lines_text(of_source.blank_lines));
  return words;
}

/// The sources of a run's files, and the counts of their documents.
struct Opened {
  std::vector<std::unique_ptr<DataSource>> sources;
  std::vector<MixedSamples::Part> train, held_out;
  Tally trained, validated;
};

/// An opener of the files of a run.
class Opener {
 public:
  explicit Opener(const DataOptions& options)
      : options_(options),
        packing_(packing_of(options)),
        tokenizer_(open_tokenizer(options.data.tokenizer)),
        rules_(document_rules(options, *tokenizer_)) {}

  DataSets open() {
    const std::vector<DataPath> paths = data_paths(options_.data);
    require_whole_mixture(paths);
    left_ = options_.data.max_train_samples;
    held_out_left_ = options_.data.max_validation_samples;
    Opened opened;
    for (const DataPath& path : paths) {
      add(path, paths.size() == 1, opened);
      if (options_.data.max_train_samples > 0 && left_ == 0) break;  // validation ends here, too
    }
    if (opened.train.empty()) refuse_none(opened);
    DataSets sets;
    sets.train = joined(std::move(opened.train), options_.seed, paths.size() == 1);
    if (!opened.held_out.empty())
      sets.validation = joined(std::move(opened.held_out), std::nullopt, false);
    sets.train_source = joined(std::move(opened.sources), paths);
    add_validation(sets, opened.validated);
    sets.remark = remark_of(opened);
    return sets;
  }

 private:
  /// Refuses a count of samples from the first where parts are mixed by weights.
  void require_whole_mixture(const std::vector<DataPath>& paths) const {
    if (options_.data.max_train_samples == 0 || paths.front().weight == 0) return;
    refuse_settings({"data.max_train_samples", kTrain},
                    "counts documents from the first, and parts ",
                    "with weights are mixed; write 0, or a list without weights");
  }

  /// Opens a file and adds its samples.
  void add(const DataPath& path, bool is_alone, Opened& opened) {
    const std::optional<uint64_t> seed = is_alone ? std::optional(options_.seed) : std::nullopt;
    if (names_documents(path.path) || packing_ != Packing::stream) {
      add_documents(path, seed, opened);
    } else {
      add_tokens(path, seed, opened);
    }
  }
  void add_documents(const DataPath& path, std::optional<uint64_t> seed, Opened& opened) {
    auto source = documents(path.path);
    const int64_t trained = trained_samples(options_, source->items());
    const int64_t count = limited(trained, left_);
    left_ -= left_ > 0 ? count : 0;
    auto train = samples(*source, {.first = 0, .count = count}, seed, opened.trained);
    if (!train && path.weight > 0) {
      refuse(Exit::kInput, path.path, ": none of ", counted(count, "document"),
             " has a target, so it has no share of the samples; remove it from data.train, or ",
             "raise data.sequence_length");
    }
    if (train) opened.train.push_back({std::move(train), path.part, path.weight});
    opened.trained.of_source.blank_lines += source->counts().blank_lines;
    if (const int64_t held_out = held_out_of(source->items() - trained); held_out > 0) {
      auto set =
          samples(*source, {.first = trained, .count = held_out}, std::nullopt, opened.validated);
      if (set) opened.held_out.push_back({std::move(set), path.part});
    }
    opened.sources.push_back(std::move(source));
  }
  /// Adds the windows of a text or of a file of tokens.
  void add_tokens(const DataPath& path, std::optional<uint64_t> seed, Opened& opened) {
    auto source = tokens(path.path);
    const int64_t window = options_.data.sequence_length + 1, all = source->tokens() / window;
    if (all == 0) {
      refuse(Exit::kInput, path.path, ": ", counted(source->tokens(), "token"),
             " hold no sample of ", window, "; join it to another file");
    }
    const int64_t trained = trained_samples(options_, all), count = limited(trained, left_);
    left_ -= left_ > 0 ? count : 0;
    opened.train.push_back({windows(*source, {.tokens = count * window, .shuffle_seed = seed}),
                            path.part, path.weight});
    if (const int64_t held_out = held_out_of(all - trained); held_out > 0) {
      opened.held_out.push_back({windows(*source, {.first_token = trained * window,
                                                   .tokens = source->tokens() - trained * window,
                                                   .max_samples = held_out,
                                                   .keep_tail = true}),
                                 path.part});
    }
    opened.sources.push_back(std::move(source));
  }

  std::unique_ptr<DocumentSource> documents(const std::string& path) const {
    if (names_prepared(path)) return open_prepared_documents(path, rules_, *tokenizer_);
    if (names_documents(path))
      return encoded_documents(open_document_file(path, rules_.fields), rules_, tokenizer_);
    return open_megatron_documents(path, options_.vocab_size);
  }
  std::unique_ptr<TokenSource> tokens(const std::string& path) const {
    return open_tokens(
        {.path = path, .tokenizer = options_.data.tokenizer, .vocab_size = options_.vocab_size});
  }
  std::unique_ptr<Dataset> windows(const TokenSource& source, TokenWindows::Options asked) const {
    asked.sequence_length = options_.data.sequence_length;
    return std::make_unique<TokenWindows>(source, asked);
  }
  /// Returns the samples of documents of the source; null if none has a target.
  std::unique_ptr<Dataset> samples(DocumentSource& source, DocumentRange range,
                                   std::optional<uint64_t> seed, Tally& tally) const {
    const DocumentSource::Counts before = source.counts();
    range.first = source.add(range.first, range.count);
    const DocumentSource::Counts after = source.counts();
    tally.of_source +=
        {.empty = after.empty - before.empty, .merged = after.merged - before.merged};
    const RowRules rules{.length = options_.data.sequence_length,
                         .refuse_long = options_.data.too_long == TooLong::refuse};
    RowPlan plan = packing_ == Packing::stream      ? windows_of_documents(source, range, rules)
                   : packing_ == Packing::documents ? pack_documents(source, range, rules)
                                                    : one_document_a_row(source, range, rules);
    tally.add(plan);
    if (plan.rows() == 0) return nullptr;
    return std::make_unique<DocumentSamples>(
        source, std::move(plan),
        DocumentSamples::Options{.is_packed = packing_ == Packing::documents,
                                 .shuffle_seed = seed});
  }

  /// Returns how many of the last samples of a file are validated on.
  int64_t held_out_of(int64_t samples) {
    const int64_t most = options_.data.max_validation_samples;
    const int64_t count = most > 0 ? std::min(samples, held_out_left_) : samples;
    held_out_left_ -= count;
    return count;
  }

  /// Opens data.validation.
  void add_validation(DataSets& sets, Tally& tally) const {
    const std::string& path = options_.data.validation;
    const int64_t most = options_.data.max_validation_samples;
    if (path.empty()) return;
    if (!names_documents(path) && packing_ == Packing::stream) {
      auto source = tokens(path);
      sets.validation =
          windows(*source, {.tokens = source->tokens(), .max_samples = most, .keep_tail = true});
      sets.validation_source = std::move(source);
      return;
    }
    auto source = documents(path);
    sets.validation = samples(*source, {.first = 0, .count = limited(source->items(), most)},
                              std::nullopt, tally);
    tally.of_source.blank_lines += source->counts().blank_lines;
    if (!sets.validation) {
      refuse(Exit::kInput, path, ": none of its documents has a target",
             with_comma(tally.words(packing_, options_.data.sequence_length)), "; ", kAdvice);
    }
    sets.validation_source = std::move(source);
  }

  [[noreturn]] void refuse_none(const Opened& opened) const {
    refuse(Exit::kInput, options_.data.train, ": no document has a target",
           with_comma(opened.trained.words(packing_, options_.data.sequence_length)), "; ",
           kAdvice);
  }

  static std::unique_ptr<Dataset> joined(std::vector<MixedSamples::Part> parts,
                                         std::optional<uint64_t> seed, bool is_alone) {
    if (is_alone || (parts.size() == 1 && !seed)) return std::move(parts.front().samples);
    return std::make_unique<MixedSamples>(std::move(parts), seed);
  }
  /// Returns the sources as one that changes with the weights.
  static std::unique_ptr<DataSource> joined(std::vector<std::unique_ptr<DataSource>> sources,
                                            const std::vector<DataPath>& paths) {
    if (paths.size() == 1) return std::move(sources.front());
    std::string weights;
    for (const DataPath& path : paths) weights += text(path.part, ' ', path.weight, '\n');
    const uint64_t salt = number_of(xxh3_of(std::as_bytes(std::span(weights))));
    return std::make_unique<JoinedSource>(std::move(sources), salt);
  }

  std::string remark_of(const Opened& opened) const {
    std::string remark;
    const auto add = [&](const char* set, const Tally& tally) {
      const std::string words = tally.words(packing_, options_.data.sequence_length);
      if (!words.empty()) remark += text(remark.empty() ? "" : "; ", "in ", set, " ", words);
    };
    add("training", opened.trained);
    add("validation", opened.validated);
    return remark;
  }

  static constexpr const char* kAdvice =
      "write a longer data.sequence_length, or documents of which something is learnt";

  const DataOptions& options_;
  Packing packing_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  DocumentRules rules_;
  // Samples to take from the files that follow, if data.max_... limit them.
  int64_t left_ = 0, held_out_left_ = 0;
};

void require_packing(const DataOptions& options) {
  if (packing_of(options) != Packing::documents || options.packs) return;
  refuse_settings({kPacking, "model.family"},
                  "\"documents\" keeps the documents of a sample apart, ",
                  "which this family of models cannot; write \"none\", a document a sample, or ",
                  "\"stream\", where documents see those before them");
}

std::vector<DataColumn> columns(const DataOptions& options) {
  require_packing(options);
  return DocumentSamples::columns_of(options.data.sequence_length,
                                     packing_of(options) == Packing::documents);
}

std::vector<std::string> files(const DataOptions& options) {
  DataOptions one = options;
  std::vector<std::string> paths;
  for (const std::string& path : possible_paths(options.data)) {
    paths.push_back(path);
    if (path.ends_with(".bin")) paths.push_back(index_path(path));
    if (names_prepared(path)) paths.push_back(prepared_list(path));
  }
  one.data.train = "";
  for (const std::string& path : token_data().files(one)) paths.push_back(path);
  if (options.data.validation.empty())
    for (const std::string& path : tokenizer_paths(options.data.tokenizer)) paths.push_back(path);
  return paths;
}

DataSets open(const DataOptions& options) {
  require_packing(options);
  const bool is_plain = options.data.train_parts.empty() && !reads_records(options.data);
  if (is_plain && packing_of(options) == Packing::stream) return token_data().open(options);
  if (options.data.train == "synthetic") {
    refuse_settings({kPacking, kTrain}, "synthetic data have no documents; write \"stream\" or ",
                    "\"auto\", or a file of documents");
  }
  return Opener(options).open();
}

}  // namespace

DocumentRules document_rules(const DataOptions& options, const Tokenizer& tokenizer) {
  const DataConfig& data = options.data;
  const int64_t known = known_ids(options, tokenizer).eos;
  const int64_t end = data.eos_id >= 0 ? data.eos_id : known >= 0 ? known : options.ids.end;
  if (end >= options.vocab_size) {
    refuse_settings({"data.eos_id"}, end, " is beyond the model's vocabulary, which is of ",
                    options.vocab_size, "; write one below");
  }
  return {.fields = {data.text_field, data.prompt_field, data.completion_field},
          .special_tokens = data.special_tokens,
          .end = int32_t(end),
          .vocab_size = options.vocab_size};
}

bool takes_documents(const DataConfig& data) {
  return data.packing != Packing::automatic || !data.train_parts.empty() || reads_records(data);
}

Packing packing_of(const DataOptions& options) {
  if (options.data.packing != Packing::automatic) return options.data.packing;
  if (!reads_records(options.data)) return Packing::stream;
  return options.packs ? Packing::documents : Packing::none;
}

const DataKind& document_data() {
  static const DataKind kDocuments{
      .name = "documents",
      .columns = columns,
      .files = files,
      .open = open,
      .keys = {kPacking, "data.text_field", "data.prompt_field", "data.completion_field",
               "data.special_tokens", "data.eos_id", "data.too_long"}};
  return kDocuments;
}

}  // namespace zero
