#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "zero/io/data/token_windows.hpp"

namespace zero {

/// What a run trains and evaluates on. Owns the sources that the sets view.
struct DataSets {
  std::unique_ptr<TokenSource> train_source, validation_source;
  std::optional<TokenWindows> train;       ///< shuffled
  std::optional<TokenWindows> validation;  ///< in order, with its tail; none if not asked for
  bool synthetic = false;

  /// Reads all sources once and combines their fingerprints. Throws as TokenSource::fingerprint.
  uint64_t fingerprint() const;
};

struct DataOptions {
  std::string train = {};           ///< a path of open_tokens.hpp, or "synthetic"
  std::string validation = {};      ///< a path, of any format; "" = none
  double validation_fraction = 0;   ///< the last share of train's samples
  std::string tokenizer = "bytes";  ///< of texts
  int64_t sequence_length = 0;
  int64_t max_train_samples = 0;       ///< 0 = all
  int64_t max_validation_samples = 0;  ///< 0 = all
  int64_t vocab_size = 0;              ///< of the model
  uint64_t seed = 0;
};

/// All files that open_data() may read, also those that need not be there.
std::vector<std::string> data_files(const DataOptions& options);

/// Opens the files and splits train at a border of samples: what comes before it is trained on, the
/// rest with the tail is validation. Throws Error(kInput) if a file is damaged, too short for one
/// sample, or has ids that the model has no row for.
DataSets open_data(const DataOptions& options);

}  // namespace zero
