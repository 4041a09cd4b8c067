#include "io/interop/zip_entries.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "zero/base/error.hpp"
#include "zero/io/interop/json.hpp"

namespace zero {
namespace {

using std::string_view_literals::operator""sv;

// Lengths and fields are those of PKWARE's APPNOTE.TXT, section 4.3.
constexpr int64_t kEndBytes = 22, kLocatorBytes = 20, kEnd64Bytes = 56;
constexpr size_t kHeaderBytes = 46, kLocalBytes = 30;

template <class T>
uint64_t field(std::string_view record, size_t at) {
  T value;
  std::memcpy(&value, record.data() + at, sizeof value);
  return value;
}

[[noreturn]] void fail(const InputFile& file, uint64_t offset, const char* what) {
  refuse(Exit::kInput, file.path(), ": offset ", offset, ": ", what,
         "; the archive is cut off or damaged, so fetch it again");
}

/// Returns bytes of the file, which must begin with a signature.
std::string record(const InputFile& file, uint64_t offset, size_t bytes, std::string_view signature,
                   const char* what) {
  const uint64_t end = uint64_t(file.bytes());
  std::string out(bytes, '\0');
  if (bytes > end || offset > end - bytes) fail(file, offset, what);
  file.read(int64_t(offset), std::as_writable_bytes(std::span(out)));
  if (!out.starts_with(signature)) fail(file, offset, what);
  return out;
}

/// The directory's place in the file.
struct Directory {
  uint64_t begin = 0, bytes = 0, entries = 0;
};

/// Returns the place that a record of zip64 states, which takes the place of the record at the end.
Directory find_directory64(const InputFile& file, uint64_t locator, uint64_t offset) {
  const std::string end =
      record(file, offset, kEnd64Bytes, "PK\x06\x06"sv, "no end of a zip64 directory");
  if (field<uint32_t>(end, 16) != 0 || field<uint32_t>(end, 20) != 0 ||
      field<uint64_t>(end, 4) != locator - offset - 12) {
    fail(file, offset, "no end of a zip64 directory in one volume");
  }
  return {.begin = field<uint64_t>(end, 48),
          .bytes = field<uint64_t>(end, 40),
          .entries = field<uint64_t>(end, 32)};
}

Directory find_directory(const InputFile& file) {
  const uint64_t at = uint64_t(std::max<int64_t>(0, file.bytes() - kEndBytes));
  const std::string end =
      record(file, at, kEndBytes, "PK\x05\x06"sv, "no zip directory ends the file");
  if (field<uint32_t>(end, 4) != 0) fail(file, at, "a zip archive of several volumes");
  Directory found{.begin = field<uint32_t>(end, 16),
                  .bytes = field<uint32_t>(end, 12),
                  .entries = field<uint16_t>(end, 10)};
  uint64_t last = at;
  if (at >= kLocatorBytes) {
    std::string locator(kLocatorBytes, '\0');
    file.read(int64_t(at) - kLocatorBytes, std::as_writable_bytes(std::span(locator)));
    if (locator.starts_with("PK\x06\x07"sv)) {
      last = field<uint64_t>(locator, 8);
      found = find_directory64(file, at - kLocatorBytes, last);
    }
  }
  if (found.begin > last || found.bytes != last - found.begin)
    fail(file, at, "a zip directory at another place than its end says");
  if (found.bytes > uint64_t(kZipDirectoryBytesMax)) {
    refuse(Exit::kInput, file.path(), ": a zip directory of ", found.bytes, " bytes; at most ",
           kZipDirectoryBytesMax, " are read, which are many more than PyTorch's files have");
  }
  return found;
}

/// An entry as a header of the directory states it.
struct Header {
  std::string_view name = {};
  uint64_t flags = 0, method = 0;
  uint64_t stored = 0, bytes = 0, local = 0;  ///< sizes, and the place of the local header
  uint32_t crc = 0;
  size_t length = 0;  ///< bytes of the header itself
};

/// Replaces numbers that do not fit into 32 bits by those of zip64's extra field.
void take_extra(const InputFile& file, std::string_view extra, uint64_t offset, Header& header) {
  const auto is_large = [](uint64_t value) { return value == UINT32_MAX; };
  while (extra.size() >= 4) {
    const uint64_t id = field<uint16_t>(extra, 0);
    std::string_view body = extra.substr(4, field<uint16_t>(extra, 2));
    extra.remove_prefix(4 + body.size());
    if (id != 1) continue;
    for (uint64_t* value : {&header.bytes, &header.stored, &header.local}) {
      if (!is_large(*value)) continue;
      if (body.size() < 8) fail(file, offset, "an entry of zip64 without its sizes");
      *value = field<uint64_t>(body, 0);
      body.remove_prefix(8);
    }
    return;
  }
}

Header header_at(const InputFile& file, const Directory& directory, std::string_view records,
                 size_t at) {
  const std::string_view record = records.substr(at);
  const uint64_t offset = directory.begin + at;
  if (record.size() < kHeaderBytes || !record.starts_with("PK\x01\x02"sv))
    fail(file, offset, "no entry of a zip directory");
  const size_t name = field<uint16_t>(record, 28), extra = field<uint16_t>(record, 30);
  Header header{.flags = field<uint16_t>(record, 8),
                .method = field<uint16_t>(record, 10),
                .stored = field<uint32_t>(record, 20),
                .bytes = field<uint32_t>(record, 24),
                .local = field<uint32_t>(record, 42),
                .crc = uint32_t(field<uint32_t>(record, 16)),
                .length = kHeaderBytes + name + extra + field<uint16_t>(record, 32)};
  if (header.length > record.size()) fail(file, offset, "an entry that leaves its zip directory");
  if (name > kZipNameBytesMax) fail(file, offset, "an entry with a name above 1024 bytes");
  header.name = record.substr(kHeaderBytes, name);
  take_extra(file, record.substr(kHeaderBytes + name, extra), offset, header);
  return header;
}

/// Returns the entry of a header, whose bytes lie before `limit`.
ZipEntry entry_of(const InputFile& file, const Header& header, uint64_t limit) {
  const auto refused = [&](const auto&... what) {
    refuse(Exit::kInput, file.path(), ": \"", shown(header.name), "\": ", what...);
  };
  if ((header.flags & 1) != 0) refused("is encrypted; unpack the archive where its key is");
  if (header.method != 0 || header.stored != header.bytes) {
    refused("is compressed; write the file again with torch.save, which stores entries as they ",
            "are");
  }
  const std::string local = record(file, header.local, kLocalBytes + header.name.size(),
                                   "PK\x03\x04"sv, "no entry of a zip archive");
  if (field<uint16_t>(local, 26) != header.name.size() ||
      std::string_view(local).substr(kLocalBytes) != header.name) {
    refused("has another name at offset ", header.local);
  }
  const uint64_t begin = header.local + local.size() + field<uint16_t>(local, 28);
  if (begin > limit || header.bytes > limit - begin) {
    refused("has ", header.bytes, " bytes from offset ", begin,
            " on, but the zip directory begins ", "at ", limit,
            "; the archive is damaged, so fetch it again");
  }
  return {.name = std::string(header.name),
          .header = int64_t(header.local),
          .begin = int64_t(begin),
          .end = int64_t(begin + header.bytes),
          .crc = header.crc};
}

void require_apart(const InputFile& file, const std::vector<ZipEntry>& entries) {
  for (size_t i = 1; i < entries.size(); ++i) {
    const ZipEntry &before = entries[i - 1], &entry = entries[i];
    if (before.end <= entry.header) continue;
    refuse(Exit::kInput, file.path(), ": \"", shown(entry.name), "\": shares bytes with \"",
           shown(before.name), "\", which no writer makes; fetch the file again");
  }
  std::vector<std::string_view> names;
  for (const ZipEntry& entry : entries) names.push_back(entry.name);
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice != names.end())
    refuse(Exit::kInput, file.path(), ": \"", shown(*twice), "\": stands twice in the archive");
}

}  // namespace

std::vector<ZipEntry> zip_entries(const InputFile& file) {
  const Directory directory = find_directory(file);
  std::string records(size_t(directory.bytes), '\0');
  file.read(int64_t(directory.begin), std::as_writable_bytes(std::span(records)));
  std::vector<ZipEntry> entries;
  for (size_t at = 0; at < records.size();) {
    const Header header = header_at(file, directory, records, at);
    entries.push_back(entry_of(file, header, directory.begin));
    at += header.length;
  }
  if (entries.size() != directory.entries) {
    refuse(Exit::kInput, file.path(), ": a zip directory of ", entries.size(), " entries says ",
           directory.entries, "; the archive is damaged, so fetch it again");
  }
  std::ranges::sort(entries, {}, &ZipEntry::header);
  require_apart(file, entries);
  return entries;
}

}  // namespace zero
