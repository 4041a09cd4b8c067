#include "io/checkpoint/payload_writer.hpp"

#include <algorithm>

#include "zero/base/error.hpp"

namespace zero::checkpoint {

PayloadWriter::PayloadWriter(PayloadFile& file, std::shared_ptr<const FileStructure> structure,
                             std::span<std::byte> staging, const DigestForm& digests)
    : file_(file), structure_(std::move(structure)), writer_(file, staging, digests) {
  file_.begin_payload(structure_->file_bytes());
  append_structure();
}

void PayloadWriter::append_structure() { writer_.append(structure_->before(current_)); }

/// Bytes that the payload to be appended to still lacks; 0 after the last one.
int64_t PayloadWriter::left() const {
  if (current_ == structure_->extents().size()) return 0;
  const auto& [offset, bytes] = structure_->extents()[current_];
  return offset + bytes - writer_.bytes();
}

void PayloadWriter::append(std::span<const std::byte> bytes) {
  append_to_extents(bytes, [this](std::span<const std::byte> some) { writer_.append(some); });
}

void PayloadWriter::append_resting(std::span<const std::byte> bytes) {
  append_to_extents(bytes,
                    [this](std::span<const std::byte> some) { writer_.append_resting(some); });
}

template <class Append>
void PayloadWriter::append_to_extents(std::span<const std::byte> bytes, const Append& append) {
  while (!bytes.empty()) {
    const size_t now = size_t(std::min(left(), int64_t(bytes.size())));
    ZERO_REQUIRE(now > 0, file_.path(), ": ", bytes.size(), " bytes beyond the last payload");
    append(bytes.first(now));
    bytes = bytes.subspan(now);
    if (left() > 0) continue;
    ++current_;
    append_structure();
  }
}

File PayloadWriter::finish(const std::string& name) {
  const size_t extents = structure_->extents().size();
  ZERO_REQUIRE(current_ == extents, file_.path(), ": payload ", current_, " of ", extents,
               " lacks ", left(), " bytes");
  writer_.finish();
  file_.sync();
  return writer_.digests(name);
}

}  // namespace zero::checkpoint
