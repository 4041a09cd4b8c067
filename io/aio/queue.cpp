#include "zero/io/aio/queue.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "zero/base/error.hpp"

namespace zero::aio {
namespace {

constexpr int kMostStalls = 16;
/// A code beyond every errno: the kernel moved nothing, again and again. The last errno is added.
constexpr int64_t kNoProgress = 1 << 20;

std::string reason(int64_t error) {
  if (error == kNoProgress) return text("no byte moved in ", kMostStalls, " attempts");
  if (error > kNoProgress) return reason(kNoProgress) + ": " + reason(error - kNoProgress);
  return text(std::strerror(int(error)), " (errno ", error, ")");
}

}  // namespace

Queue::Queue(std::unique_ptr<Engine> engine, const QueueOptions& options)
    : engine_(std::move(engine)), options_(options) {
  ZERO_REQUIRE(options.block_bytes > 0 && options.transfers > 0, "a queue with blocks of ",
               options.block_bytes, " bytes and ", options.transfers,
               " transfers: both must be at least 1");
  const size_t depth = size_t(engine_->depth());
  slots_.resize(size_t(options.transfers));
  for (size_t slot = slots_.size(); slot > 0; --slot) free_slots_.push_back(uint32_t(slot - 1));
  order_.reserve(slots_.size());
  pieces_.resize(depth);
  again_.reserve(depth);
  completed_.reserve(depth);
  for (size_t piece = depth; piece > 0; --piece) free_pieces_.push_back(uint32_t(piece - 1));
}

Queue::~Queue() {
  order_.clear();
  for (uint32_t piece : again_) give_back(piece);
  while (free_pieces_.size() < pieces_.size()) {
    completed_.clear();
    engine_->reap(true, completed_);
    for (const Completion& completion : completed_) give_back(uint32_t(completion.tag));
  }
}

Ticket Queue::submit(const Transfer& transfer) {
  ZERO_REQUIRE(transfer.file != nullptr && transfer.offset >= 0, "a transfer at offset ",
               transfer.offset, " needs a file and an offset from 0 on");
  const uint32_t index = take_slot();
  Slot& slot = slots_[index];
  slot = {.transfer = transfer, .turn = slot.turn + 1, .taken = true};
  if (!transfer.memory.empty()) order_.push_back(index);
  pump(false);
  return {.slot = index, .turn = slot.turn};
}

bool Queue::done(Ticket ticket) {
  const Slot& slot = slots_[ticket.slot];
  if (slot.turn != ticket.turn || !slot.taken) return true;
  if (!ended(slot)) pump(false);
  return ended(slot);
}

void Queue::wait(Ticket ticket) {
  Slot& slot = slots_[ticket.slot];
  ZERO_REQUIRE(slot.turn == ticket.turn && slot.taken, "a ticket is waited for twice");
  while (!ended(slot)) pump(true);
  slot.taken = false;
  free_slots_.push_back(ticket.slot);
  if (slot.error == 0) return;
  std::erase(order_, ticket.slot);
  refuse_transfer(slot);
}

bool Queue::ended(const Slot& slot) const {
  const bool all_started = slot.started == int64_t(slot.transfer.memory.size());
  return slot.pieces == 0 && (all_started || slot.error != 0);
}

uint32_t Queue::take_slot() {
  ZERO_REQUIRE(!free_slots_.empty(), slots_.size(),
               " transfers are in flight and none was waited for: raise QueueOptions::transfers");
  const uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  return slot;
}

void Queue::pump(bool wait) {
  start_pieces();
  completed_.clear();
  if (free_pieces_.size() < pieces_.size()) engine_->reap(wait, completed_);
  for (const Completion& completion : completed_) complete(completion);
  start_pieces();
}

void Queue::start_pieces() {
  // Without overlap, a batch goes only after the last one is back.
  if (!options_.overlap_events && free_pieces_.size() + again_.size() < pieces_.size()) return;
  bool sent = false;
  for (uint32_t piece : again_) {
    send(piece);
    sent = true;
  }
  again_.clear();
  while (!order_.empty() && !free_pieces_.empty()) {
    const uint32_t slot = order_.front();
    if (start_piece(slot)) {
      sent = true;
    } else {
      order_.erase(order_.begin());
    }
  }
  if (sent && !options_.single_submit) engine_->flush();
}

bool Queue::start_piece(uint32_t index) {
  Slot& slot = slots_[index];
  const int64_t left = int64_t(slot.transfer.memory.size()) - slot.started;
  if (left == 0 || slot.error != 0) return false;
  const uint32_t piece = free_pieces_.back();
  free_pieces_.pop_back();
  pieces_[piece] = {.slot = index,
                    .block = {.direction = slot.transfer.direction,
                              .file = slot.transfer.file->descriptor,
                              .offset = slot.transfer.offset + slot.started,
                              .memory = slot.transfer.memory.data() + slot.started,
                              .bytes = std::min(left, options_.block_bytes)}};
  slot.started += pieces_[piece].block.bytes;
  ++slot.pieces;
  send(piece);
  return true;
}

void Queue::send(uint32_t piece) {
  ++traffic_.blocks;
  engine_->start(pieces_[piece].block, piece);
  if (options_.single_submit) engine_->flush();
}

void Queue::complete(const Completion& completion) {
  const uint32_t index = uint32_t(completion.tag);
  Piece& piece = pieces_[index];
  Block& block = piece.block;
  const int64_t moved = std::max<int64_t>(0, completion.result);
  ZERO_REQUIRE(moved <= block.bytes, "a block of ", block.bytes, " bytes moved ", moved);
  (block.direction == Direction::read ? traffic_.bytes_read : traffic_.bytes_written) += moved;
  moved_bytes_.fetch_add(moved, std::memory_order_relaxed);
  block.offset += moved;
  block.memory += moved;
  block.bytes -= moved;
  piece.stalls = moved > 0 ? 0 : piece.stalls + 1;

  const int64_t error = completion.result < 0 ? -completion.result : 0;
  const bool may_go_on = error == 0 || error == EINTR || error == EAGAIN;
  if (!may_go_on) fail(piece, error);
  if (may_go_on && block.bytes > 0 && piece.stalls >= kMostStalls) {
    fail(piece, kNoProgress + error);
  }
  if (block.bytes > 0 && slots_[piece.slot].error == 0) {
    ++traffic_.resubmitted;
    again_.push_back(index);
  } else {
    give_back(index);
  }
}

void Queue::give_back(uint32_t piece) {
  --slots_[pieces_[piece].slot].pieces;
  free_pieces_.push_back(piece);
}

void Queue::fail(Piece& piece, int64_t error) {
  Slot& slot = slots_[piece.slot];
  if (slot.error != 0) return;
  slot.error = error;
  slot.failed_offset = piece.block.offset;
  slot.failed_bytes = piece.block.bytes;
}

void Queue::refuse_transfer(const Slot& slot) const {
  const bool reads = slot.transfer.direction == Direction::read;
  refuse(Exit::kIo, slot.transfer.file->name, ": ", reads ? "reading " : "writing ",
         slot.failed_bytes, " bytes at offset ", slot.failed_offset, ": ", reason(slot.error));
}

}  // namespace zero::aio
