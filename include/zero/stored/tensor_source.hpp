#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "zero/io/checkpoint/manifest.hpp"
#include "zero/model/family.hpp"

namespace zero::stored {

/// The tensors of a checkpoint, or the weights of a model folder under their names in checkpoints,
/// for inspection.
class TensorSource {
 public:
  virtual ~TensorSource() = default;

  /// Returns the path of the checkpoint or folder.
  virtual const std::string& path() const = 0;
  /// Returns the tensors, ascending by name.
  virtual const std::vector<checkpoint::Tensor>& tensors() const = 0;
  /// Returns the facts of the checkpoint or folder.
  virtual std::map<std::string, std::string> facts() const = 0;
  /// Reads elements of one of tensors(), from `begin` on, into `out` as fp32. Throws Error(kInput)
  /// for a damaged file.
  virtual void read(const checkpoint::Tensor& tensor, int64_t begin,
                    std::span<float> out) const = 0;
};

/// Opens a model folder, a checkpoint, or the newest whole checkpoint of a run or a folder. Throws
/// Error(kInput) as ModelFolder and StoredCheckpoint.
std::unique_ptr<TensorSource> open_tensors(const model::Catalogue& catalogue,
                                           const std::string& folder);

/// The statistics of a tensor's finite values. `non_finite` counts the others.
struct TensorStatistics {
  double least = 0, largest = 0, mean = 0;  ///< 0 if no value is finite
  double deviation = 0;                     ///< standard deviation, with divisor n
  int64_t non_finite = 0;
};
/// Reads one of the source's tensors and returns its statistics.
TensorStatistics statistics_of(const TensorSource& source, const checkpoint::Tensor& tensor);

/// The difference of two tensors of equal extents, by the bits of their fp32 values.
struct TensorDifference {
  int64_t differing = 0;       ///< elements that differ
  std::vector<int64_t> first;  ///< index of the first that differs
  float one = 0, other = 0;    ///< values there
  double largest = 0;  ///< largest magnitude of a difference; infinite if a value is not finite
};
/// Compares `in_one`, a tensor of `one`, with `in_other`, a tensor of `other`.
TensorDifference difference_of(const TensorSource& one, const TensorSource& other,
                               const checkpoint::Tensor& in_one,
                               const checkpoint::Tensor& in_other);

}  // namespace zero::stored
