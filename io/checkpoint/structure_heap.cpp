#include "io/checkpoint/structure_heap.hpp"

#include <algorithm>

namespace zero::checkpoint {
namespace {

constexpr uint64_t kHeapHeadBytes = 16, kObjectHeadBytes = 16;
/// Of all collections; an index of ours has one for each of its datasets.
constexpr size_t kHeapObjectsMax = 262144;

}  // namespace

std::vector<std::byte> GlobalHeap::find(uint64_t collection, uint64_t number,
                                        const std::string& object) {
  if (noted_.insert(collection).second) note_collection(collection, object);
  const auto found = objects_.find({collection, number});
  if (found == objects_.end()) reader_.fail(object, "its heap has no object ", number);
  const auto [offset, bytes] = found->second;
  read_ += bytes;
  if (read_ > reader_.bytes()) reader_.fail(object, "its heap's objects are read more than once");
  return reader_.read(offset, bytes, object);
}

uint64_t GlobalHeap::end_of(uint64_t address, const std::string& object) const {
  const std::vector<std::byte> head = reader_.read(address, kHeapHeadBytes, object);
  StructureCursor at = reader_.cursor(head, object);
  at.expect("GCOL");
  at.expect(1, 1, "version of its heap");
  at.take(3);
  const uint64_t bytes = at.number(8);
  if (bytes < kHeapHeadBytes || bytes > reader_.bytes() - address) {
    reader_.fail(object, "its heap has ", bytes, " bytes");
  }
  return address + bytes;
}

void GlobalHeap::note_collection(uint64_t address, const std::string& object) {
  const uint64_t end = end_of(address, object);
  for (uint64_t begin = address + kHeapHeadBytes; end - begin >= kObjectHeadBytes;) {
    if (++heads_ > kHeapObjectsMax) {
      reader_.fail(object, "the heaps have more than ", kHeapObjectsMax, " objects");
    }
    const std::vector<std::byte> head = reader_.read(begin, kObjectHeadBytes, object);
    StructureCursor at = reader_.cursor(head, object);
    const uint64_t number = at.number(2);
    at.take(2 + 4);
    const uint64_t bytes = at.number(8), room = end - begin - kObjectHeadBytes;
    // Free room, which ends a collection, or nothing that HDF5 has written.
    if (number == 0 || bytes > room) return;
    objects_.try_emplace({address, number},
                         Place{.offset = begin + kObjectHeadBytes, .bytes = bytes});
    begin += kObjectHeadBytes + std::min(room, (bytes + 7) / 8 * 8);
  }
}

}  // namespace zero::checkpoint
