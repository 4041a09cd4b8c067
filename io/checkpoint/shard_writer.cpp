#include "io/checkpoint/shard_writer.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "io/checkpoint/folder_files.hpp"
#include "io/checkpoint/hdf5.hpp"
#include "zero/base/error.hpp"
#include "zero/io/checkpoint/blocks.hpp"
#include "zero/io/checkpoint/shard_file.hpp"

namespace zero::checkpoint {
namespace {

/// Bytes of a page. Direct I/O goes in whole pages.
constexpr size_t kPageBytes = 4096;
/// Alignment at which most disks can read memory; all can at a page.
constexpr size_t kSectorBytes = 512;
/// Least bytes for direct I/O. A smaller file is as fast through the page cache.
constexpr int64_t kDirectBytesMin = int64_t(1) << 20;

[[noreturn]] void refuse_call(const std::string& path, const std::string& doing) {
  refuse(Exit::kIo, path, ": ", std::strerror(errno), " ", doing);
}

template <class Call>
auto uninterrupted(const Call& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

void allocate(const OpenFile& file, const std::string& path, int64_t bytes) {
  const int status =
      uninterrupted([&] { return fallocate(file.descriptor(), 0, 0, off_t(bytes)); });
  if (status == 0 || errno == EOPNOTSUPP || errno == ENOSYS) return;
  refuse_call(path, text("setting ", bytes, " bytes aside"));
}

bool set_direct(const OpenFile& file, bool direct) {
  const int flags = fcntl(file.descriptor(), F_GETFL);
  const int wanted = direct ? flags | O_DIRECT : flags & ~O_DIRECT;
  return flags >= 0 && fcntl(file.descriptor(), F_SETFL, wanted) == 0;
}

void use_page_cache(const OpenFile& file, const std::string& path) {
  if (!set_direct(file, false)) refuse_call(path, "turning to the page cache");
}

/// True if direct I/O takes this page as the file's first.
bool takes_page(const OpenFile& file, const std::string& path, const std::byte* page) {
  const ssize_t wrote =
      uninterrupted([&] { return pwrite(file.descriptor(), page, kPageBytes, 0); });
  if (wrote < 0 && errno != EINVAL) refuse_call(path, "writing its first page");
  return wrote == ssize_t(kPageBytes);
}

/// Turns a file of `bytes` to direct I/O. Returns the alignment of memory in bytes, or 0 if the
/// file keeps to the page cache. Tries a page, because some file systems refuse only then.
size_t pass_page_cache(const OpenFile& file, const std::string& path, int64_t bytes) {
  if (bytes < kDirectBytesMin || !set_direct(file, true)) return 0;
  alignas(kPageBytes) static constexpr std::byte kPages[2 * kPageBytes] = {};
  for (const size_t alignment : {kSectorBytes, kPageBytes}) {
    if (takes_page(file, path, kPages + alignment)) return alignment;
  }
  use_page_cache(file, path);
  return 0;
}

OpenFile make_file(const ShardStream::Target& target, const std::string& path, int64_t bytes) {
  OpenFile file = open_new(target.folder, path, target.mode);
  allocate(file, path, bytes);
  return file;
}

FileStructure structure_of(std::span<const SlicePlan> slices) {
  Hdf5File file("the structure of a rank's file");
  for (const SlicePlan& slice : slices) {
    ZERO_REQUIRE(slice.numel > 0 && slice.begin >= 0, slice.tensor.name, ": a slice [", slice.begin,
                 ", +", slice.numel, ")");
    const Hdf5Handle dataset = file.make_payload(dataset_name(slice.tensor.name, slice.begin),
                                                 slice.tensor.dtype, {&slice.numel, 1});
    file.set_attribute(dataset, "begin", {&slice.begin, 1});
    file.set_attribute(dataset, "shape", slice.tensor.shape);
  }
  return file.finish();
}

}  // namespace

ShardStream::ShardStream(const Target& target, std::shared_ptr<const FileStructure> structure,
                         std::span<std::byte> staging, const DigestForm& digests)
    : name_(target.name),
      path_(path_in(target.folder, target.name)),
      structure_(std::move(structure)),
      file_(make_file(target, path_, structure_->file_bytes())),
      alignment_(pass_page_cache(file_, path_, structure_->file_bytes())),
      target_{.descriptor = file_.descriptor(), .name = path_},
      staging_(staging),
      form_(digests),
      // The engine's kind changes no byte, and the run has reported it for its own queue.
      queue_(aio::make_engine({.depth = kUnderWay, .memory = staging_}).engine,
             {.block_bytes = kWriteBytes, .transfers = kPieces}) {
  ZERO_REQUIRE(int64_t(staging.size()) == kStagingBytes, "staging memory of ", staging.size(),
               " bytes: ", kStagingBytes, " are needed");
  put(structure_->before(0), false);
}

/// Returns the count of bytes that the current payload still lacks; 0 after the last.
int64_t ShardStream::left() const {
  if (payload_ == structure_->extents().size()) return 0;
  const auto& [offset, bytes] = structure_->extents()[payload_];
  return offset + bytes - bytes_;
}

void ShardStream::append(std::span<const std::byte> bytes, bool stays) {
  while (!bytes.empty()) {
    const auto now = bytes.first(size_t(std::min(left(), int64_t(bytes.size()))));
    ZERO_REQUIRE(!now.empty(), path_, ": ", bytes.size(), " bytes beyond the last payload");
    put(now, stays);
    bytes = bytes.subspan(now.size());
    if (left() == 0) put(structure_->before(++payload_), false);
  }
}

/// Adds the next bytes of the file.
void ShardStream::put(std::span<const std::byte> bytes, bool stays) {
  while (!bytes.empty()) {
    const size_t lacks = size_t(kPieceBytes - bytes_ % kPieceBytes);
    const auto now = bytes.first(std::min(bytes.size(), lacks));
    add(now, stays);
    bytes = bytes.subspan(now.size());
  }
}

/// Adds bytes to the current piece. REQUIRES: the piece lacks at least as many.
void ShardStream::add(std::span<const std::byte> bytes, bool stays) {
  const size_t filled = size_t(bytes_ % kPieceBytes);
  if (filled == 0) begin_piece();
  if (stays && goes_on_in_place(bytes, filled)) {
    if (filled == 0) in_place_ = bytes.data();
  } else {
    copy(bytes, filled);
  }
  bytes_ += int64_t(bytes.size());
  if (bytes_ % kPieceBytes == 0) send_piece();
}

bool ShardStream::goes_on_in_place(std::span<const std::byte> bytes, size_t filled) const {
  if (filled > 0) return in_place_ && bytes.data() == in_place_ + filled;
  return alignment_ == 0 || reinterpret_cast<uintptr_t>(bytes.data()) % alignment_ == 0;
}

void ShardStream::copy(std::span<const std::byte> bytes, size_t filled) {
  if (const std::byte* from = std::exchange(in_place_, nullptr)) {
    std::copy_n(from, filled, staged().data());
  }
  std::copy_n(bytes.data(), bytes.size(), staged().data() + filled);
}

std::span<std::byte> ShardStream::staged() const {
  return staging_.subspan(size_t(piece_ % kPieces * kPieceBytes), size_t(kPieceBytes));
}

/// Returns the first bytes of the current piece.
std::span<const std::byte> ShardStream::piece(size_t bytes) const {
  return {in_place_ ? in_place_ : staged().data(), bytes};
}

/// Waits for the write from this piece's slot, kPieces ago.
void ShardStream::begin_piece() {
  wait(int(piece_ % kPieces));
  in_place_ = nullptr;
}

void ShardStream::send(int64_t offset, std::span<const std::byte> bytes) {
  // The cast is safe, because a write only reads its memory.
  const std::span memory(const_cast<std::byte*>(bytes.data()), bytes.size());
  tickets_[piece_ % kPieces] = queue_.submit(
      {.direction = aio::Direction::write, .file = &target_, .offset = offset, .memory = memory});
}

void ShardStream::send_piece() {
  const std::span<const std::byte> whole = piece(size_t(kPieceBytes));
  // Both calls only read the piece; the disk begins first.
  send(piece_ * kPieceBytes, whole);
  add_blocks(whole, form_, entry_);
  if (in_place_) ++pieces_in_place_;
  ++piece_;
}

/// Sends the last piece: whole pages by direct I/O, the rest through the page cache.
void ShardStream::send_end(size_t bytes) {
  const std::span<const std::byte> end = piece(bytes);
  add_blocks(end, form_, entry_);
  const size_t pages = alignment_ > 0 ? bytes / kPageBytes * kPageBytes : 0;
  const int64_t offset = piece_ * kPieceBytes;
  if (pages > 0) send(offset, end.first(pages));
  wait_for_all();
  if (pages == bytes) return;
  if (alignment_ > 0) use_page_cache(file_, path_);
  send(offset + int64_t(pages), end.subspan(pages));
}

void ShardStream::wait(int slot) {
  if (!tickets_[slot]) return;
  const aio::Ticket ticket = *tickets_[slot];
  tickets_[slot].reset();
  queue_.wait(ticket);
}

void ShardStream::wait_for_all() {
  for (int slot = 0; slot < kPieces; ++slot) wait(slot);
}

ShardWriter::Written ShardStream::finish() {
  const std::vector<FileStructure::Extent>& extents = structure_->extents();
  ZERO_REQUIRE(payload_ == extents.size(), path_, ": payload ", payload_, " of ", extents.size(),
               " lacks ", left(), " bytes");
  if (const size_t rest = size_t(bytes_ % kPieceBytes)) send_end(rest);
  wait_for_all();
  // Synced once: after a failed fsync, another brings nothing back.
  if (fsync(file_.descriptor()) != 0) refuse_call(path_, "syncing the file");
  entry_.name = name_;
  ShardWriter::Written written{.file = std::move(entry_),
                               .offsets = {},
                               .refuses_direct = alignment_ == 0 && bytes_ >= kDirectBytesMin};
  for (const auto& [offset, bytes] : extents) written.offsets.push_back(offset);
  return written;
}

ShardStructure::ShardStructure(std::span<const SlicePlan> slices)
    : structure_(std::make_shared<const FileStructure>(structure_of(slices))) {}

ShardWriter::ShardWriter(int folder, const std::string& name, const ShardStructure& structure,
                         const Arena& staging, const DigestForm& digests)
    : stream_(std::make_unique<ShardStream>(
          ShardStream::Target{.folder = folder, .name = name}, structure.structure_,
          std::span(staging.data(), size_t(staging.bytes())), digests)) {}

ShardWriter::~ShardWriter() = default;

void ShardWriter::append(std::span<const std::byte> bytes) { stream_->append(bytes); }

void ShardWriter::append_resting(std::span<const std::byte> bytes) { stream_->append(bytes, true); }

ShardWriter::Written ShardWriter::finish() { return stream_->finish(); }

}  // namespace zero::checkpoint
