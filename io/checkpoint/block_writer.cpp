#include "io/checkpoint/block_writer.hpp"

#include <algorithm>

namespace zero::checkpoint {

BlockWriter::BlockWriter(PayloadFile& file)
    : payload_(file),
      file_{.descriptor = file.descriptor(), .name = file.path()},
      memory_(kBlocks * kDigestBlockBytes) {
  // Which engine it is changes no byte, and the run has said it of its own queue.
  aio::EngineChoice choice =
      aio::make_engine({.depth = kBlocks, .memory = {memory_.data(), size_t(memory_.bytes())}});
  queue_.emplace(std::move(choice.engine),
                 aio::QueueOptions{.block_bytes = kDigestBlockBytes, .transfers = kBlocks});
}

std::span<std::byte> BlockWriter::block() const {
  return {memory_.data() + slot_ * kDigestBlockBytes, size_t(kDigestBlockBytes)};
}

void BlockWriter::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const size_t filled = size_t(bytes_ % kDigestBlockBytes);
    if (filled == 0) wait(slot_);
    const size_t taken = std::min(bytes.size(), block().size() - filled);
    std::copy_n(bytes.data(), taken, block().data() + filled);
    bytes_ += int64_t(taken);
    bytes = bytes.subspan(taken);
    if (filled + taken == block().size()) send_block(block().size());
  }
}

void BlockWriter::send_block(size_t bytes) {
  const std::span<std::byte> content = block().first(bytes);
  tickets_[slot_] = queue_->submit({.direction = aio::Direction::write,
                                    .file = &file_,
                                    .offset = bytes_ - int64_t(bytes),
                                    .memory = content});
  // While the kernel has it: both only read.
  digest_.add_block(content);
  slot_ = (slot_ + 1) % kBlocks;
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
  if (const size_t rest = size_t(bytes_ % kDigestBlockBytes)) {
    wait_for_all();
    payload_.use_page_cache();
    send_block(rest);
  }
  wait_for_all();
}

}  // namespace zero::checkpoint
