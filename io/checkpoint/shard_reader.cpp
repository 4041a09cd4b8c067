#include <algorithm>
#include <vector>

#include "io/checkpoint/file_digest.hpp"
#include "io/checkpoint/open_plain.hpp"
#include "io/checkpoint/structure_rules.hpp"
#include "zero/base/crc32c.hpp"
#include "zero/base/error.hpp"
#include "zero/io/checkpoint/shard_file.hpp"
#include "zero/io/files/input_file.hpp"

namespace zero::checkpoint {

struct ShardReader::Parts {
  Parts(int folder, const std::string& folder_name, const File& entry)
      : file(entry), input(open_plain(folder, folder_name, entry.name)) {
    if (input.bytes() != file.bytes) {
      refuse(Exit::kInput, input.path(), ": has ", input.bytes(), " bytes, the manifest says ",
             file.bytes);
    }
  }

  size_t block_bytes(int64_t block) const {
    return size_t(std::min(kDigestBlockBytes, file.bytes - block * kDigestBlockBytes));
  }

  /// Reads a whole block to `out` and holds it against its digest.
  void read_block(int64_t block, std::span<std::byte> out) const {
    input.read(block * kDigestBlockBytes, out);
    if (crc32c(out) != file.crc32c[size_t(block)]) {
      refuse(Exit::kInput, input.path(), ": block ", block, " (bytes ", block * kDigestBlockBytes,
             " to ", block * kDigestBlockBytes + int64_t(out.size()),
             "): its CRC32C is not the manifest's: the file is damaged");
    }
    if (ledger && !ledger->has(index, block)) ledger->note(index, block, xxh3_of(out));
  }

  /// A block of which only a part is wanted; kept, because its neighbour is often wanted next.
  std::span<const std::byte> kept_block(int64_t block) {
    const std::span<std::byte> content = std::span(buffer).first(block_bytes(block));
    if (kept == block) return content;
    kept = -1;
    read_block(block, content);
    kept = block;
    return content;
  }

  File file;
  InputFile input;
  std::vector<std::byte> buffer = std::vector<std::byte>(size_t(kDigestBlockBytes));
  int64_t kept = -1;
  BlockLedger* ledger = nullptr;
  int32_t index = 0;  ///< of the file, in the ledger
};

ShardReader::ShardReader(int folder, const std::string& folder_name, const File& file)
    : parts_(std::make_unique<Parts>(folder, folder_name, file)) {}

ShardReader::~ShardReader() = default;

void ShardReader::read(int64_t offset, std::span<std::byte> out) {
  Parts& parts = *parts_;
  ZERO_REQUIRE(
      offset >= 0 && offset <= parts.file.bytes && int64_t(out.size()) <= parts.file.bytes - offset,
      parts.input.path(), ": ", out.size(), " bytes from ", offset, " on are not all in ",
      parts.file.bytes);
  while (!out.empty()) {
    const int64_t block = offset / kDigestBlockBytes;
    const size_t inside = size_t(offset % kDigestBlockBytes), whole = parts.block_bytes(block);
    const size_t now = std::min(whole - inside, out.size());
    if (now == whole) {
      parts.read_block(block, out.first(now));
    } else {
      std::copy_n(parts.kept_block(block).data() + inside, now, out.data());
    }
    out = out.subspan(now);
    offset += int64_t(now);
  }
}

void ShardReader::note_in(BlockLedger& ledger, int32_t file) {
  parts_->ledger = &ledger;
  parts_->index = file;
}

void ShardReader::check(int64_t block) { parts_->kept_block(block); }

void ShardReader::verify(int64_t format_version, std::atomic<int64_t>* checked) {
  const File& file = parts_->file;
  FileDigest digest(format_version);
  for (int64_t block = 0; block < int64_t(file.crc32c.size()); ++block) {
    digest.add_block(parts_->kept_block(block), file.crc32c[size_t(block)]);
    if (checked) ++*checked;
  }
  require_same_digest(digest.result(file.name), file, parts_->input.path());
}

void ShardReader::require_structure(const Manifest& manifest) const {
  zero::checkpoint::require_structure(parts_->input, manifest, parts_->file);
}

}  // namespace zero::checkpoint
