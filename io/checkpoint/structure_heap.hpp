#pragma once
/// HDF5's global heap, in which each dataset of an index keeps where it looks.

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "io/checkpoint/structure_reader.hpp"

namespace zero::checkpoint {

/// Many objects share a collection, so that each is gone through once, for all who look there. No
/// two look for the same: objects of more bytes than the file has are not read.
class GlobalHeap {
 public:
  /// Outlived by `reader`.
  explicit GlobalHeap(const StructureReader& reader) : reader_(reader) {}

  /// What stands under `number` in the collection at that address. Throws Error(kInput) naming
  /// `object`, which refers to it.
  std::vector<std::byte> find(uint64_t collection, uint64_t number, const std::string& object);

 private:
  struct Place {
    uint64_t offset = 0, bytes = 0;
  };

  void note_collection(uint64_t address, const std::string& object);
  uint64_t end_of(uint64_t address, const std::string& object) const;

  const StructureReader& reader_;
  std::set<uint64_t> noted_;                                ///< addresses of collections
  std::map<std::pair<uint64_t, uint64_t>, Place> objects_;  ///< by collection and number
  size_t heads_ = 0;
  uint64_t read_ = 0;  ///< bytes of objects
};

}  // namespace zero::checkpoint
