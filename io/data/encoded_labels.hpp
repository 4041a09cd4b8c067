#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/data/id_rows.hpp"
#include "io/data/label_form.hpp"
#include "io/data/label_reader.hpp"
#include "zero/io/data/data_source.hpp"
#include "zero/io/text/tokenizer.hpp"

namespace zero {

/// The labelled texts of a file, tokenized once and kept in memory.
class EncodedLabels : public DataSource {
 public:
  static constexpr int64_t kMostBytes = int64_t(4) << 30;  ///< most bytes of ids in memory

  struct Options {
    LabelForm form = {};
    bool refuse_long = false;  ///< refuse a longer sample instead of a cut
  };
  /// Encodes nothing yet. Throws SettingsError if the form's length leaves a text no token.
  EncodedLabels(std::shared_ptr<const LabelFile> file, LabelReader reader, const Options& options,
                std::shared_ptr<const Tokenizer> tokenizer);

  /// Encodes `count` records of the file from `first` on. Returns the row of the first. Throws
  /// Error(kInput) naming file and line of a record that is damaged, or too long if that is
  /// refused. Throws it also if ids exceed kMostBytes. Throws as LabelReader::read().
  int64_t add(int64_t first, int64_t count);

  int64_t length(int64_t row) const { return ids_.length(row); }
  double label(int64_t row) const { return labels_[size_t(row)]; }
  /// Copies the ids of a row and returns their count; allocates nothing.
  int64_t copy(int64_t row, std::span<int32_t> out) const { return ids_.copy(row, out); }

  std::string format() const override;
  std::string_view item() const override { return "sample"; }
  int64_t items() const override { return file_->records(); }
  int64_t vocab_size() const override { return vocab_size_; }
  /// Returns a number that changes with the file's bytes, tokenizer, fields, classes and special
  /// ids, but not with lengths.
  uint64_t fingerprint() const override { return fingerprint_; }

  const LabelFile& file() const { return *file_; }
  const std::vector<std::string>& classes() const { return reader_.classes(); }
  int64_t cut() const { return cut_; }  ///< count of added samples that were cut
  /// Returns the count of added texts between double quotes, which are characters in a TSV.
  int64_t quoted() const { return quoted_; }

 private:
  std::vector<int32_t> encoded(const LabelledTexts& record, int64_t number);

  Options options_;
  std::shared_ptr<const LabelFile> file_;
  LabelReader reader_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  int64_t vocab_size_;
  IdRows ids_;
  std::vector<double> labels_;  ///< [rows]
  int64_t cut_ = 0, quoted_ = 0;
  uint64_t fingerprint_ = 0;
};

/// A set of samples: rows first_row .. first_row + rows - 1 of `source`, which it views.
class LabelSamples : public LabelDataset {
 public:
  LabelSamples(const EncodedLabels& source, const LabelForm& form, int64_t first_row, int64_t rows,
               std::optional<uint64_t> shuffle_seed)
      : LabelDataset(form, source.classes(), rows, shuffle_seed),
        source_(source),
        first_row_(first_row) {}
  LengthPair lengths(int64_t sample) const override {
    return {.target = source_.length(first_row_ + sample)};
  }
  /// Returns the count of samples of each class.
  std::vector<int64_t> counts_of_classes() const {
    std::vector<int64_t> counts(source_.classes().size());
    for (int64_t i = 0; i < samples() && !counts.empty(); ++i) ++counts[size_t(label_of(i))];
    return counts;
  }

 private:
  int64_t copy_ids(int64_t sample, std::span<int32_t> out) const override {
    return source_.copy(first_row_ + sample, out);
  }
  double label_of(int64_t sample) const override { return source_.label(first_row_ + sample); }

  const EncodedLabels& source_;
  int64_t first_row_;
};

}  // namespace zero
