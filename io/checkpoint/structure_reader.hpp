#pragma once
/// The structure of an HDF5 file, read without HDF5's library: that one follows links and storage
/// into other files, and files of an enemy are more than it was made for. Known is what our own
/// files consist of - superblock 2 or 3, object headers of version 2, links in them or in a fractal
/// heap - and nothing else passes. After the HDF5 File Format Specification, version 3.0.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "zero/base/error.hpp"
#include "zero/io/files/input_file.hpp"

namespace zero::checkpoint {

/// What an address is where there is nothing.
inline constexpr uint64_t kNowhere = ~uint64_t(0);

/// The bytes of one part of a structure, from front to back.
class StructureCursor {
 public:
  /// `place` is for messages.
  StructureCursor(std::span<const std::byte> bytes, std::string place)
      : bytes_(bytes), place_(std::move(place)) {}

  /// A little-endian number of 1 to 8 bytes.
  uint64_t number(size_t bytes);
  std::string text(size_t bytes);
  std::span<const std::byte> take(size_t bytes);
  size_t left() const { return bytes_.size(); }
  /// Refuses another number of `bytes` bytes than `wanted`.
  void expect(uint64_t wanted, size_t bytes, const char* what);
  /// Refuses other letters.
  void expect(const char* letters);
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    refuse(Exit::kInput, place_, ": ", parts...);
  }

 private:
  std::span<const std::byte> bytes_;
  std::string place_;
};

/// A part of what an object header says.
struct StructureMessage {
  enum Type : int {
    kNothing = 0x00,
    kSpace = 0x01,
    kLinkInfo = 0x02,
    kDatatype = 0x03,
    kFillValue = 0x05,
    kLink = 0x06,
    kExternalFiles = 0x07,
    kLayout = 0x08,
    kGroupInfo = 0x0a,
    kFilters = 0x0b,
    kAttribute = 0x0c,
    kContinuation = 0x10,
    kFileSpace = 0x17,
    kAttributeInfo = 0x15
  };
  int type = kNothing;
  std::vector<std::byte> content;
};

struct StructureLink {
  std::string name;
  uint64_t address = kNowhere;
};

/// Every function throws Error(kInput) naming the file, the object and what is wrong with it.
class StructureReader {
 public:
  /// Outlived by `file`.
  explicit StructureReader(const InputFile& file) : file_(file) {}

  /// Reads the superblock; the address of the root group.
  uint64_t root() const;

  /// Of the object at an address, which messages call `object`; a few MiB at most.
  std::vector<StructureMessage> messages(uint64_t address, const std::string& object) const;

  /// What the group of these messages holds: hard links, at most `most` of them.
  std::vector<StructureLink> links(const std::vector<StructureMessage>& group,
                                   const std::string& object, size_t most) const;

  /// Bytes that lie in the file and are not too many.
  std::vector<std::byte> read(uint64_t offset, uint64_t bytes, const std::string& object) const;

  StructureCursor cursor(std::span<const std::byte> bytes, const std::string& object) const {
    return {bytes, text(file_.path(), ": HDF5 object ", object)};
  }

  template <class... Parts>
  [[noreturn]] void fail(const std::string& object, const Parts&... parts) const {
    refuse(Exit::kInput, file_.path(), ": HDF5 object ", object, ": ", parts...);
  }

  uint64_t bytes() const { return uint64_t(file_.bytes()); }

 private:
  const InputFile& file_;
};

}  // namespace zero::checkpoint
