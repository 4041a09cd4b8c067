#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/data/id_rows.hpp"
#include "io/data/pair_file.hpp"
#include "io/data/pair_form.hpp"
#include "zero/io/data/data_source.hpp"
#include "zero/io/data/dataset.hpp"
#include "zero/io/text/tokenizer.hpp"

namespace zero {

/// The pairs of a file, tokenized once and kept in memory. Every rank asks for the target counts of
/// all ranks' samples, and reading must not allocate.
class EncodedPairs : public DataSource {
 public:
  static constexpr int64_t kMostBytes = int64_t(4) << 30;  ///< most bytes of ids in memory

  struct Options {
    std::string path = {};
    PairFields fields = {};
    std::string prefix = {};  ///< put in front of every source
    PairForm form = {};
    /// Refuse a longer text, its end counted, instead of a cut.
    bool refuse_long = false;
  };
  /// Opens the file and encodes nothing yet. Throws as open_pair_file().
  EncodedPairs(const Options& options, std::shared_ptr<const Tokenizer> tokenizer);

  int64_t pairs() const { return file_->pairs(); }

  /// Encodes `count` pairs of the file from `first` on. Returns the row of the first. Throws
  /// Error(kInput) naming file and line of a pair that is damaged, or too long if that is refused.
  /// Throws it also if ids exceed kMostBytes.
  int64_t add(int64_t first, int64_t count);

  int64_t source_length(int64_t row) const { return sources_.length(row); }
  int64_t target_length(int64_t row) const { return targets_.length(row); }
  /// Fills the columns with a row; allocates nothing.
  void read(int64_t row, const PairColumns& out) const;
  /// Returns the target of a row as the file has it.
  std::string target_text(int64_t row) const;

  std::string format() const override { return file_->format(); }
  std::string_view item() const override { return "pair"; }
  int64_t items() const override { return pairs(); }
  int64_t vocab_size() const override { return vocab_size_; }
  /// Returns a number that changes with the file's bytes, tokenizer, prefix, fields and special
  /// ids, but not with lengths.
  uint64_t fingerprint() const override { return fingerprint_; }

  /// Returns the count of added texts that were cut.
  int64_t cut_sources() const { return cut_sources_; }
  int64_t cut_targets() const { return cut_targets_; }
  /// Returns the count of targets without a token but their end.
  int64_t empty_targets() const { return empty_targets_; }
  /// Returns the count of blank lines at the file's end, which are skipped.
  int64_t blank_lines() const { return file_->blank_lines(); }

 private:
  void add_text(IdRows& rows, int64_t pair, const std::string& text, bool is_source);
  void require_room(int64_t pair) const;

  Options options_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::unique_ptr<PairFile> file_;
  int64_t vocab_size_;
  std::map<int64_t, int64_t> pair_of_;  ///< [first row of an add()] its first pair in the file
  IdRows sources_, targets_;
  int64_t cut_sources_ = 0, cut_targets_ = 0, empty_targets_ = 0;
  uint64_t fingerprint_ = 0;
};

/// A set of samples: rows first_row .. first_row + rows - 1 of `pairs`, which it views.
class PairSamples : public PairDataset {
 public:
  PairSamples(const EncodedPairs& pairs, const PairForm& form, int64_t first_row, int64_t rows,
              std::optional<uint64_t> shuffle_seed);
  LengthPair lengths(int64_t sample) const override {
    return {pairs_.source_length(first_row_ + sample), pairs_.target_length(first_row_ + sample)};
  }

  std::optional<std::string> target_text(int64_t position) const override;

 private:
  void read_sample(int64_t sample, ColumnSpans out) const override;
  int64_t counted_in(int64_t sample) const override;

  const EncodedPairs& pairs_;
  int64_t first_row_;
};

}  // namespace zero
