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

/// Warns that the checkpoint of `step` has a problem and an older one is taken in its place.
void warn_passed_over(int64_t step, const std::string& problem);

/// True if `folder` is a run with checkpoints, a folder of checkpoints, or one of them.
bool holds_checkpoints(const std::string& folder);

/// A published checkpoint, open for reading. Its manifest is whole and its files exist. Each block
/// is checked against its digest when read.
class StoredCheckpoint {
 public:
  /// Opens `folder`, or the newest whole checkpoint of a run or folder, and warns of each newer
  /// one. Throws Error(kInput) if there is none, with the fault of the newest. Throws
  /// Error(kNoCheckpoint) for a newer format, and Error(kIo) if a checkpoint could not be read.
  explicit StoredCheckpoint(const std::string& folder);

  /// Returns the folder of this checkpoint: "runs/x/checkpoints/step00001200".
  const std::string& folder() const { return folder_; }
  const checkpoint::Manifest& manifest() const { return manifest_; }
  /// Returns the checkpoint's fact called `name` in words, or "" if it is absent.
  const std::string& fact(const std::string& name) const;
  checkpoint::TensorReader& tensors() const { return *tensors_; }

 private:
  void open_newest(const std::string& folder);

  std::unique_ptr<checkpoint::Store> store_;
  checkpoint::Manifest manifest_;
  std::string folder_;
  std::unique_ptr<checkpoint::TensorReader> tensors_;
};

/// The findings on one step in a folder of checkpoints.
struct StepSurvey {
  int64_t step = 0;
  std::string folder = {};   ///< "runs/x/checkpoints/step00001200"
  std::string written = {};  ///< time of completion, "YYYY-MM-DD hh:mm:ss", UTC
  int64_t bytes = 0;         ///< sum over its files
  size_t files = 0;
  int ranks = 0;                         ///< ranks that wrote it
  std::string stage = {}, compute = {};  ///< "" if unknown
  bool weights_only = false;
  bool in_any_order = false;               ///< a GPU added gradients of attention as they came
  int64_t skipped = 0;                     ///< steps of the streak that it lies in; 0: healthy
  bool newer_format = false;               ///< this release cannot read it
  std::vector<std::string> problems = {};  ///< a text for each damaged file; none: it verifies
  /// Reason why HDF5's structure of its files was not compared with the manifest, or "".
  std::string not_compared = {};
  /// Files with valid digests in which HDF5 would show something else than the manifest. A run
  /// still reads them rightly.
  std::vector<std::string> other_structures = {};

  bool verifies() const { return problems.empty(); }
};

/// An entry in a folder of checkpoints that is not a checkpoint.
struct Leftover {
  std::string path;          ///< "runs/x/checkpoints/.del-..."
  std::string what, remedy;  ///< in words
};

struct Survey {
  std::string root = {};
  std::vector<StepSurvey> steps = {};  ///< ascending
  std::optional<int64_t> latest = {};  ///< target of the link `latest`
  std::optional<int64_t> resume = {};  ///< step from which a run would go on
  std::string why = {};                ///< reason for that step, or for none
  std::vector<Leftover> leftovers = {};
};

enum class SurveyDepth {
  manifests,  ///< manifests, and presence and length of all files
  blocks,     ///< every digest, as in a resume
  structures  ///< also HDF5's view of files that this program has written
};

/// Examines, as far as `depth`, the checkpoints of a run or a folder, or the one that `folder` is.
/// Calls `on_step` with each. Throws Error(kInput) if the folder does not exist, and Error(kIo) if
/// something could not be read, which says nothing of its content.
Survey survey_checkpoints(const std::string& folder, SurveyDepth depth,
                          const std::function<void(const StepSurvey&)>& on_step);

}  // namespace zero::save
