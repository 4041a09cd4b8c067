#include "io/checkpoint/structure_reader.hpp"

#include <algorithm>
#include <string_view>

namespace zero::checkpoint {
namespace {

constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";
constexpr uint64_t kSuperblockBytes = 48;
constexpr const char* kFilePlace = "/";

/// Of one object, in all its chunks: attributes are the most.
constexpr size_t kHeaderBytesMax = size_t(2) << 20;
constexpr size_t kChunksMax = 4096;
constexpr uint64_t kPartBytesMax = uint64_t(16) << 20;
constexpr uint64_t kPrefixBytesMax = 34;
constexpr size_t kChecksumBytes = 4;

/// Bits of an object header's flags.
constexpr uint64_t kCreationOrder = 0x04, kPhaseChange = 0x10, kTimes = 0x20;
/// Of a message's: what it says lies elsewhere.
constexpr uint64_t kShared = 0x02;

struct Chunk {
  uint64_t address = 0, bytes = 0;
};

/// Takes an object's chunks one after the other; one may name the next.
class HeaderReader {
 public:
  HeaderReader(const StructureReader& reader, const std::string& object)
      : reader_(reader), object_(object) {}

  std::vector<StructureMessage> read(uint64_t address) {
    read_prefix(address);
    for (size_t i = 0; i < chunks_.size(); ++i) {
      const std::vector<std::byte> chunk =
          reader_.read(chunks_[i].address, chunks_[i].bytes, object_);
      StructureCursor at = reader_.cursor(chunk, object_);
      if (i > 0) at.expect("OCHK");
      read_messages(at);
    }
    return std::move(messages_);
  }

 private:
  void read_prefix(uint64_t address) {
    const uint64_t there = address < reader_.bytes() ? reader_.bytes() - address : 0;
    const std::vector<std::byte> prefix =
        reader_.read(address, std::min(kPrefixBytesMax, there), object_);
    StructureCursor at = reader_.cursor(prefix, object_);
    at.expect("OHDR");
    at.expect(2, 1, "version of the header");
    const uint64_t flags = at.number(1);
    ordered_ = flags & kCreationOrder;
    if (flags & kTimes) at.take(16);
    if (flags & kPhaseChange) at.take(4);
    const uint64_t bytes = at.number(size_t(1) << (flags & 3));
    add_chunk({.address = address + prefix.size() - at.left(), .bytes = bytes});
  }

  void add_chunk(const Chunk& chunk) {
    bytes_ += std::min<uint64_t>(chunk.bytes, kHeaderBytesMax);
    if (bytes_ >= kHeaderBytesMax || chunks_.size() == kChunksMax) {
      reader_.fail(object_, "its header has more than ", kHeaderBytesMax, " bytes or ", kChunksMax,
                   " chunks");
    }
    chunks_.push_back(chunk);
  }

  void read_messages(StructureCursor& at) {
    // What is left in the end is shorter than a message.
    const size_t head_bytes = ordered_ ? 6 : 4;
    while (at.left() >= head_bytes) read_message(at);
  }

  void read_message(StructureCursor& at) {
    StructureMessage message{.type = int(at.number(1)), .content = {}};
    const uint64_t bytes = at.number(2), flags = at.number(1);
    if (ordered_) at.take(2);
    const auto content = at.take(bytes);
    if (flags & kShared) reader_.fail(object_, "message ", message.type, " is a shared one");
    if (message.type == StructureMessage::kContinuation) {
      StructureCursor inside = reader_.cursor(content, object_);
      const uint64_t address = inside.number(8), length = inside.number(8);
      if (length < kChecksumBytes) reader_.fail(object_, "a chunk of ", length, " bytes");
      add_chunk({.address = address, .bytes = length - kChecksumBytes});
    } else if (message.type != StructureMessage::kNothing) {
      message.content.assign(content.begin(), content.end());
      messages_.push_back(std::move(message));
    }
  }

  const StructureReader& reader_;
  const std::string& object_;
  bool ordered_ = false;
  uint64_t bytes_ = 0;
  std::vector<Chunk> chunks_;
  std::vector<StructureMessage> messages_;
};

}  // namespace

uint64_t StructureCursor::number(size_t bytes) {
  uint64_t value = 0;
  size_t shift = 0;
  for (const std::byte byte : take(bytes)) {
    value |= uint64_t(byte) << shift;
    shift += 8;
  }
  return value;
}

std::string StructureCursor::text(size_t bytes) {
  const std::span<const std::byte> letters = take(bytes);
  return {reinterpret_cast<const char*>(letters.data()), letters.size()};
}

std::span<const std::byte> StructureCursor::take(size_t bytes) {
  if (bytes > bytes_.size()) fail("ends ", bytes - bytes_.size(), " bytes too early");
  const std::span<const std::byte> taken = bytes_.first(bytes);
  bytes_ = bytes_.subspan(bytes);
  return taken;
}

void StructureCursor::expect(uint64_t wanted, size_t bytes, const char* what) {
  const uint64_t found = number(bytes);
  if (found != wanted) fail(what, " is ", found, ", and not ", wanted);
}

void StructureCursor::expect(const char* letters) {
  const std::string_view wanted(letters);
  if (text(wanted.size()) != wanted) fail("does not begin with ", wanted);
}

std::vector<std::byte> StructureReader::read(uint64_t offset, uint64_t bytes,
                                             const std::string& object) const {
  const uint64_t end = this->bytes();
  if (offset > end || bytes > end - offset) {
    fail(object, "bytes [", offset, ", +", bytes, ") are not all in the file's ", end);
  }
  if (bytes > kPartBytesMax) {
    fail(object, "has a part of ", bytes, " bytes, at most ", kPartBytesMax, " are read");
  }
  std::vector<std::byte> out(bytes);
  file_.read(int64_t(offset), out);
  return out;
}

uint64_t StructureReader::root() const {
  const std::string place = kFilePlace;
  const std::vector<std::byte> block = read(0, std::min(kSuperblockBytes, bytes()), place);
  StructureCursor at = cursor(block, place);
  if (at.text(kSignature.size()) != kSignature) fail(place, "the file is no HDF5 file");
  if (const uint64_t version = at.number(1); version != 2 && version != 3) {
    fail(place, "the superblock is of version ", version, "; 2 and 3 are read");
  }
  at.expect(8, 1, "the size of offsets");
  at.expect(8, 1, "the size of lengths");
  at.take(1);
  at.expect(0, 8, "the base address");
  const uint64_t extension = at.number(8);
  at.expect(bytes(), 8, "the end of the file");
  if (extension != kNowhere) {
    for (const StructureMessage& message : messages(extension, place)) {
      if (message.type == StructureMessage::kFileSpace) continue;
      fail(place, "its superblock's extension has message ", message.type);
    }
  }
  return at.number(8);
}

std::vector<StructureMessage> StructureReader::messages(uint64_t address,
                                                        const std::string& object) const {
  return HeaderReader(*this, object).read(address);
}

}  // namespace zero::checkpoint
