#include "zero/io/interop/tensor_file.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "zero/base/digests.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/io/interop/json.hpp"

namespace zero {
namespace {

static_assert(std::endian::native == std::endian::little, "values are read as they lie");

constexpr size_t kPieceNumel = size_t(1) << 16;
constexpr int64_t kCheckedBytes = int64_t(1) << 20;

constexpr std::array<FileDtype, 15> kDtypes = {{
    {"F32", 4, Dtype::f32},
    {"F16", 2, Dtype::f16},
    {"BF16", 2, Dtype::bf16},
    {"F64", 8},
    {"F8_E4M3", 1},
    {"F8_E5M2", 1},
    {"BOOL", 1},
    {"I8", 1},
    {"U8", 1},
    {"I16", 2},
    {"U16", 2},
    {"I32", 4},
    {"U32", 4},
    {"I64", 8},
    {"U64", 8},
}};

template <class T>
void widen(const InputFile& file, int64_t offset, std::span<float> out) {
  std::vector<T> piece(std::min(out.size(), kPieceNumel));
  while (!out.empty()) {
    const std::span<T> now = std::span(piece).first(std::min(piece.size(), out.size()));
    file.read(offset, std::as_writable_bytes(now));
    for (size_t i = 0; i < now.size(); ++i) out[i] = float(now[i]);
    offset += int64_t(now.size_bytes());
    out = out.subspan(now.size());
  }
}

/// The elements of some rows of a tensor with strides, in the order of their bytes.
class StridedWalk {
 public:
  StridedWalk(const FileTensor& tensor, int64_t first_row, int64_t rows) {
    int64_t below = 1;  // elements of a row of this axis
    for (size_t i = tensor.shape.size(); i-- > 0;) {
      const int64_t extent = i == 0 ? rows : tensor.shape[i];
      numel_ *= extent;
      if (extent > 1)
        axes_.push_back({.extent = extent, .stride = tensor.strides[i], .below = below});
      if (i > 0) below *= extent;
    }
    place_ = first_row * tensor.strides[0];
    index_ = first_row * below;
    std::ranges::sort(axes_, {}, &Axis::stride);
    for (const Axis& axis : axes_) {
      if (axis.stride != run_) break;
      run_ *= axis.extent;
    }
  }

  bool is_done() const { return done_ == numel_; }
  int64_t place() const { return place_; }             ///< in elements from the tensor's first byte
  int64_t index() const { return index_; }             ///< in the tensor
  int64_t run() const { return run_ - done_ % run_; }  ///< elements side by side from here on

  void next() {
    ++done_;
    for (Axis& axis : axes_) {
      place_ += axis.stride;
      index_ += axis.below;
      if (++axis.at < axis.extent) return;
      place_ -= axis.at * axis.stride;
      index_ -= axis.at * axis.below;
      axis.at = 0;
    }
  }

 private:
  struct Axis {
    int64_t extent, stride, below, at = 0;
  };
  std::vector<Axis> axes_;  // by stride
  int64_t place_ = 0, index_ = 0, run_ = 1, numel_ = 1, done_ = 0;
};

template <class T>
void gather(const InputFile& file, const FileTensor& tensor, int64_t first, std::span<float> out) {
  const int64_t row = tensor.numel() / tensor.shape[0], last = first + int64_t(out.size()) - 1;
  StridedWalk walk(tensor, first / row, last / row - first / row + 1);
  std::vector<T> piece;
  for (int64_t begin = 0, left = 0; !walk.is_done(); walk.next(), --left) {
    if (left == 0) {
      begin = walk.place();
      left = std::min(walk.run(), int64_t(kPieceNumel));
      piece.resize(size_t(left));
      file.read(tensor.begin + begin * int64_t(sizeof(T)),
                std::as_writable_bytes(std::span(piece)));
    }
    if (walk.index() >= first && walk.index() <= last)
      out[size_t(walk.index() - first)] = float(piece[size_t(walk.place() - begin)]);
  }
}

}  // namespace

std::string shape_text(std::span<const int64_t> shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) out += text(i ? ", " : "", shape[i]);
  return out + "]";
}

std::optional<int64_t> bytes_of_shape(std::span<const int64_t> shape, int64_t element_bytes) {
  // An extent of 0 makes 0, even if the others overflow.
  if (std::ranges::find(shape, 0) != shape.end()) return 0;
  int64_t bytes = element_bytes;
  for (const int64_t extent : shape) {
    if (__builtin_mul_overflow(bytes, extent, &bytes)) return {};
  }
  return bytes;
}

const FileDtype* file_dtype(std::string_view name) {
  const auto found = std::ranges::find(kDtypes, name, &FileDtype::name);
  return found == kDtypes.end() ? nullptr : &*found;
}

int64_t FileTensor::numel() const { return *bytes_of_shape(shape, 1); }

void require_crc(const InputFile& file, const FileBlock& block) {
  std::vector<uint8_t> piece(size_t(std::min<int64_t>(kCheckedBytes, block.end - block.begin)));
  uint32_t crc = 0;
  for (int64_t at = block.begin; at < block.end; at += int64_t(piece.size())) {
    piece.resize(size_t(std::min<int64_t>(int64_t(piece.size()), block.end - at)));
    file.read(at, std::as_writable_bytes(std::span(piece)));
    crc = crc32(piece.data(), piece.size(), crc);
  }
  if (crc == block.crc) return;
  refuse(Exit::kInput, file.path(), ": \"", shown(block.name), "\": its bytes have the CRC-32 ",
         format("%08x", crc), ", and ", format("%08x", block.crc),
         " stands in the file; it is damaged, so fetch it again");
}

TensorFile::TensorFile(InputFile file, std::vector<FileTensor> tensors, Metadata metadata,
                       std::vector<FileBlock> blocks)
    : file_(std::move(file)),
      blocks_(std::move(blocks)),
      tensors_(std::move(tensors)),
      metadata_(std::move(metadata)) {
  std::ranges::sort(blocks_, {}, &FileBlock::begin);
  std::ranges::sort(tensors_, [](const auto& a, const auto& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  for (size_t i = 0; i < tensors_.size(); ++i) by_name_[tensors_[i].name] = i;
}

const FileTensor* TensorFile::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

void TensorFile::check_block(const FileTensor& tensor) const {
  const auto block = std::ranges::upper_bound(blocks_, tensor.begin, {}, &FileBlock::end);
  if (block == blocks_.end() || block->begin > tensor.begin) return;
  require_crc(file_, *block);
  blocks_.erase(block);
}

void TensorFile::read(const FileTensor& tensor, int64_t first, std::span<float> out) const {
  if (!tensor.usable) {
    refuse(Exit::kInput, path(), ": \"", shown(tensor.name), "\": dtype ", tensor.dtype,
           " is not read; convert it to F32, F16 or BF16");
  }
  ZERO_REQUIRE(first >= 0 && first + int64_t(out.size()) <= tensor.numel(), "elements ", first,
               " to ", first + int64_t(out.size()), " of ", tensor.name);
  if (out.empty()) return;
  check_block(tensor);
  with_type(*tensor.usable, [&](auto type) {
    using T = typename decltype(type)::type;
    if (!tensor.strides.empty()) return gather<T>(file_, tensor, first, out);
    const int64_t offset = tensor.begin + first * int64_t(sizeof(T));
    if constexpr (std::is_same_v<T, float>)
      file_.read(offset, std::as_writable_bytes(out));
    else
      widen<T>(file_, offset, out);
  });
}

}  // namespace zero
