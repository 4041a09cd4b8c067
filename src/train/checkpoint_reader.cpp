#include "src/train/checkpoint_reader.hpp"

#include <algorithm>

namespace zero::train {

using checkpoint::Slice;

CheckpointReader::CheckpointReader(const checkpoint::Store& store,
                                   const checkpoint::Manifest& manifest)
    : manifest_(manifest),
      name_(store.root() + "/" + checkpoint::Store::folder_of(manifest.step)),
      folder_(store.open_folder(checkpoint::Store::folder_of(manifest.step))),
      slices_(manifest.tensors.size()) {
  for (size_t t = 0; t < manifest.tensors.size(); ++t) {
    tensors_[manifest.tensors[t].name] = int32_t(t);
  }
  for (const Slice& slice : manifest.slices) slices_[size_t(slice.tensor)].push_back(slice);
}

const std::vector<Slice>& CheckpointReader::slices_of(const checkpoint::Tensor& tensor) const {
  const auto found = tensors_.find(tensor.name);
  if (found == tensors_.end()) refuse(Exit::kInput, name_, ": holds no ", tensor.name);
  if (!(manifest_.tensors[size_t(found->second)] == tensor)) {
    refuse(Exit::kInput, name_, ": ", tensor.name, " has other extents than this model's");
  }
  return slices_[size_t(found->second)];
}

checkpoint::ShardReader& CheckpointReader::file(int32_t index) {
  std::unique_ptr<checkpoint::ShardReader>& reader = files_[index];
  if (!reader) {
    reader = std::make_unique<checkpoint::ShardReader>(folder_.descriptor(), name_,
                                                       manifest_.files[size_t(index)]);
  }
  return *reader;
}

void CheckpointReader::read(const checkpoint::Tensor& tensor, int64_t begin, std::span<float> out) {
  const int64_t end = begin + int64_t(out.size());
  int64_t filled = 0;
  for (const Slice& slice : slices_of(tensor)) {
    const int64_t first = std::max(begin, slice.begin);
    const int64_t last = std::min(end, slice.begin + slice.numel);
    if (first >= last) continue;
    const auto part = out.subspan(size_t(first - begin), size_t(last - first));
    file(slice.file)
        .read(slice.offset + (first - slice.begin) * int64_t(sizeof(float)),
              std::as_writable_bytes(part));
    filled += last - first;
  }
  ZERO_REQUIRE(filled == int64_t(out.size()), name_, ": ", tensor.name, " has ", filled, " of ",
               out.size(), " elements");
}

void load_state(CheckpointReader& reader, const StateView& view) {
  std::vector<float> values;
  for (const auto& [held, part] : pieces_of(loaded_slices(*view.plan, view.rank))) {
    values.resize(size_t(held.numel()));
    reader.read(saved_tensor(*view.plan, held.parameter, part), held.begin, values);
    write_state(view, *held.unit, kind_of(part), held.range.begin, values);
  }
}

}  // namespace zero::train
