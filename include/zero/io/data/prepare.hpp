#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "zero/io/data/data_kind.hpp"
#include "zero/io/text/tokenizer.hpp"

namespace zero {

struct Preparation {
  int64_t documents = 0, tokens = 0;
  int64_t parts = 0;
  int64_t kept = 0;  ///< parts that an earlier process had made
  int64_t empty = 0, merged = 0;
  int fewer_threads = 0;  ///< that worked at once, as parts are large; 0: all
};

/// A file of documents, or a text that a tokenizer encodes.
struct RawFile {
  std::string path;
  bool is_text = false;

  bool operator==(const RawFile&) const = default;
};

/// A process among those that make a set together. All see one folder.
struct SetShare {
  int rank = 0, ranks = 1;
  int threads = 1;
  /// Most bytes of text that its threads hold at once, but a part at least. Fewer threads work on
  /// larger parts.
  int64_t most_bytes = int64_t(1) << 30;
  /// True if the process is asked to end. It then makes no further part. Empty: never.
  std::function<bool()> is_over = {};
};

/// Most parts of all sets of a run, beside one for each file. Each is an open file of each rank.
inline constexpr int64_t kMostParts = 250;

struct SetOrder {
  DataOptions options;
  std::string folder;
  std::vector<RawFile> files;
  /// The set is a run's own, which keeps equal parts and replaces others. False: parts of other
  /// data or rules, and a whole set, are refused.
  bool is_of_run = false;
  int64_t part_bytes = int64_t(16) << 20;  ///< of a part's text, about; more for huge files
  int64_t most_parts = kMostParts;         ///< beside one for each file
};

/// The state of a run's own set.
enum class SetState { missing, whole, of_other_files, of_other_rules };

/// A prepared set (prepared_documents.hpp) in the making. Documents are cut into parts by their
/// files alone: JSON lines by bytes, tables by records. Each process makes every ranks-th part, so
/// the set does not depend on the number of processes and threads, and none holds a whole file. A
/// part appears whole, and the list, without which there is no set, comes last. So a killed process
/// leaves parts that the next one keeps if text and rules are the same. Call the functions in their
/// order, each only when all processes have returned from the one before.
class SetMaker {
 public:
  /// Takes the set of `order`, and makes nothing yet. `tokenizer` is that of the order's options;
  /// null: it is opened here. Throws SettingsError as document_data().open().
  explicit SetMaker(SetOrder order, std::shared_ptr<const Tokenizer> tokenizer = nullptr);
  ~SetMaker();

  /// Returns the state of the set in the order's folder, by its list. Compares names, sizes, times
  /// and some bytes of the order's files. REQUIRES: the set is a run's.
  SetState state() const;

  /// Makes and locks the set's folder. Called by the first process alone. Throws Error(kUsage) for
  /// a name that does not end in ".documents" and for a set that is whole; Error(kInUse) and
  /// Error(kIo) as LockFile.
  void begin();
  /// Unpacks the compressed files that fall to the process `share` into the set's folder. Throws
  /// Error(kInput).
  void unpack(const SetShare& share);
  /// Writes the set's parts that fall to the process `share`. Returns the count of those that an
  /// earlier process had made. Throws Error(kInput) naming file and line of damage, and for parts
  /// of other data or rules.
  int64_t make(const SetShare& share);
  /// Writes the list of the parts, which completes the set, and returns counts of its contents.
  /// Called by the first process alone. Throws Error(kInput) if a file was written to since
  /// begin(). REQUIRES: no process was asked to end.
  Preparation finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Returns the files of data.train in `options`, for a set that a user asks for. Throws
/// Error(kUsage) for prepared sets and for parts with weights.
std::vector<RawFile> files_of_set(const DataOptions& options);

/// Makes a user's set of the documents of data.train in `folder`, in this process alone, on
/// `threads` threads. `part_bytes` is SetOrder's. Returns counts of its contents. Throws as
/// SetMaker.
Preparation prepare_documents(const DataOptions& options, const std::string& folder, int threads,
                              int64_t part_bytes = SetOrder().part_bytes);

/// The files that a run prepares, and the options by which it then reads the sets.
struct RunSets {
  std::vector<SetOrder> orders = {};
  DataOptions options;  ///< with the sets' paths in place of the files'
};

/// Returns the sets that a run is to make in `folder` of its data, which are of `kind` under
/// `options`. The returned options name these sets alone, because sets of files that the run no
/// longer has may lie beside. There are sets of all documents, and of texts that a tokenizer
/// encodes, if these files have more than `most` bytes together. None for other kinds of data, and
/// of documents if data.max_train_samples says that the first are enough.
RunSets sets_of_run(const DataKind& kind, const DataOptions& options, const std::string& folder,
                    int64_t most = int64_t(64) << 20);

}  // namespace zero
