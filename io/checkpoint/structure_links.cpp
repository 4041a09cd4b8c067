/// The half of StructureReader that finds what a group holds: few links stand in its header, many
/// lie in a fractal heap, which a tree of version 2 lists by name.

#include <bit>
#include <string_view>

#include "io/checkpoint/structure_reader.hpp"
#include "zero/io/interop/json.hpp"

namespace zero::checkpoint {
namespace {

constexpr uint64_t kHardLink = 0;
/// Bits of a link's flags.
constexpr uint64_t kHasType = 0x08, kHasOrder = 0x04, kHasCharacterSet = 0x10;

/// Every HDF5 library makes the heaps and trees of groups with these numbers.
constexpr uint64_t kIdBytes = 7, kTableWidth = 4, kStartBytes = 512, kDirectBytesMax = 65536;
constexpr uint64_t kHeapBits = 32, kHeapOffsetBytes = kHeapBits / 8, kLengthBytes = 2;
constexpr uint64_t kDirectRows = 9;  // of 512, 512, 1024 ... 65536 bytes each
constexpr uint64_t kTreeOfNames = 5, kHashBytes = 4, kRecordBytes = kHashBytes + kIdBytes;
constexpr uint64_t kNodeBytes = 512, kNodeHeadBytes = 6, kChecksumBytes = 4, kDepthMax = 8;
constexpr uint64_t kIndirectHeadBytes = 17;

StructureLink parse_link(const StructureReader& reader, std::span<const std::byte> content,
                         const std::string& object) {
  StructureCursor at = reader.cursor(content, object);
  at.expect(1, 1, "version of a link");
  const uint64_t flags = at.number(1);
  const uint64_t type = flags & kHasType ? at.number(1) : kHardLink;
  if (flags & kHasOrder) at.take(8);
  if (flags & kHasCharacterSet) at.take(1);
  StructureLink link{.name = at.text(at.number(size_t(1) << (flags & 3)))};
  if (type != kHardLink) {
    reader.fail(object, "link \"", shown(link.name), "\" is ",
                type == 1    ? "a soft one"
                : type == 64 ? "into another file"
                             : "of a user's kind",
                ", and none of a checkpoint's is");
  }
  constexpr std::string_view kNoName("/\0", 2);
  if (link.name.empty() || link.name.find_first_of(kNoName) != link.name.npos) {
    at.fail("link \"", shown(link.name), "\" is no name");
  }
  link.address = at.number(8);
  return link;
}

/// Where the objects of a fractal heap lie in the file.
class Heap {
 public:
  Heap(const StructureReader& reader, uint64_t address, const std::string& object)
      : reader_(reader), object_(object) {
    const std::vector<std::byte> block = reader.read(address, 142, object);
    StructureCursor at = reader.cursor(block, object);
    at.expect("FRHP");
    at.expect(0, 1, "version of the heap");
    at.expect(kIdBytes, 2, "length of a heap's identifiers");
    at.expect(0, 2, "length of a heap's filters");
    at.take(1 + 4 + 12 * 8);
    at.expect(kTableWidth, 2, "width of a heap's table");
    at.expect(kStartBytes, 8, "first block of a heap");
    at.expect(kDirectBytesMax, 8, "largest block of a heap");
    at.expect(kHeapBits, 2, "bits of a heap's offsets");
    at.take(2);
    root_ = at.number(8);
    rows_ = at.number(2);
  }

  std::vector<std::byte> object(std::span<const std::byte> id) const {
    StructureCursor at = reader_.cursor(id, object_);
    at.expect(0, 1, "kind of an object in the heap");
    const uint64_t offset = at.number(kHeapOffsetBytes), bytes = at.number(kLengthBytes);
    return reader_.read(place_of(offset, bytes), bytes, object_);
  }

 private:
  uint64_t place_of(uint64_t offset, uint64_t bytes) const {
    uint64_t block = root_, block_bytes = kStartBytes, rows = rows_;
    bool direct = rows == 0;
    while (!direct) {
      const uint64_t doubled = offset / (kTableWidth * kStartBytes);
      const uint64_t row = uint64_t(std::bit_width(doubled));
      block_bytes = row == 0 ? kStartBytes : kStartBytes << (row - 1);
      const uint64_t inside = row == 0 ? offset : offset - kTableWidth * block_bytes;
      if (row >= rows) reader_.fail(object_, "its heap has no offset ", offset);
      block = child_of(block, row * kTableWidth + inside / block_bytes);
      offset = inside % block_bytes;
      direct = row < kDirectRows;
      rows = uint64_t(std::bit_width(block_bytes / (kTableWidth * kStartBytes)));
    }
    if (offset > block_bytes || bytes > block_bytes - offset) {
      reader_.fail(object_, "an object of its heap has ", bytes, " bytes");
    }
    if (block > reader_.bytes()) reader_.fail(object_, "a block of its heap lies at ", block);
    return block + offset;
  }

  uint64_t child_of(uint64_t block, uint64_t entry) const {
    const std::vector<std::byte> head = reader_.read(block, kIndirectHeadBytes, object_);
    reader_.cursor(head, object_).expect("FHIB");
    const auto address = reader_.read(block + kIndirectHeadBytes + 8 * entry, 8, object_);
    return reader_.cursor(address, object_).number(8);
  }

  const StructureReader& reader_;
  const std::string& object_;
  uint64_t root_ = kNowhere, rows_ = 0;
};

/// Visits the records of a tree of names, which are identifiers in a heap.
class NameTree {
 public:
  NameTree(const StructureReader& reader, const std::string& object, const Heap& heap, size_t most)
      : reader_(reader), object_(object), heap_(heap), most_(most) {}

  std::vector<StructureLink> links(uint64_t address) {
    const std::vector<std::byte> block = reader_.read(address, 38, object_);
    StructureCursor at = reader_.cursor(block, object_);
    at.expect("BTHD");
    at.expect(0, 1, "version of the tree");
    at.expect(kTreeOfNames, 1, "kind of the tree");
    at.expect(kNodeBytes, 4, "length of a tree's nodes");
    at.expect(kRecordBytes, 2, "length of a tree's records");
    const uint64_t depth = at.number(2);
    if (depth > kDepthMax) reader_.fail(object_, "its tree of names is ", depth, " deep");
    at.take(2);
    const uint64_t root = at.number(8), records = at.number(2);
    if (records > 0) visit({.address = root, .records = records, .depth = depth});
    return std::move(links_);
  }

 private:
  struct Node {
    uint64_t address = kNowhere, records = 0, depth = 0;
  };

  void visit(const Node& node) {
    const std::vector<std::byte> block = reader_.read(node.address, kNodeBytes, object_);
    StructureCursor at = reader_.cursor(block, object_);
    at.expect(node.depth == 0 ? "BTLF" : "BTIN");
    at.expect(0, 1, "version of a node");
    at.expect(kTreeOfNames, 1, "kind of a node");
    if (node.records == 0) reader_.fail(object_, "its tree of names has a node without any");
    for (uint64_t i = 0; i < node.records; ++i) {
      at.take(kHashBytes);
      add(heap_.object(at.take(kIdBytes)));
    }
    if (node.depth == 0) return;
    const Widths widths = widths_below(node.depth);
    for (uint64_t i = 0; i <= node.records; ++i) {
      const uint64_t address = at.number(8), records = at.number(widths.records);
      at.take(widths.all_records);
      visit({.address = address, .records = records, .depth = node.depth - 1});
    }
  }

  void add(std::span<const std::byte> link) {
    if (links_.size() == most_) reader_.fail(object_, "holds more than ", most_, " links");
    links_.push_back(parse_link(reader_, link, object_));
  }

  /// Bytes of the numbers behind a child's address: how many records it has, and with its own
  /// children's.
  struct Widths {
    size_t records = 0, all_records = 0;
  };

  static size_t bytes_for(uint64_t largest) { return size_t(std::bit_width(largest) + 7) / 8; }

  /// In a node of this depth.
  static Widths widths_below(uint64_t depth) {
    constexpr uint64_t kRoom = kNodeBytes - kNodeHeadBytes - kChecksumBytes;
    constexpr uint64_t kLeafRecords = kRoom / kRecordBytes;
    Widths widths{.records = bytes_for(kLeafRecords), .all_records = 0};
    uint64_t all = kLeafRecords;
    for (uint64_t level = 1; level < depth; ++level) {
      const uint64_t pointer = 8 + widths.records + widths.all_records;
      const uint64_t records = (kRoom - pointer) / (kRecordBytes + pointer);
      all = (records + 1) * all + records;
      widths.all_records = bytes_for(all);
    }
    return widths;
  }

  const StructureReader& reader_;
  const std::string& object_;
  const Heap& heap_;
  size_t most_;
  std::vector<StructureLink> links_;
};

}  // namespace

std::vector<StructureLink> StructureReader::links(const std::vector<StructureMessage>& group,
                                                  const std::string& object, size_t most) const {
  std::vector<StructureLink> links;
  for (const StructureMessage& message : group) {
    StructureCursor at = cursor(message.content, object);
    if (message.type == StructureMessage::kLink) {
      if (links.size() == most) fail(object, "holds more than ", most, " links");
      links.push_back(parse_link(*this, message.content, object));
    }
    if (message.type != StructureMessage::kLinkInfo) continue;
    at.expect(0, 1, "version of the group");
    // In the order of making, which needs more.
    at.expect(0, 1, "order of the group");
    const uint64_t heap = at.number(8), tree = at.number(8);
    if (heap == kNowhere) continue;
    for (StructureLink& link : NameTree(*this, object, Heap(*this, heap, object), most).links(tree))
      links.push_back(std::move(link));
  }
  return links;
}

}  // namespace zero::checkpoint
