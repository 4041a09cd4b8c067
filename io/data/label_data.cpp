#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "io/data/encoded_labels.hpp"
#include "io/data/sample_files.hpp"
#include "io/data/synthetic.hpp"
#include "io/data/two_texts.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/io/data/data_kind.hpp"

namespace zero {
namespace {

constexpr int64_t kMostClasses = 10'000;  // the range of model.labels
constexpr const char *kTrain = "data.train", *kSynthetic = "synthetic";

int64_t labels_of(const DataOptions& options) {
  const auto found = options.model.find("labels");
  ZERO_REQUIRE(found != options.model.end() && found->second >= 1,
               "labelled texts for a model without a count of labels");
  return found->second;
}

bool is_real(const DataOptions& options) { return labels_of(options) == 1; }

LabelForm form_of_columns(const DataOptions& options) {
  return {.length = options.data.sequence_length, .is_real = is_real(options)};
}

std::vector<DataColumn> columns(const DataOptions& options) {
  return form_of_columns(options).columns();
}

int32_t id_of_role(const DataOptions& options, int32_t id, const char* role, const char* place) {
  if (id >= 0) return id;
  refuse_settings({"data.tokenizer"}, "the tokenizer ", options.data.tokenizer, " names no ", role,
                  " token, which stands ", place, "; take the one that the model comes with, or ",
                  "write \"bytes\"");
}

/// Returns the form of samples. For bytes, cls and sep are control characters that texts seldom
/// hold.
LabelForm form_of(const DataOptions& options, const Tokenizer& tokenizer) {
  SpecialIds known = known_ids(options, tokenizer);
  LabelForm form = form_of_columns(options);
  form.pad = pad_id_of(options, known);
  if (options.data.tokenizer == "bytes") {
    known.cls = form.pad == 1 ? 2 : 1;
    known.sep = form.pad == 0 || form.pad > 2 ? 2 : 3;
  }
  form.cls = id_of_role(options, known.cls, "cls", "in front of each sample");
  form.sep = id_of_role(options, known.sep, "sep", "behind each text");
  return form;
}

/// Throws SettingsError unless the model has a label for each class. `key` is the key that the
/// classes come from.
void require_count(const DataOptions& options, const std::vector<std::string>& classes,
                   const char* key) {
  const int64_t labels = labels_of(options), count = int64_t(classes.size());
  if (count == labels) return;
  if (count > kMostClasses) {
    refuse_settings({"model.labels", key}, key, " has ", count, " classes, ", classes_text(classes),
                    ", and a model at most ", kMostClasses, "; write data.label_field, the field ",
                    "of the label, or model.labels = 1 to learn real numbers");
  }
  const bool may_lack = count < labels && key == kTrain;
  std::string advice = text("write model.labels = ", count);
  if (may_lack) advice += ", or all classes as data.labels";
  if (count == 1) advice = "write all classes as data.labels";
  if (std::ranges::any_of(classes, is_fraction))
    advice += ", or model.labels = 1 to learn real numbers";
  refuse_settings({"model.labels", key}, key, " has ",
                  count == 1 ? "the class " : text("the ", count, " classes "),
                  classes_text(classes), " and the model ", counted(labels, "label"), "; ", advice);
}

void require_names(const DataOptions& options) {
  const DataConfig& data = options.data;
  const auto is_empty = [](const std::string& name) { return name.empty(); };
  if (data.text_fields.size() > 2 || std::ranges::any_of(data.text_fields, is_empty)) {
    refuse_settings({"data.text_fields"}, "a sample has one text or two, each in a field with a ",
                    "name; write [\"NAME\"] or [\"FIRST\", \"SECOND\"]");
  }
  if (data.labels.size() == 1) {
    refuse_settings({"data.labels"}, "has one class, \"", data.labels[0],
                    "\"; write two or more, or ", "none and model.labels = 1 for real numbers");
  }
  if (!data.labels.empty() && is_real(options)) {
    refuse_settings({"data.labels", "model.labels"}, "a model of model.labels = 1 learns real ",
                    "numbers and no classes; remove data.labels, or write model.labels = ",
                    std::max<size_t>(data.labels.size(), 2));
  }
  size_t bytes = 0;
  for (const std::string& name : data.labels) bytes += name.size();
  if (bytes > kMostClassBytes) {
    refuse_settings({"data.labels"}, "the names have ", bytes, " bytes; write shorter ones, of ",
                    kMostClassBytes, " bytes in all");
  }
  std::vector<std::string> sorted = data.labels;
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice == sorted.end()) return;
  refuse_settings({"data.labels"}, "\"", *twice, "\" stands there twice; write each class once");
}

/// Returns "0", "1", ... for classes without names.
std::vector<std::string> numbers(int64_t count) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < count; ++i) names.push_back(std::to_string(i));
  return names;
}

/// Returns the reader of the labels of data.train, and so of all files.
LabelReader reader_for(const DataOptions& options, const LabelFile& train) {
  const std::vector<std::string>&written = options.data.labels, &known = options.known_labels;
  if (is_real(options)) return {};
  if (!written.empty()) {
    require_count(options, written, "data.labels");
    return {written, ClassNames::written};
  }
  if (options.keeps_labels)
    return {known.empty() ? numbers(labels_of(options)) : known, ClassNames::of_model};
  const std::vector<std::string> classes = in_known_order(classes_in(train), known);
  require_count(options, classes, kTrain);
  return {classes, ClassNames::of_train};
}

/// An opener of labelled texts in a file, and in one more file for validation.
class LabelOpener {
 public:
  LabelOpener(const DataOptions& options, std::shared_ptr<const Tokenizer> tokenizer)
      : options_(options),
        tokenizer_(std::move(tokenizer)),
        form_(form_of(options, *tokenizer_)),
        train_(file(options.data.train)),
        reader_(reader_for(options, *train_)) {}

  std::unique_ptr<EncodedLabels> opened(const std::string& path) const {
    const auto own = path == options_.data.train ? train_ : file(path);
    const size_t texts = own->fields().texts.size(), wanted = train_->fields().texts.size();
    if (texts != wanted) {
      refuse(Exit::kInput, path, ": has ", counted(int64_t(texts), "text"), " in a sample, and ",
             options_.data.train, " ", wanted, "; write data.text_fields, the names in both");
    }
    const bool refuses = options_.data.too_long == TooLong::refuse;
    return std::make_unique<EncodedLabels>(
        own, reader_, EncodedLabels::Options{.form = form_, .refuse_long = refuses}, tokenizer_);
  }
  std::unique_ptr<Dataset> samples(EncodedLabels& source, int64_t first, int64_t count,
                                   std::optional<uint64_t> seed) const {
    return std::make_unique<LabelSamples>(source, form_, source.add(first, count), count, seed);
  }
  std::string remark(const EncodedLabels& source) const {
    std::string words;
    if (source.cut() > 0)
      words = text(counted(source.cut(), "sample"), " cut to ", counted(form_.length, "token"));
    const bool is_tsv = source.format().starts_with("TSV");
    if (const int64_t quoted = source.quoted(); is_tsv && quoted > 0) {
      words +=
          text(words.empty() ? "" : ", ", counted(quoted, "text"), " in double quotes, which a ",
               "TSV keeps (a table of another program may be a CSV with tabs)");
    }
    if (const int64_t blank = source.file().blank_lines(); blank > 0)
      words += text(words.empty() ? "" : ", ", blank_lines_text(blank));
    return words;
  }
  const std::vector<std::string>& classes() const { return reader_.classes(); }

 private:
  std::shared_ptr<const LabelFile> file(const std::string& path) const {
    return std::make_shared<LabelFile>(
        path, LabelFields{.texts = options_.data.text_fields, .label = options_.data.label_field});
  }

  const DataOptions& options_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  LabelForm form_;
  std::shared_ptr<const LabelFile> train_;
  LabelReader reader_;
};

/// A set of samples of random ids, all of the longest length, to measure speed. Views the source of
/// ids, which must outlive it.
class SyntheticLabels : public LabelDataset {
 public:
  struct Drawn {
    std::vector<std::string> classes = {};
    int64_t samples = 0;
    uint64_t seed = 0;
  };
  SyntheticLabels(const TokenSource& source, const LabelForm& form, const Drawn& drawn)
      : LabelDataset(form, drawn.classes, drawn.samples, drawn.seed),
        source_(source),
        labels_(std::max<int64_t>(int64_t(drawn.classes.size()), 2)) {}
  LengthPair lengths(int64_t) const override { return {.target = form_.length}; }

 private:
  int64_t copy_ids(int64_t sample, std::span<int32_t> out) const override {
    const auto ids = out.first(size_t(form_.length));
    source_.read(sample * form_.length, ids);
    return form_.length;
  }
  double label_of(int64_t sample) const override { return double(sample % labels_); }

  const TokenSource& source_;
  int64_t labels_;
};

/// Returns the names in data.labels, else "0", "1", ...
std::vector<std::string> classes_of_synthetic(const DataOptions& options) {
  const std::vector<std::string>& written = options.data.labels;
  const std::vector<std::string> classes = written.empty() ? numbers(labels_of(options)) : written;
  require_count(options, classes, "data.labels");
  return classes;
}

DataSets open_synthetic(const DataOptions& options, const Tokenizer& tokenizer) {
  const LabelForm form = form_of(options, tokenizer);
  const int64_t samples = synthetic_samples(options.data.max_train_samples);
  auto source =
      std::make_unique<SyntheticTokens>(options.seed, samples * form.length, options.vocab_size);
  DataSets sets;
  if (!form.is_real) sets.classes = classes_of_synthetic(options);
  sets.train = std::make_unique<SyntheticLabels>(
      *source, form,
      SyntheticLabels::Drawn{.classes = sets.classes, .samples = samples, .seed = options.seed});
  sets.train_source = std::move(source);
  sets.synthetic = true;
  return sets;
}

/// Returns "no 2, yes 3", but at most eight classes.
std::string counts_text(const std::vector<std::string>& classes,
                        const std::vector<int64_t>& counts) {
  constexpr size_t kMostNamed = 8;
  std::string words;
  for (size_t i = 0; i < std::min(classes.size(), kMostNamed); ++i)
    words += text(i > 0 ? ", " : "", class_text(classes[i]), " ", counts[i]);
  return words + (classes.size() > kMostNamed ? ", ..." : "");
}

/// Returns words on the classes of each set. REQUIRES: a LabelOpener has opened them.
std::string words_on_classes(const DataSets& sets) {
  const auto counts_of = [](const Dataset& set) {
    return static_cast<const LabelSamples&>(set).counts_of_classes();
  };
  std::string words = "classes " + counts_text(sets.classes, counts_of(*sets.train));
  if (!sets.validation) return words;
  const std::vector<int64_t> held_out = counts_of(*sets.validation);
  words += "; in validation " + counts_text(sets.classes, held_out);
  const auto is_there = [](int64_t count) { return count > 0; };
  if (std::ranges::count_if(held_out, is_there) == 1 && sets.validation->samples() > 1) {
    words +=
        ": one class alone, so its metrics say little; shuffle the lines of the file, or write "
        "data.validation, a file with all";
  }
  return words;
}

DataSets open(const DataOptions& options) {
  require_names(options);
  const std::shared_ptr<const Tokenizer> tokenizer = open_tokenizer(options.data.tokenizer);
  require_vocabulary(options, *tokenizer);
  if (options.data.train == kSynthetic) return open_synthetic(options, *tokenizer);
  const LabelOpener opener(options, tokenizer);
  DataSets sets = open_sample_files(options, opener);
  sets.classes = opener.classes();
  if (!sets.classes.empty()) {
    const std::string words = words_on_classes(sets);
    sets.remark = sets.remark.empty() ? words : text(words, "; ", sets.remark);
  }
  return sets;
}

}  // namespace

const DataKind& label_data() {
  static const DataKind kLabels{.name = "labels",
                                .columns = columns,
                                .files = token_data().files,
                                .open = open,
                                .keys = {"data.labels", "data.text_fields", "data.label_field",
                                         "data.pad_id", "data.too_long", "data.length_buckets"}};
  return kLabels;
}

}  // namespace zero
