#include "tests/objectives/mood_data.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

#include "tests/objectives/held_file.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"

namespace zero {
namespace {

struct Line {
  int32_t mood;
  std::string text;
};

/// A file of moods and texts, held whole.
class MoodFile : public HeldFile {
 public:
  explicit MoodFile(const std::string& path) : HeldFile(path) {
    std::istringstream lines(content());
    for (std::string line; std::getline(lines, line);) {
      const int32_t mood = line.empty() ? -1 : line[0] - '0';
      if (line.size() < 3 || line[1] != '\t' || mood < 0 || mood >= kMoods) {
        refuse(Exit::kInput, path, ": line ", lines_.size() + 1, ": no mood and text");
      }
      lines_.push_back({mood, line.substr(2)});
    }
  }

  std::string format() const override { return "texts with moods"; }
  int64_t items() const override { return int64_t(lines_.size()); }
  const Line& line(int64_t index) const { return lines_.at(size_t(index)); }

 private:
  std::vector<Line> lines_;
};

std::vector<DataColumn> mood_columns(const DataOptions& options) {
  return {{.name = "tokens", .numel = options.data.sequence_length},
          {.name = "moods", .numel = options.data.sequence_length}};
}

/// A stretch of the lines of a file.
struct Stretch {
  const MoodFile& file;
  int64_t first, count;
};

class Labelled : public Dataset {
 public:
  Labelled(const Stretch& stretch, const DataOptions& options, std::optional<uint64_t> seed)
      : Dataset(mood_columns(options), stretch.count, seed), stretch_(stretch) {}

  std::string form() const override { return "a text and its mood"; }

 private:
  void read_sample(int64_t sample, ColumnSpans out) const override {
    const auto tokens = values_in<int32_t>(out[0]), moods = values_in<int32_t>(out[1]);
    std::ranges::fill(tokens, 0);
    std::ranges::fill(moods, kNotCounted);
    if (sample >= samples()) return;
    const Line& line = stretch_.file.line(stretch_.first + sample);
    const size_t length = std::min(line.text.size(), tokens.size());
    for (size_t i = 0; i < length; ++i) tokens[i] = uint8_t(line.text[i]);
    moods[length - 1] = line.mood;
  }
  int64_t counted_in(int64_t sample) const override { return sample < samples() ? 1 : 0; }

  Stretch stretch_;
};

std::vector<std::string> files(const DataOptions& options) { return {options.data.train}; }

DataSets open(const DataOptions& options) {
  auto file = std::make_unique<MoodFile>(options.data.train);
  const int64_t trained = trained_samples(options, file->items());
  const auto set = [&](int64_t first, int64_t count, std::optional<uint64_t> seed) {
    return std::make_unique<Labelled>(Stretch{*file, first, count}, options, seed);
  };
  DataSets sets;
  sets.train = set(0, limited(trained, options.data.max_train_samples), options.seed);
  if (const int64_t rest = file->items() - trained; rest > 0) {
    sets.validation =
        set(trained, limited(rest, options.data.max_validation_samples), std::nullopt);
  }
  sets.train_source = std::move(file);
  return sets;
}

}  // namespace

const DataKind& mood_data() {
  static const DataKind kMoodData{
      .name = "moods", .columns = mood_columns, .files = files, .open = open};
  return kMoodData;
}

}  // namespace zero
