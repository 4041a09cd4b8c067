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
#include "zero/io/files/files.hpp"

namespace zero::checkpoint {

/// Elements of whole tensors, out of the slices in which a checkpoint has them. Every block that is
/// read is held against its digest. Opens only the files that hold what is asked for, and few at a
/// time.
class TensorReader {
 public:
  /// Both outlive it. Throws as Store::open_folder.
  TensorReader(const Store& store, const Manifest& manifest);
  /// As above, and records each block it reads in the ledger, to verify the whole checkpoint.
  TensorReader(const Store& store, const Manifest& manifest, BlockLedger& ledger);

  /// nullptr if the checkpoint has none of the name.
  const Tensor* find(const std::string& name) const;

  /// Elements from `begin` on, as fp32, which is exact. Throws Error(kInput) where the checkpoint
  /// has no such tensor, has it with other extents, or in fp64; and as ShardReader.
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
  std::map<std::string, int32_t> tensors_;  ///< by name
  std::vector<std::vector<Slice>> slices_;  ///< [tensors]
  std::map<int32_t, std::unique_ptr<ShardReader>> files_;
};

}  // namespace zero::checkpoint
