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

/// What a run trains and evaluates on. Owns the sources that the sets view.
struct DataSets {
  std::unique_ptr<DataSource> train_source, validation_source;
  std::unique_ptr<Dataset> train;       ///< shuffled
  std::unique_ptr<Dataset> validation;  ///< in order, with its tail; none if not asked for
  bool synthetic = false;

  /// Reads all sources once and combines their fingerprints. Throws as DataSource::fingerprint.
  uint64_t fingerprint() const;
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
};

/// A kind of data: what the samples of such a run hold and how its files are opened.
struct DataKind {
  std::string_view name;

  /// Of every sample: one for each input of the model's graphs that data fill. Opens no file.
  std::vector<DataColumn> (*columns)(const DataOptions&);

  /// All files that open() may read, also those that need not be there.
  std::vector<std::string> (*files)(const DataOptions&);

  /// Opens the files and splits train at a border of samples: what comes before it is trained on,
  /// the rest is validation. Throws Error(kInput) if a file is damaged, too short for one sample,
  /// or has ids that the model has no row for.
  DataSets (*open)(const DataOptions&);
};

/// Texts and files of tokens, open_tokens.hpp, in windows, token_windows.hpp.
const DataKind& token_data();

/// Every kind: the list.
std::vector<const DataKind*> data_kinds();

/// How many of the samples in data.train are trained on; validation_fraction holds out the others.
/// At least one sample is left on either side, else throws Error(kInput).
int64_t trained_samples(const DataOptions& options, int64_t samples);

}  // namespace zero
