#include "zero/io/checkpoint/tensor_reader.hpp"

#include <algorithm>

#include "zero/base/error.hpp"

namespace zero::checkpoint {
namespace {

/// Most open files, because each keeps a block in memory.
constexpr size_t kOpenFilesMax = 64;
constexpr size_t kPieceNumel = size_t(1) << 16;

}  // namespace

TensorReader::TensorReader(const Store& store, const Manifest& manifest)
    : manifest_(manifest),
      digests_(digest_form(manifest)),
      name_(store.root() + "/" + Store::folder_of(manifest.step)),
      folder_(store.open_folder(Store::folder_of(manifest.step))),
      slices_(manifest.tensors.size()) {
  for (size_t t = 0; t < manifest.tensors.size(); ++t) {
    tensors_[manifest.tensors[t].name] = int32_t(t);
  }
  for (const Slice& slice : manifest.slices) slices_[size_t(slice.tensor)].push_back(slice);
}

TensorReader::TensorReader(const Store& store, const Manifest& manifest, BlockLedger& ledger)
    : TensorReader(store, manifest) {
  ledger_ = &ledger;
}

const Tensor* TensorReader::find(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &manifest_.tensors[size_t(found->second)];
}

const std::vector<Slice>& TensorReader::slices_of(const Tensor& tensor) const {
  const auto found = tensors_.find(tensor.name);
  if (found == tensors_.end()) refuse(Exit::kInput, name_, ": holds no ", tensor.name);
  if (!(manifest_.tensors[size_t(found->second)] == tensor)) {
    refuse(Exit::kInput, name_, ": ", tensor.name, " has other extents than this model's");
  }
  return slices_[size_t(found->second)];
}

ShardReader& TensorReader::file(int32_t index) {
  if (files_.size() >= kOpenFilesMax && !files_.contains(index)) files_.clear();
  std::unique_ptr<ShardReader>& reader = files_[index];
  if (!reader) {
    auto opened = std::make_unique<ShardReader>(folder_.descriptor(), name_,
                                                manifest_.files[size_t(index)], digests_);
    if (ledger_) opened->note_in(*ledger_, index);
    reader = std::move(opened);
  }
  return *reader;
}

void TensorReader::read(const Tensor& tensor, int64_t begin, std::span<float> out) {
  switch (tensor.dtype) {
    case Dtype::f32:
      return gather(tensor, begin, std::as_writable_bytes(out));
    case Dtype::bf16:
      return widen<bf16>(tensor, begin, out);
    case Dtype::f16:
      return widen<f16>(tensor, begin, out);
    default:
      refuse(Exit::kInput, name_, ": ", tensor.name, ": is ", zero::name_of(tensor.dtype),
             "; fp32, bf16 and fp16 are read");
  }
}

template <class T>
void TensorReader::widen(const Tensor& tensor, int64_t begin, std::span<float> out) {
  std::vector<T> piece(std::min(out.size(), kPieceNumel));
  while (!out.empty()) {
    const std::span<T> now = std::span(piece).first(std::min(piece.size(), out.size()));
    gather(tensor, begin, std::as_writable_bytes(now));
    std::transform(now.begin(), now.end(), out.begin(), [](T value) { return float(value); });
    begin += int64_t(now.size());
    out = out.subspan(now.size());
  }
}

void TensorReader::gather(const Tensor& tensor, int64_t begin, std::span<std::byte> out) {
  const int64_t size = int64_t(bytes_of(tensor.dtype)), numel = int64_t(out.size()) / size;
  int64_t filled = 0;
  for (const Slice& slice : slices_of(tensor)) {
    const int64_t first = std::max(begin, slice.begin);
    const int64_t last = std::min(begin + numel, slice.begin + slice.numel);
    if (first >= last) continue;
    file(slice.file)
        .read(slice.offset + (first - slice.begin) * size,
              out.subspan(size_t((first - begin) * size), size_t((last - first) * size)));
    filled += last - first;
  }
  ZERO_REQUIRE(filled == numel, name_, ": ", tensor.name, " has ", filled, " of ", numel,
               " elements");
}

}  // namespace zero::checkpoint
