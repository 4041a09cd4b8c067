#include "io/checkpoint/block_writer.hpp"

#include <algorithm>

namespace zero::checkpoint {
namespace {

constexpr size_t kPageBytes = 4096;

}  // namespace

BlockWriter::BlockWriter(PayloadFile& file)
    : payload_(file),
      file_{.descriptor = file.descriptor(), .name = file.path()},
      memory_(kBlocks * kDigestBlockBytes) {
  // Which engine it is changes no byte, and the run has said it of its own queue.
  aio::EngineChoice choice =
      aio::make_engine({.depth = kUnderWay, .memory = {memory_.data(), size_t(memory_.bytes())}});
  queue_.emplace(std::move(choice.engine),
                 aio::QueueOptions{.block_bytes = kDigestBlockBytes, .transfers = kBlocks});
}

std::span<std::byte> BlockWriter::block() const {
  return {memory_.data() + block_ % kBlocks * kDigestBlockBytes, size_t(kDigestBlockBytes)};
}

void BlockWriter::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const size_t filled = size_t(bytes_ % kDigestBlockBytes);
    if (filled == 0) begin_block();
    const size_t taken = std::min(bytes.size(), block().size() - filled);
    std::copy_n(bytes.data(), taken, block().data() + filled);
    bytes_ += int64_t(taken);
    bytes = bytes.subspan(taken);
    if (filled + taken == block().size()) send_block();
  }
}

/// Where a block was kBlocks ago, which is written and digested then.
void BlockWriter::begin_block() {
  wait(int(block_ % kBlocks));
  digest_.wait_for(block_ - kBlocks + 1);
}

void BlockWriter::send(int64_t offset, std::span<std::byte> bytes) {
  tickets_[block_ % kBlocks] = queue_->submit(
      {.direction = aio::Direction::write, .file = &file_, .offset = offset, .memory = bytes});
}

void BlockWriter::send_block() {
  // Both only read.
  send(block_ * kDigestBlockBytes, block());
  digest_.add_block(block());
  ++block_;
}

/// Past the page cache go whole pages; what is left of the last one goes through it.
void BlockWriter::send_end(size_t bytes) {
  const std::span<std::byte> end = block().first(bytes);
  digest_.add_block(end);
  const size_t pages = payload_.is_direct() ? bytes / kPageBytes * kPageBytes : 0;
  const int64_t offset = block_ * kDigestBlockBytes;
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
  if (const size_t rest = size_t(bytes_ % kDigestBlockBytes)) send_end(rest);
  wait_for_all();
}

}  // namespace zero::checkpoint
