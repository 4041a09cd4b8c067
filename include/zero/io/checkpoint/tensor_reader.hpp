#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "zero/io/checkpoint/manifest.hpp"
#include "zero/io/checkpoint/shard_file.hpp"
#include "zero/io/checkpoint/store.hpp"
#include "zero/io/files/open_file.hpp"

namespace zero::checkpoint {

/// A reader of whole tensors from a checkpoint's slices. It checks every block against its digest.
/// It opens only the files it needs, and few at a time.
class TensorReader {
 public:
  /// Opens the folder of the manifest's step in `store`. REQUIRES: both outlive the reader. Throws
  /// as Store::open_folder.
  TensorReader(const Store& store, const Manifest& manifest);
  /// Opens as above, and notes each block it reads in `ledger`, to verify the whole checkpoint.
  TensorReader(const Store& store, const Manifest& manifest, BlockLedger& ledger);

  /// Returns the tensor `name`, or nullptr if the checkpoint has none of this name.
  const Tensor* find(const std::string& name) const;

  /// Fills `out` with the elements of `tensor` from element `begin` on, as fp32, which is exact.
  /// Throws Error(kInput) if the checkpoint has no such tensor, has it with other extents, or in
  /// fp64. Throws as ShardReader.
  void read(const Tensor& tensor, int64_t begin, std::span<float> out);

 private:
  template <class T>
  void widen(const Tensor& tensor, int64_t begin, std::span<float> out);
  void gather(const Tensor& tensor, int64_t begin, std::span<std::byte> out);
  const std::vector<Slice>& slices_of(const Tensor& tensor) const;
  ShardReader& file(int32_t index);

  const Manifest& manifest_;
  const DigestForm digests_;
  BlockLedger* ledger_ = nullptr;
  std::string name_;
  OpenFile folder_;
  std::map<std::string, int32_t> tensors_;  ///< index by name
  std::vector<std::vector<Slice>> slices_;  ///< [tensors]
  std::map<int32_t, std::unique_ptr<ShardReader>> files_;
};

}  // namespace zero::checkpoint
