#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zero/base/dtype.hpp"
#include "zero/base/shape.hpp"

namespace zero {

/// A source of samples: a file, or a substitute for one. Threads may read it at once.
class DataSource {
 public:
  virtual ~DataSource() = default;

  /// Returns a short description for people: "UTF-8 text, a token a byte".
  virtual std::string format() const = 0;

  /// Returns the name of one item, such as "token". items() counts them.
  virtual std::string_view item() const = 0;
  virtual int64_t items() const = 0;

  /// Returns a number above every id, or 0 without ids.
  virtual int64_t vocab_size() const = 0;

  /// Reads and checks everything once and returns a number that changes with any byte. Ranks and
  /// resumed runs compare it. Throws Error(kInput) naming file, offset and value of a fault.
  virtual uint64_t fingerprint() const = 0;
};

/// A random order of samples, with another permutation of 0 .. samples - 1 in each epoch. It is
/// computed and never stored. So any rank finds any sample of any step, and a resumed run needs
/// only the count of consumed samples. Six Feistel rounds keyed by Philox on (seed, epoch) permute
/// the least domain of 4^k >= samples. Results outside are permuted again (Black and Rogaway 2002,
/// "Ciphers with arbitrary finite domains").
class SampleOrder {
 public:
  SampleOrder(uint64_t seed, int64_t samples);

  /// Returns the sample after `consumed` others, in epoch consumed / samples.
  int64_t sample(int64_t consumed) const;

 private:
  uint64_t permute(uint64_t value, uint64_t epoch) const;

  uint64_t key_;
  int64_t samples_;
  int half_bits_ = 1;
};

/// A part of every sample, which fills the model's input of this name.
struct DataColumn {
  std::string name;
  Dtype dtype = Dtype::i32;
  int64_t numel = 0;  ///< elements in a sample

  int64_t bytes() const { return numel * int64_t(bytes_of(dtype)); }
  bool operator==(const DataColumn&) const = default;
};

/// The host memory for a sample: bytes() for each column, in their order.
using ColumnSpans = std::span<const std::span<std::byte>>;

template <class T>
std::span<T> values_in(std::span<std::byte> column) {
  return {reinterpret_cast<T*>(column.data()), column.size() / sizeof(T)};
}

/// The ids of a sample to show to people.
struct ShownIds {
  std::string name;
  std::vector<int32_t> ids;
  bool is_text = false;  ///< true if a tokenizer can decode them
};

class BucketOrder;

/// A set of samples, each of a few columns. A derived class defines their content, this class their
/// order.
class Dataset {
 public:
  static constexpr int32_t kNotCounted = -1;  ///< a target that the loss leaves out
  static constexpr size_t kMostColumns = 16;

  virtual ~Dataset();

  /// Returns the columns of the longest form, the only one until group() adds others.
  const std::vector<DataColumn>& columns() const { return columns_.back(); }
  int64_t samples() const { return samples_; }

  /// Sets the forms of micro-batches: samples of two texts, padded to a pair of lengths. Orders the
  /// samples so that most micro-batches, `micro` samples from a multiple of `micro` on, have one
  /// form (buckets.hpp). REQUIRES: each pair covers the one before it, and the last is as long as
  /// samples may be. Throws Error(kInternal) if samples are not pairs.
  void group(const std::vector<LengthPair>& pairs, int64_t micro);
  /// Returns the pairs given to group().
  const std::vector<LengthPair>& length_pairs() const { return pairs_; }
  /// Returns the index in length_pairs() of the form for `count` samples from a position on: the
  /// first whose lengths cover them all. Returns 0 for ungrouped samples.
  size_t form_of(int64_t position, int64_t count) const;
  const std::vector<DataColumn>& columns_of(size_t form) const { return columns_[form]; }
  /// Returns the token counts of a sample's two texts without padding, or zeros without texts.
  virtual LengthPair lengths(int64_t) const { return {}; }

  /// Returns the sample at a position as its index in the source.
  int64_t sample_at(int64_t position) const;

  /// Reads the sample at a position: the count of samples that all ranks consumed before it.
  /// Shuffled sets repeat for ever, one permutation an epoch. After the end of other sets nothing
  /// counts, so that ranks may read equally many. Allocates nothing; throws as its source.
  void read(int64_t position, ColumnSpans out) const { read(position, columns_.size() - 1, out); }
  /// Reads the sample in a form that covers it.
  void read(int64_t position, size_t form, ColumnSpans out) const;

  /// Returns the number of counted targets in `count` samples from `position` on. It divides a
  /// step's loss; every rank computes it for all ranks without reading data.
  int64_t counted(int64_t position, int64_t count) const;

  /// Returns a description of a sample for people: "32 + 1 tokens".
  virtual std::string form() const = 0;
  /// Returns the ids of the sample at a position; by default all i32 columns.
  virtual std::vector<ShownIds> shown(int64_t position) const;
  /// Returns the target text at a position as its file has it, including what was cut from its
  /// tokens. Returns none if samples are not pairs of texts. Reads the file; throws as
  /// DataSource::fingerprint.
  virtual std::optional<std::string> target_text(int64_t position) const;

 protected:
  /// Without `shuffle_seed`, samples come once, in the order of the source.
  Dataset(std::vector<DataColumn> columns, int64_t samples, std::optional<uint64_t> shuffle_seed);

 private:
  /// Fills the columns of a sample; from samples() on, with nothing that counts.
  virtual void read_sample(int64_t sample, ColumnSpans out) const = 0;
  virtual int64_t counted_in(int64_t sample) const = 0;
  /// Returns the columns of samples padded to these lengths; none if samples are not pairs.
  virtual std::vector<DataColumn> columns_for(const LengthPair&) const { return {}; }

  std::vector<std::vector<DataColumn>> columns_;  ///< [forms]
  int64_t samples_;
  std::optional<uint64_t> seed_;
  std::optional<SampleOrder> order_;
  std::vector<LengthPair> pairs_;
  std::unique_ptr<const BucketOrder> grouped_;
};

/// Returns at most `most` pairs of lengths that pad the samples to the fewest tokens. The last is
/// `longest`, which covers all. See buckets.hpp.
std::vector<LengthPair> choose_length_pairs(const Dataset& data, const LengthPair& longest,
                                            int64_t most);

/// The padding of a grouped set by its pairs of lengths, over the micro-batches of its first epoch.
struct PaddingReport {
  std::vector<double> shares = {};  ///< [pairs] share of the samples
  double padding = 0;               ///< share of the processed tokens
  double padding_of_longest = 0;    ///< share if all samples were padded to the last pair
};
PaddingReport padding_of(const Dataset& data, int64_t micro);

/// The training and validation data of a run. Owns the sources that the sets view.
struct DataSets {
  std::unique_ptr<DataSource> train_source, validation_source;
  std::unique_ptr<Dataset> train;       ///< shuffled
  std::unique_ptr<Dataset> validation;  ///< in order, with its tail; null if not asked for
  bool synthetic = false;
  std::string remark = {};  ///< note for people about what is not trained on as the files have it

  /// Reads all sources once and combines their fingerprints. Throws as DataSource::fingerprint.
  uint64_t fingerprint() const;
};

/// The options of samples of two texts, a source and a target.
struct PairOptions {
  std::string source_field = "source";  ///< record field; "translation.en": en of its translation
  std::string target_field = "target";
  std::string source_prefix = {};  ///< put in front of every source
  int64_t source_length = 0;       ///< most tokens, with the end; 0 = as for a target
  bool refuse_long = false;        ///< refuse a text of more tokens instead of cutting it
  int64_t model_pad = -1, model_end = -1, model_start = -1;  ///< ids of config.json; -1 = none
  int64_t pad_id = -1;  ///< ids from the input file; -1 = the tokenizer's
  int64_t end_id = -1;
  int64_t start_id = -1;
  /// Share of a text's tokens that the model must restore; 0 = files hold pairs.
  double noise_density = 0;
  double noise_span = 3;     ///< average tokens of a removed span
  int64_t sentinel_id = -1;  ///< id for the first such span; -1 = <extra_id_0>, or the last id
};

struct DataOptions {
  std::string train = {};           ///< path, or "synthetic"
  std::string validation = {};      ///< path of any format; "" = none
  double validation_fraction = 0;   ///< last share of train's samples
  std::string tokenizer = "bytes";  ///< tokenizer of texts
  int64_t sequence_length = 0;
  int64_t max_train_samples = 0;       ///< 0 = all
  int64_t max_validation_samples = 0;  ///< 0 = all
  int64_t vocab_size = 0;              ///< vocabulary size of the model
  uint64_t seed = 0;
  /// All counts of the model by their keys, for samples whose form depends on them.
  std::map<std::string, int64_t, std::less<>> model = {};
  PairOptions pairs = {};
};

/// A kind of data, with functions that describe its samples and open its files.
struct DataKind {
  std::string_view name;

  /// Returns the columns of a sample: one for each input of the model's graphs that data fill.
  /// Opens no file.
  std::vector<DataColumn> (*columns)(const DataOptions&);

  /// Returns all files that open() may read, including optional ones.
  std::vector<std::string> (*files)(const DataOptions&);

  /// Opens the files and splits train between samples: the first part is trained on, the rest is
  /// validation. Throws Error(kInput) if a file is damaged, too short for one sample, or has ids
  /// beyond the model's vocabulary.
  DataSets (*open)(const DataOptions&);

  bool of_pairs = false;  ///< true if DataOptions::pairs acts
};

/// Returns the kind of texts and token files (token_source.hpp), cut into windows (token_data.hpp).
const DataKind& token_data();

/// Returns the kind of samples with a source and a target of at most sequence_length tokens. Reads
/// files of pairs (pair_file.hpp), or with a noise_density corrupts texts (span_corruption.hpp).
/// Columns: pair_form.hpp.
const DataKind& pair_data();

/// Returns all kinds.
std::vector<const DataKind*> data_kinds();

/// Returns the number of samples of data.train that are trained on. validation_fraction holds out
/// the others. Leaves at least one sample on either side, else throws Error(kInput).
int64_t trained_samples(const DataOptions& options, int64_t samples);

/// Returns `samples`, but no more than `most`; 0 = all.
int64_t limited(int64_t samples, int64_t most);

}  // namespace zero
