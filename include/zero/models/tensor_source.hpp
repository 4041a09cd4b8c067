#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "zero/io/checkpoint/manifest.hpp"
#include "zero/model/family.hpp"

namespace zero::models {

/// Tensors to be looked at: all of a checkpoint, or the weights of a model folder under the names
/// that they have in checkpoints.
class TensorSource {
 public:
  virtual ~TensorSource() = default;

  /// Where they lie.
  virtual const std::string& path() const = 0;
  /// Ascending by their names.
  virtual const std::vector<checkpoint::Tensor>& tensors() const = 0;
  /// What the source says in words.
  virtual std::map<std::string, std::string> facts() const = 0;
  /// Elements of one of tensors(), from `begin` on, as fp32. Throws Error(kInput) for a damaged
  /// file.
  virtual void read(const checkpoint::Tensor& tensor, int64_t begin,
                    std::span<float> out) const = 0;
};

/// Opens a model folder, a checkpoint, or the newest whole one of a run or a folder of them. Throws
/// Error(kInput) as ModelFolder and StoredCheckpoint.
std::unique_ptr<TensorSource> open_tensors(const model::Catalogue& catalogue,
                                           const std::string& folder);

/// What the values of a tensor are; those that are not finite count in `non_finite` alone.
struct TensorStatistics {
  double least = 0, largest = 0, mean = 0;  ///< 0 where no value is finite
  double deviation = 0;                     ///< of a value from the mean, by n
  int64_t non_finite = 0;
};
TensorStatistics statistics_of(const TensorSource& source, const checkpoint::Tensor& tensor);

/// Between two tensors of the same extents, by the bits of their values as fp32.
struct TensorDifference {
  int64_t differing = 0;       ///< elements
  std::vector<int64_t> first;  ///< place of the first of them
  float one = 0, other = 0;    ///< its values
  double largest = 0;          ///< magnitude; infinite where one value is not finite
};
TensorDifference difference_of(const TensorSource& one, const TensorSource& other,
                               const checkpoint::Tensor& in_one,
                               const checkpoint::Tensor& in_other);

}  // namespace zero::models
