#include <algorithm>
#include <vector>

#include "io/checkpoint/folder_files.hpp"
#include "zero/base/digests.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/io/checkpoint/blocks.hpp"
#include "zero/io/checkpoint/shard_file.hpp"
#include "zero/io/files/input_file.hpp"

namespace zero::checkpoint {

struct ShardReader::Parts {
  Parts(int folder, const std::string& folder_name, const File& entry, const DigestForm& digests)
      : file(entry),
        input(open_plain(folder, folder_name, entry.name)),
        form(digests),
        buffer(size_t(form.block_bytes)) {
    if (input.bytes() != file.bytes) {
      refuse(Exit::kInput, input.path(), ": has ", input.bytes(), " bytes, the manifest says ",
             file.bytes);
    }
  }

  /// Returns the length of a block in bytes; the last may be shorter.
  size_t bytes_of_block(int64_t block) const {
    return size_t(std::min(form.block_bytes, file.bytes - block * form.block_bytes));
  }

  /// Reads a whole block to `out` and checks its digest.
  void read_block(int64_t block, std::span<std::byte> out) const {
    const int64_t begin = block * form.block_bytes;
    input.read(begin, out);
    const auto digits = size_t(form.digits());
    if (file.digests.compare(size_t(block) * digits, digits, digest_of(out, form)) != 0) {
      refuse(Exit::kInput, input.path(), ": block ", block, " (bytes ", begin, " to ",
             begin + int64_t(out.size()), "): its ", form.is_crc32c ? "CRC32C" : "XXH3",
             " is not the manifest's: the file is damaged");
    }
    if (ledger) ledger->note(index, block);
  }

  /// Returns a block for a partial read. Keeps it, because its neighbour is often wanted next.
  std::span<const std::byte> kept_block(int64_t block) {
    const std::span<std::byte> content = std::span(buffer).first(bytes_of_block(block));
    if (kept == block) return content;
    kept = -1;
    read_block(block, content);
    kept = block;
    return content;
  }

  File file;
  InputFile input;
  const DigestForm form;
  std::vector<std::byte> buffer;
  int64_t kept = -1;
  BlockLedger* ledger = nullptr;
  int32_t index = 0;  ///< index of the file in the ledger
};

ShardReader::ShardReader(int folder, const std::string& folder_name, const File& file,
                         const DigestForm& digests)
    : parts_(std::make_unique<Parts>(folder, folder_name, file, digests)) {}

ShardReader::~ShardReader() = default;

void ShardReader::read(int64_t offset, std::span<std::byte> out) {
  Parts& parts = *parts_;
  ZERO_REQUIRE(
      offset >= 0 && offset <= parts.file.bytes && int64_t(out.size()) <= parts.file.bytes - offset,
      parts.input.path(), ": ", out.size(), " bytes from ", offset, " on are not all in ",
      parts.file.bytes);
  while (!out.empty()) {
    const int64_t block = offset / parts.form.block_bytes;
    const size_t inside = size_t(offset % parts.form.block_bytes),
                 whole = parts.bytes_of_block(block);
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

void ShardReader::verify(std::atomic<int64_t>* checked) {
  const Parts& parts = *parts_;
  Xxh3 whole;  // used up to format 3
  for (int64_t block = 0; block < parts.form.blocks_of(parts.file); ++block) {
    const std::span<const std::byte> content = parts_->kept_block(block);
    if (checked) ++*checked;
    if (!parts.form.is_crc32c) continue;
    if (parts.form.file_is_of_bytes) {
      whole.add(content);
    } else {
      const Xxh3Digest digest = xxh3_of(content);
      whole.add(std::as_bytes(std::span(digest)));
    }
  }
  if (!parts.form.is_crc32c || hex_of(whole.digest()) == parts.file.xxh3) return;
  refuse(Exit::kInput, parts.input.path(),
         ": its XXH3 is not the manifest's, though each block's CRC32C is: the file is damaged");
}

}  // namespace zero::checkpoint
