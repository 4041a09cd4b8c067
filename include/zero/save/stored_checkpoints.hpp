#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "zero/io/checkpoint/store.hpp"
#include "zero/io/checkpoint/tensor_reader.hpp"

namespace zero::save {

/// One warning, of a step in whose place an older one is taken.
void warn_passed_over(int64_t step, const std::string& problem);

/// Whether `folder` is a run with checkpoints, a folder of checkpoints, or one of them.
bool holds_checkpoints(const std::string& folder);

/// One published checkpoint, open for reading. Its manifest is whole and its files are there; a
/// block is held against its digest when it is read.
class StoredCheckpoint {
 public:
  /// Where `folder` is a run or has several, it is the newest of which this is so, with a warning
  /// of each newer one. Throws Error(kInput) where there is none, naming what is wrong with the
  /// newest, Error(kNoCheckpoint) for one of a newer format, and Error(kIo) for one that could not
  /// be read.
  explicit StoredCheckpoint(const std::string& folder);

  /// "runs/x/checkpoints/step00001200"
  const std::string& folder() const { return folder_; }
  const checkpoint::Manifest& manifest() const { return manifest_; }
  /// What the checkpoint says in words; "" if it says nothing of that name.
  const std::string& fact(const std::string& name) const;
  checkpoint::TensorReader& tensors() const { return *tensors_; }

 private:
  void open_newest(const std::string& folder);

  std::unique_ptr<checkpoint::Store> store_;
  checkpoint::Manifest manifest_;
  std::string folder_;
  std::unique_ptr<checkpoint::TensorReader> tensors_;
};

/// What is known of one step of a folder of checkpoints.
struct StepSurvey {
  int64_t step = 0;
  std::string folder = {};   ///< "runs/x/checkpoints/step00001200"
  std::string written = {};  ///< "YYYY-MM-DD hh:mm:ss", UTC: when it was complete
  int64_t bytes = 0;         ///< of its files
  size_t files = 0;
  int ranks = 0;                         ///< that wrote it
  std::string stage = {}, compute = {};  ///< "" where it says nothing of them
  bool weights_only = false;
  bool in_any_order = false;               ///< a GPU added gradients of attention as they came
  int64_t skipped = 0;                     ///< steps of a streak that it lies in; 0: it is healthy
  bool newer_format = false;               ///< this release cannot read it
  std::vector<std::string> problems = {};  ///< one of each damaged file; none: it verifies
  /// Why HDF5's structure of its files was not compared with the manifest; "" if it was.
  std::string not_compared = {};
  /// Files whose digests hold and in which HDF5 would show something else than the manifest. A run
  /// reads them rightly all the same.
  std::vector<std::string> other_structures = {};

  bool verifies() const { return problems.empty(); }
};

/// Something in a folder of checkpoints that is none.
struct Leftover {
  std::string path;          ///< "runs/x/checkpoints/.del-..."
  std::string what, remedy;  ///< in words
};

struct Survey {
  std::string root = {};
  std::vector<StepSurvey> steps = {};  ///< ascending
  std::optional<int64_t> latest = {};  ///< what the link of this name points at
  std::optional<int64_t> resume = {};  ///< the step from which a run would go on
  std::string why = {};                ///< that one, or none
  std::vector<Leftover> leftovers = {};
};

enum class SurveyDepth {
  manifests,  ///< manifests, and whether all files are there and as long as they say
  blocks,     ///< every digest, as a resume checks it
  structures  ///< and what HDF5 would show of files that this program has written
};

/// Looks at the checkpoints of a run or a folder of them, or at the one that `folder` is; `on_step`
/// sees each when it is done. Throws Error(kInput) where there is no such folder, Error(kIo) where
/// something could not be read, which says nothing of what it holds.
Survey survey_checkpoints(const std::string& folder, SurveyDepth depth,
                          const std::function<void(const StepSurvey&)>& on_step);

}  // namespace zero::save
