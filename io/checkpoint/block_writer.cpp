#include "io/checkpoint/block_writer.hpp"

#include <algorithm>
#include <utility>

#include "zero/base/error.hpp"

namespace zero::checkpoint {
BlockWriter::BlockWriter(PayloadFile& file, std::span<std::byte> staging, const DigestForm& digests)
    : payload_(file),
      file_{.descriptor = file.descriptor(), .name = file.path()},
      staging_(staging),
      digest_(digests) {
  ZERO_REQUIRE(int64_t(staging.size()) == kStagingBytes, "staging memory of ", staging.size(),
               " bytes: ", kStagingBytes, " are needed");
  // Which engine it is changes no byte, and the run has said it of its own queue.
  aio::EngineChoice choice = aio::make_engine({.depth = kUnderWay, .memory = staging_});
  queue_.emplace(std::move(choice.engine),
                 aio::QueueOptions{.block_bytes = kBlockBytes, .transfers = kBlocks});
}

std::span<std::byte> BlockWriter::staged() const {
  return staging_.subspan(size_t(block_ % kBlocks * kBlockBytes), size_t(kBlockBytes));
}

/// The first bytes of the block that is filled, wherever they lie.
std::span<const std::byte> BlockWriter::block(size_t bytes) const {
  return {in_place_ ? in_place_ : staged().data(), bytes};
}

void BlockWriter::append(std::span<const std::byte> bytes, bool rests) {
  while (!bytes.empty()) {
    const size_t left = size_t(kBlockBytes - bytes_ % kBlockBytes);
    const auto now = bytes.first(std::min(bytes.size(), left));
    add(now, rests);
    bytes = bytes.subspan(now.size());
  }
}

/// No more than the block lacks.
void BlockWriter::add(std::span<const std::byte> bytes, bool rests) {
  const size_t filled = size_t(bytes_ % kBlockBytes);
  if (filled == 0) begin_block();
  if (rests && goes_on_in_place(bytes, filled)) {
    if (filled == 0) in_place_ = bytes.data();
  } else {
    copy(bytes, filled);
  }
  bytes_ += int64_t(bytes.size());
  if (bytes_ % kBlockBytes == 0) send_block();
}

bool BlockWriter::goes_on_in_place(std::span<const std::byte> bytes, size_t filled) const {
  if (filled > 0) return in_place_ && bytes.data() == in_place_ + filled;
  return reinterpret_cast<uintptr_t>(bytes.data()) % payload_.memory_alignment() == 0;
}

void BlockWriter::copy(std::span<const std::byte> bytes, size_t filled) {
  if (const std::byte* from = std::exchange(in_place_, nullptr)) {
    std::copy_n(from, filled, staged().data());
  }
  std::copy_n(bytes.data(), bytes.size(), staged().data() + filled);
}

/// Where a block was kBlocks ago, which is written and digested then.
void BlockWriter::begin_block() {
  wait(int(block_ % kBlocks));
  digest_.wait_for(block_ - kBlocks + 1);
  in_place_ = nullptr;
}

void BlockWriter::send(int64_t offset, std::span<const std::byte> bytes) {
  // A write only reads its memory.
  const std::span memory(const_cast<std::byte*>(bytes.data()), bytes.size());
  tickets_[block_ % kBlocks] = queue_->submit(
      {.direction = aio::Direction::write, .file = &file_, .offset = offset, .memory = memory});
}

void BlockWriter::send_block() {
  const std::span<const std::byte> whole = block(size_t(kBlockBytes));
  // Both only read.
  send(block_ * kBlockBytes, whole);
  digest_.add(whole);
  if (in_place_) ++blocks_in_place_;
  ++block_;
}

/// Past the page cache go whole pages; what is left of the last one goes through it.
void BlockWriter::send_end(size_t bytes) {
  const std::span<const std::byte> end = block(bytes);
  digest_.add(end);
  const size_t pages = payload_.is_direct() ? bytes / kPageBytes * kPageBytes : 0;
  const int64_t offset = block_ * kBlockBytes;
  if (pages > 0) send(offset, end.first(pages));
  wait_for_all();
  if (pages == bytes) return;
  payload_.use_page_cache();
  send(offset + int64_t(pages), end.subspan(pages));
}

void BlockWriter::wait(int slot) {
  if (!tickets_[slot]) return;
  const aio::Ticket ticket = *tickets_[slot];
  tickets_[slot].reset();
  queue_->wait(ticket);
}

void BlockWriter::wait_for_all() {
  for (int slot = 0; slot < kBlocks; ++slot) wait(slot);
}

void BlockWriter::finish() {
  if (const size_t rest = size_t(bytes_ % kBlockBytes)) send_end(rest);
  wait_for_all();
}

}  // namespace zero::checkpoint
