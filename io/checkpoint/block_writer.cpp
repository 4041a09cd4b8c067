#include "io/checkpoint/block_writer.hpp"

#include <algorithm>
#include <cstdlib>

#include "zero/base/error.hpp"

namespace zero::checkpoint {
namespace {

constexpr size_t kPageBytes = 4096;

}  // namespace

void BlockWriter::Free::operator()(std::byte* memory) const { std::free(memory); }

BlockWriter::BlockWriter(int descriptor, const std::string& name)
    : file_{.descriptor = descriptor, .name = name} {
  const size_t bytes = size_t(kBlocks * kDigestBlockBytes);
  memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kPageBytes, bytes)));
  if (!memory_) refuse(Exit::kDoesNotFit, name, ": no memory for ", bytes, " bytes of staging");
  // Which engine it is changes no byte, and the run has said it of its own queue.
  aio::EngineChoice choice =
      aio::make_engine({.depth = kBlocks, .memory = std::span(memory_.get(), bytes)});
  queue_.emplace(std::move(choice.engine),
                 aio::QueueOptions{.block_bytes = kDigestBlockBytes, .transfers = kBlocks});
}

std::span<std::byte> BlockWriter::block() const {
  return {memory_.get() + slot_ * kDigestBlockBytes, size_t(kDigestBlockBytes)};
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

void BlockWriter::finish() {
  if (const size_t rest = size_t(bytes_ % kDigestBlockBytes)) send_block(rest);
  for (int slot = 0; slot < kBlocks; ++slot) wait(slot);
}

}  // namespace zero::checkpoint
