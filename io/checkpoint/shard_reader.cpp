#include <algorithm>
#include <atomic>
#include <vector>

#include "io/checkpoint/file_digest.hpp"
#include "io/checkpoint/open_plain.hpp"
#include "io/checkpoint/structure_rules.hpp"
#include "zero/base/crc32c.hpp"
#include "zero/base/error.hpp"
#include "zero/base/team.hpp"
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

  /// Reads a whole block to `out`, holds it against its digest and returns that.
  uint32_t read_block(int64_t block, std::span<std::byte> out) const {
    input.read(block * kDigestBlockBytes, out);
    const uint32_t digest = crc32c(out);
    if (digest == file.crc32c[size_t(block)]) return digest;
    refuse(Exit::kInput, input.path(), ": block ", block, " (bytes ", block * kDigestBlockBytes,
           " to ", block * kDigestBlockBytes + int64_t(out.size()),
           "): its CRC32C is not the manifest's: the file is damaged");
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

/// All blocks of a file against their digests, by several threads, and the file against its own,
/// which takes them in their order.
class ShardReader::Verification {
 public:
  Verification(const Parts& parts, std::atomic<int64_t>* checked)
      : parts_(parts), checked_(checked), blocks_(int64_t(parts.file.crc32c.size())) {}

  /// By each thread.
  void work() {
    std::vector<std::byte> buffer(size_t{kDigestBlockBytes});
    for (int64_t block = next_++; block < blocks_; block = next_++) {
      const std::span<std::byte> content = std::span(buffer).first(parts_.block_bytes(block));
      const uint32_t digest = read(block, content);
      if (!comes_to(block)) return;
      digest_.add_block(content, digest);
      if (checked_) ++*checked_;
      pass_on(block + 1);
    }
  }

  std::string xxh3() { return digest_.result(parts_.file.name).xxh3; }

 private:
  static constexpr int64_t kNobody = -1;

  uint32_t read(int64_t block, std::span<std::byte> content) try {
    return parts_.read_block(block, content);
  } catch (...) {
    pass_on(kNobody);
    throw;
  }

  /// Waits until it is the block's turn; false if that never comes.
  bool comes_to(int64_t block) const {
    int64_t turn = turn_;
    for (; turn != block && turn != kNobody; turn = turn_) turn_.wait(turn);
    return turn == block;
  }

  /// What has failed stays so.
  void pass_on(int64_t block) {
    for (int64_t turn = turn_; turn != kNobody;) {
      if (turn_.compare_exchange_weak(turn, block)) break;
    }
    turn_.notify_all();
  }

  const Parts& parts_;
  std::atomic<int64_t>* const checked_;
  const int64_t blocks_;
  std::atomic<int64_t> next_{0}, turn_{0};
  FileDigest digest_;
};

void ShardReader::verify(int threads, std::atomic<int64_t>* checked) const {
  Verification verification(*parts_, checked);
  in_team(threads, [&](int) { verification.work(); });
  if (verification.xxh3() != parts_->file.xxh3) {
    refuse(Exit::kInput, parts_->input.path(),
           ": its XXH3 is not the manifest's, though each block's CRC32C is: the file is damaged");
  }
}

void ShardReader::require_structure(const Manifest& manifest) const {
  zero::checkpoint::require_structure(parts_->input, manifest, parts_->file);
}

}  // namespace zero::checkpoint
