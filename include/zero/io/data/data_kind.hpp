#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "zero/io/data/data_source.hpp"
#include "zero/io/data/dataset.hpp"

namespace zero {

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
