#include "tests/objectives/tone_data.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>
#include <set>
#include <sstream>
#include <utility>

#include "tests/objectives/held_file.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

constexpr std::string_view kBuckets = "data.length_buckets";
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Line {
  std::string label, text;
};

/// A file of labels and texts, held whole.
class ToneFile : public HeldFile {
 public:
  explicit ToneFile(const std::string& path) : HeldFile(path) {
    std::istringstream lines(content());
    for (std::string line; std::getline(lines, line);) {
      const size_t tab = line.find('\t');
      if (tab == line.npos || tab + 1 == line.size())
        refuse(Exit::kInput, path, ": line ", lines_.size() + 1, ": no label and text");
      lines_.push_back({line.substr(0, tab), line.substr(tab + 1)});
    }
  }

  std::string format() const override { return "texts with tones"; }
  int64_t items() const override { return int64_t(lines_.size()); }
  const Line& line(int64_t index) const { return lines_.at(size_t(index)); }

  /// Returns the words in front of texts, in the order of `wanted` or `known` if it has the same.
  std::vector<std::string> classes(const std::vector<std::string>& wanted,
                                   const std::vector<std::string>& known) const {
    if (!wanted.empty()) return wanted;
    std::set<std::string> words;
    for (const Line& line : lines_) words.insert(line.label);
    return in_known_order({words.begin(), words.end()}, known);
  }

 private:
  std::vector<Line> lines_;
};

/// A stretch of the lines of a file. Without classes, labels are numbers.
struct Stretch {
  const ToneFile& file;
  int64_t first, count;
  std::vector<std::string> classes;
};

std::vector<DataColumn> columns(const DataOptions& options, const char* label, Dtype dtype) {
  return {{.name = "tokens", .numel = options.data.sequence_length},
          {.name = label, .dtype = dtype, .numel = 1}};
}
std::vector<DataColumn> tone_columns(const DataOptions& options) {
  return columns(options, "tone", Dtype::i32);
}
std::vector<DataColumn> grade_columns(const DataOptions& options) {
  return columns(options, "grade", Dtype::f32);
}

class Labelled : public Dataset {
 public:
  Labelled(std::vector<DataColumn> columns, Stretch stretch, std::optional<uint64_t> seed)
      : Dataset(std::move(columns), stretch.count, seed), stretch_(std::move(stretch)) {}

  std::string form() const override { return "a text and its label"; }
  double label(int64_t position) const override { return label_of(sample_at(position)); }
  LengthPair lengths(int64_t sample) const override {
    const int64_t bytes = int64_t(stretch_.file.line(stretch_.first + sample).text.size());
    return {.target = std::min(bytes, columns().front().numel)};
  }

 private:
  double label_of(int64_t sample) const {
    const std::string& word = stretch_.file.line(stretch_.first + sample).label;
    if (stretch_.classes.empty()) return std::atof(word.c_str());
    const auto found = std::ranges::find(stretch_.classes, word);
    if (found == stretch_.classes.end()) refuse(Exit::kInput, word, ": no class of the model");
    return double(found - stretch_.classes.begin());
  }
  std::vector<DataColumn> columns_for(const LengthPair& pair) const override {
    std::vector<DataColumn> shorter = columns();
    shorter.front().numel = pair.target;
    return shorter;
  }
  void read_sample(int64_t sample, ColumnSpans out) const override {
    const bool is_there = sample < samples();
    const auto tokens = values_in<int32_t>(out[0]);
    std::ranges::fill(tokens, 0);
    const double label = is_there ? label_of(sample) : 0;
    values_in<int32_t>(out[1])[0] = !stretch_.classes.empty()
                                        ? (is_there ? int32_t(label) : kNotCounted)
                                        : std::bit_cast<int32_t>(is_there ? float(label) : kNan);
    if (!is_there) return;
    const std::string& text = stretch_.file.line(stretch_.first + sample).text;
    const size_t length = std::min(text.size(), tokens.size());
    for (size_t i = 0; i < length; ++i) tokens[i] = uint8_t(text[i]);
  }
  int64_t counted_in(int64_t sample) const override { return sample < samples() ? 1 : 0; }

  Stretch stretch_;
};

std::vector<std::string> files(const DataOptions& options) {
  std::vector<std::string> all = {options.data.train};
  if (!options.data.validation.empty()) all.push_back(options.data.validation);
  return all;
}

DataSets open(const DataOptions& options, const std::vector<DataColumn>& columns, bool classes) {
  auto file = std::make_unique<ToneFile>(options.data.train);
  const int64_t trained = trained_samples(options, file->items());
  DataSets sets;
  if (classes) sets.classes = file->classes(options.data.labels, options.known_labels);
  const auto set = [&](const ToneFile& of, int64_t first, int64_t count, bool shuffles) {
    return std::make_unique<Labelled>(columns, Stretch{of, first, count, sets.classes},
                                      shuffles ? std::optional(options.seed) : std::nullopt);
  };
  sets.train = set(*file, 0, limited(trained, options.data.max_train_samples), true);
  const int64_t most = options.data.max_validation_samples;
  if (!options.data.validation.empty()) {
    auto other = std::make_unique<ToneFile>(options.data.validation);
    sets.validation = set(*other, 0, limited(other->items(), most), false);
    sets.validation_source = std::move(other);
  } else if (const int64_t rest = file->items() - trained; rest > 0) {
    sets.validation = set(*file, trained, limited(rest, most), false);
  }
  sets.train_source = std::move(file);
  return sets;
}

DataSets open_tones(const DataOptions& options) {
  return open(options, tone_columns(options), true);
}
DataSets open_grades(const DataOptions& options) {
  return open(options, grade_columns(options), false);
}

}  // namespace

const DataKind& tone_data() {
  static const DataKind kToneData{.name = "tones",
                                  .columns = tone_columns,
                                  .files = files,
                                  .open = open_tones,
                                  .keys = {kBuckets}};
  return kToneData;
}

const DataKind& grade_data() {
  static const DataKind kGradeData{.name = "grades",
                                   .columns = grade_columns,
                                   .files = files,
                                   .open = open_grades,
                                   .keys = {kBuckets}};
  return kGradeData;
}

}  // namespace zero
