#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "zero/config/run_config.hpp"
#include "zero/io/data/data_source.hpp"
#include "zero/io/data/dataset.hpp"

namespace zero {

/// The training and validation data of a run. Owns the sources that the sets view.
struct DataSets {
  std::unique_ptr<DataSource> train_source, validation_source;
  std::unique_ptr<Dataset> train;       ///< shuffled
  std::unique_ptr<Dataset> validation;  ///< in order, with its tail; null if not asked for
  bool synthetic = false;
  std::vector<std::string> classes = {};  ///< names of classes by number; none of other kinds
  std::string remark = {};  ///< note for people about what is not trained on as the files have it

  /// Reads all sources once and returns a number that combines their fingerprints. Throws as
  /// DataSource::fingerprint.
  uint64_t fingerprint() const;
};

/// The ids that a model knows: padding, the end of each text, and the decoder's first input. -1:
/// its config.json has none.
struct ModelIds {
  int64_t pad = -1, end = -1, start = -1;
};

struct DataOptions {
  DataConfig data = {};  ///< [data] of the input file
  uint64_t seed = 0;
  int64_t vocab_size = 0;  ///< vocabulary size of the model
  ModelIds ids = {};
  /// Class names of the model that a run starts from. Data with the same names take their order.
  std::vector<std::string> known_labels = {};
  /// True: the model is evaluated. Its classes are known_labels, or numbers without names.
  bool keeps_labels = false;
  bool packs = false;  ///< the model keeps the documents of a sample apart
  /// All counts of the model by their keys, for samples whose form depends on them.
  std::map<std::string, int64_t, std::less<>> model = {};
};

/// A kind of data, with functions that describe its samples and open its files.
struct DataKind {
  std::string_view name;

  /// Returns the columns of a sample under these options: one for each input of the model's graphs
  /// that data fill. Opens no file.
  std::vector<DataColumn> (*columns)(const DataOptions&);

  /// Returns the paths of all files that open() may read under these options, including optional
  /// ones.
  std::vector<std::string> (*files)(const DataOptions&);

  /// Returns the data sets of the files that the options name. Splits train between samples: the
  /// first part is trained on, the rest is validation. Throws Error(kInput) if a file is damaged,
  /// too short for one sample, or has ids beyond the model's vocabulary.
  DataSets (*open)(const DataOptions&);

  /// The keys of [data] that not all kinds have: this kind acts by them.
  std::vector<std::string_view> keys = {};
};

/// Returns the kind of texts and token files (token_source.hpp), cut into windows (token_data.hpp).
const DataKind& token_data();

/// Returns the kind of samples with a source and a target of at most sequence_length tokens. Reads
/// files of pairs (pair_file.hpp). Columns: pair_form.hpp.
const DataKind& pair_data();

/// Returns the kind of texts of which data.noise_density is taken out and becomes the target
/// (span_corruption.hpp). Columns: pair_form.hpp.
const DataKind& span_data();

/// Returns the kind of one or two texts with a label (label_file.hpp): a class, or a real number if
/// the model's count "labels" is 1. Columns: label_form.hpp.
const DataKind& label_data();

/// Returns the kind of documents: files of records (document_file.hpp), of which data.packing fills
/// samples. Columns: "tokens" [T] and "targets" [T], of i32. A target is -1 where nothing is
/// learnt. With packing_of() = documents also "first" [T], the place in its sample where a token's
/// document begins; padding begins at its own place. Throws SettingsError for that packing if the
/// model does not pack.
const DataKind& document_data();

/// True if data.train or data.validation names documents: by their names files of records, a list,
/// or any file if data.packing keeps documents apart.
bool takes_documents(const DataConfig& data);

/// Returns data.packing of the options, with "auto" decided. That is documents for files of records
/// if the model packs, else none. For texts and tokens alone it is stream.
Packing packing_of(const DataOptions& options);

/// Returns the number of samples that are trained on if data.train has `samples`.
/// data.validation_fraction holds out the others. Leaves at least one sample on either side, else
/// throws Error(kInput).
int64_t trained_samples(const DataOptions& options, int64_t samples);

/// Returns `classes`, names of classes, in the order of `known`, the model's names, if both have
/// the same. Otherwise returns `classes` as they are.
std::vector<std::string> in_known_order(const std::vector<std::string>& classes,
                                        const std::vector<std::string>& known);

/// Returns `samples`, but no more than `most`; 0 = all.
int64_t limited(int64_t samples, int64_t most);

}  // namespace zero
