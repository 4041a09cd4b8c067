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

/// What samples are read from: a file, or what stands for one. Reading is safe from several threads
/// at once.
class DataSource {
 public:
  virtual ~DataSource() = default;

  /// In a few words for people: "UTF-8 text, a token a byte".
  virtual std::string format() const = 0;

  /// What it is counted in, one of them: "token". And how many it has.
  virtual std::string_view item() const = 0;
  virtual int64_t items() const = 0;

  /// Every id is below this; 0 where it has none.
  virtual int64_t vocab_size() const = 0;

  /// Reads everything once, checks it, and returns a number that changes with any byte: ranks and
  /// resumed runs compare it. Throws Error(kInput) naming file, offset and value of what is wrong.
  virtual uint64_t fingerprint() const = 0;
};

/// The order in which samples are visited: in each epoch another permutation of 0 .. samples - 1,
/// computed and never stored, so that any rank finds any sample of any step, and a resumed run
/// needs to know only how many samples were consumed. Six Feistel rounds keyed by Philox on (seed,
/// epoch), on the least domain of 4^k >= samples; what falls outside is permuted again (Black and
/// Rogaway 2002, "Ciphers with arbitrary finite domains").
class SampleOrder {
 public:
  SampleOrder(uint64_t seed, int64_t samples);

  /// The sample that comes after `consumed` others: epoch consumed / samples.
  int64_t sample(int64_t consumed) const;

 private:
  uint64_t permute(uint64_t value, uint64_t epoch) const;

  uint64_t key_;
  int64_t samples_;
  int half_bits_ = 1;
};

/// A part of every sample: what the input of this name takes of it.
struct DataColumn {
  std::string name;
  Dtype dtype = Dtype::i32;
  int64_t numel = 0;  ///< of a sample

  int64_t bytes() const { return numel * int64_t(bytes_of(dtype)); }
  bool operator==(const DataColumn&) const = default;
};

/// Where a sample's columns go on the host: bytes() of each, in their order.
using ColumnSpans = std::span<const std::span<std::byte>>;

template <class T>
std::span<T> values_in(std::span<std::byte> column) {
  return {reinterpret_cast<T*>(column.data()), column.size() / sizeof(T)};
}

/// Ids of a sample as people want to see them.
struct ShownIds {
  std::string name;
  std::vector<int32_t> ids;
  bool is_text = false;  ///< a tokenizer says what they are
};

class BucketOrder;

/// Samples, each a few columns. A kind of data says what a sample holds; which one stands where is
/// the same for all.
class Dataset {
 public:
  static constexpr int32_t kNotCounted = -1;  ///< a target that the loss leaves out
  static constexpr size_t kMostColumns = 16;

  virtual ~Dataset();

  /// Columns of the longest form. It is the only form until group() adds others.
  const std::vector<DataColumn>& columns() const { return columns_.back(); }
  int64_t samples() const { return samples_; }

  /// From here on a micro-batch has one of these forms: samples of two texts, padded to a pair of
  /// lengths. Samples are ordered so that those of a micro-batch, `micro` of them from a multiple
  /// of micro on, are mostly of one form: buckets.hpp. Each pair covers the one before it, and
  /// the last is as long as samples may be. Throws Error(kInternal) where samples are no pairs.
  void group(const std::vector<LengthPair>& pairs, int64_t micro);
  /// As given to group().
  const std::vector<LengthPair>& length_pairs() const { return pairs_; }
  /// The form, by its place there, that `count` samples from a position on take: the first whose
  /// lengths cover all of them. 0 of ungrouped samples.
  size_t form_of(int64_t position, int64_t count) const;
  const std::vector<DataColumn>& columns_of(size_t form) const { return columns_[form]; }
  /// Lengths of the two texts of a sample; of no text where it has none. Without padding.
  virtual LengthPair lengths(int64_t) const { return {}; }

  /// The sample that stands at a position, counted in the order of the source.
  int64_t sample_at(int64_t position) const;

  /// The sample at a position, which is the count of samples consumed before it by all ranks.
  /// Shuffled sets repeat for ever, one permutation an epoch; others have nothing that counts after
  /// their end, so that ranks may read equally many. Allocates nothing; throws as its source.
  void read(int64_t position, ColumnSpans out) const { read(position, columns_.size() - 1, out); }
  /// The same in a form that covers the sample.
  void read(int64_t position, size_t form, ColumnSpans out) const;

  /// How many targets count in `count` samples from `position` on: the divisor of a step's loss,
  /// which every rank computes for all ranks without reading data.
  int64_t counted(int64_t position, int64_t count) const;

  /// What a sample has, for people: "32 + 1 tokens".
  virtual std::string form() const = 0;
  /// Ids of the sample at a position; by default all columns of them.
  virtual std::vector<ShownIds> shown(int64_t position) const;
  /// The target at a position as its file has it, whatever of it became tokens; none where a sample
  /// is no pair of texts. Reads the file; throws as DataSource::fingerprint.
  virtual std::optional<std::string> target_text(int64_t position) const;

 protected:
  /// `shuffle_seed`: none: in the order of the source, once.
  Dataset(std::vector<DataColumn> columns, int64_t samples, std::optional<uint64_t> shuffle_seed);

 private:
  /// Fills the columns of a sample; with nothing that counts where there is none, from samples()
  /// on.
  virtual void read_sample(int64_t sample, ColumnSpans out) const = 0;
  virtual int64_t counted_in(int64_t sample) const = 0;
  /// The columns of samples that are padded to these lengths; none where they are no pairs.
  virtual std::vector<DataColumn> columns_for(const LengthPair&) const { return {}; }

  std::vector<std::vector<DataColumn>> columns_;  ///< [forms]
  int64_t samples_;
  std::optional<uint64_t> seed_;
  std::optional<SampleOrder> order_;
  std::vector<LengthPair> pairs_;
  std::unique_ptr<const BucketOrder> grouped_;
};

/// At most `most` pairs of lengths that pad the samples of a set of pairs to the fewest tokens, the
/// last of them `longest`, which covers all. See buckets.hpp.
std::vector<LengthPair> choose_length_pairs(const Dataset& data, const LengthPair& longest,
                                            int64_t most);

/// What pairs of lengths make of a grouped set, by the micro-batches of its first epoch.
struct PaddingReport {
  std::vector<double> shares = {};  ///< [pairs] of the samples
  double padding = 0;               ///< share of the tokens that are run
  double padding_of_longest = 0;    ///< the same if all samples were padded to the last pair
};
PaddingReport padding_of(const Dataset& data, int64_t micro);

/// What a run trains and evaluates on. Owns the sources that the sets view.
struct DataSets {
  std::unique_ptr<DataSource> train_source, validation_source;
  std::unique_ptr<Dataset> train;       ///< shuffled
  std::unique_ptr<Dataset> validation;  ///< in order, with its tail; none if not asked for
  bool synthetic = false;
  std::string remark = {};  ///< for people: what of the files is not trained on as it stands there

  /// Reads all sources once and combines their fingerprints. Throws as DataSource::fingerprint.
  uint64_t fingerprint() const;
};

/// What samples of two texts are made of, a source and a target.
struct PairOptions {
  std::string source_field = "source";  ///< of a record; "translation.en": en of its translation
  std::string target_field = "target";
  std::string source_prefix = {};  ///< in front of every source
  int64_t source_length = 0;       ///< tokens at most, with the end; 0 = as many as of a target
  bool refuse_long = false;        ///< a text of more tokens is refused in place of cut
  int64_t model_pad = -1, model_end = -1, model_start = -1;  ///< of its config.json; -1: none there
  int64_t pad_id = -1;  ///< ids that mean something; -1 = the tokenizer's
  int64_t end_id = -1;
  int64_t start_id = -1;
  /// The share of a text's tokens that are to be found again; 0: files hold pairs.
  double noise_density = 0;
  double noise_span = 3;     ///< tokens in a row of these, on average
  int64_t sentinel_id = -1;  ///< of the first such span; -1: <extra_id_0>, or the last id
};

struct DataOptions {
  std::string train = {};           ///< a path, or "synthetic"
  std::string validation = {};      ///< a path, of any format; "" = none
  double validation_fraction = 0;   ///< the last share of train's samples
  std::string tokenizer = "bytes";  ///< of texts
  int64_t sequence_length = 0;
  int64_t max_train_samples = 0;       ///< 0 = all
  int64_t max_validation_samples = 0;  ///< 0 = all
  int64_t vocab_size = 0;              ///< of the model
  uint64_t seed = 0;
  /// All counts of the model by their keys, for samples whose form depends on them.
  std::map<std::string, int64_t, std::less<>> model = {};
  PairOptions pairs = {};
};

/// A kind of data: what the samples of such a run hold and how its files are opened.
struct DataKind {
  std::string_view name;

  /// What every sample has: a column for each input of the model's graphs that data fill. Opens no
  /// file.
  std::vector<DataColumn> (*columns)(const DataOptions&);

  /// All files that open() may read, also those that need not be there.
  std::vector<std::string> (*files)(const DataOptions&);

  /// Opens the files and splits train at a border of samples: what comes before it is trained on,
  /// the rest is validation. Throws Error(kInput) if a file is damaged, too short for one sample,
  /// or has ids that the model has no row for.
  DataSets (*open)(const DataOptions&);

  bool of_pairs = false;  ///< DataOptions::pairs acts
};

/// Texts and files of tokens, token_source.hpp, in windows, token_data.hpp.
const DataKind& token_data();

/// A source and a target of at most sequence_length tokens: files of pairs, pair_file.hpp, or with
/// a noise_density texts that are to be mended, span_corruption.hpp. Columns: pair_form.hpp.
const DataKind& pair_data();

/// Every kind: the list.
std::vector<const DataKind*> data_kinds();

/// How many of the samples in data.train are trained on; validation_fraction holds out the others.
/// At least one sample is left on either side, else throws Error(kInput).
int64_t trained_samples(const DataOptions& options, int64_t samples);

/// The first `most` of them; 0 = all.
int64_t limited(int64_t samples, int64_t most);

}  // namespace zero
