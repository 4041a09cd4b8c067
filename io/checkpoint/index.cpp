#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "io/checkpoint/file_digest.hpp"
#include "io/checkpoint/hdf5.hpp"
#include "io/checkpoint/payload_file.hpp"
#include "io/checkpoint/row_major.hpp"
#include "io/checkpoint/structure_memory.hpp"
#include "zero/base/error.hpp"
#include "zero/io/checkpoint/shard_file.hpp"

namespace zero::checkpoint {
namespace {

constexpr const char* kConfiguration = "configuration";

class Index {
 public:
  Index(const Manifest& manifest, Hdf5File& file) : manifest_(manifest), file_(file) {}

  void write_tensors() const {
    std::vector<std::vector<const Slice*>> slices(manifest_.tensors.size());
    for (const Slice& slice : manifest_.slices) slices[size_t(slice.tensor)].push_back(&slice);
    for (size_t i = 0; i < slices.size(); ++i) write_tensor(manifest_.tensors[i], slices[i]);
  }

  void write_state() const {
    const Hdf5Handle state = file_.make_group("state");
    file_.set_attribute(state, "format_version", {&manifest_.format_version, 1});
    file_.set_attribute(state, "step", {&manifest_.step, 1});
    const int64_t ranks = manifest_.ranks;
    file_.set_attribute(state, "ranks", {&ranks, 1});
    std::string configuration;
    for (const auto& [name, value] : manifest_.facts) {
      if (name == kConfiguration) {
        configuration = value;
      } else {
        file_.set_attribute(state, name, value);
      }
    }
    file_.write_text("config", configuration);
  }

 private:
  void write_tensor(const Tensor& tensor, const std::vector<const Slice*>& slices) const {
    const Hdf5Handle layout = file_.creation_of(H5P_DATASET_CREATE);
    const float missing = std::numeric_limits<float>::quiet_NaN();
    file_.require(H5Pset_fill_value(layout.id(), H5T_NATIVE_FLOAT, &missing), "NaN as fill value");
    for (const Slice* slice : slices) map_slice(tensor, *slice, layout);
    file_.make_dataset(tensor.name,
                       {.dtype = tensor.dtype, .shape = tensor.shape, .creation = layout.id()});
  }

  void map_slice(const Tensor& tensor, const Slice& slice, const Hdf5Handle& layout) const {
    const std::string& source = manifest_.files[size_t(slice.file)].name;
    const std::string dataset = dataset_name(tensor.name, slice.begin);
    const Hdf5Handle whole = space_of(tensor.shape), part = space_of({&slice.numel, 1});
    for (const Box& box : boxes_of(tensor.shape, slice.begin, slice.numel)) {
      select(whole, box.start, box.count);
      select(part, {&box.first, 1}, {&box.numel, 1});
      file_.require(
          H5Pset_virtual(layout.id(), whole.id(), source.c_str(), dataset.c_str(), part.id()),
          "mapping " + tensor.name + " to " + source);
    }
  }

  Hdf5Handle space_of(std::span<const int64_t> shape) const {
    const std::vector<hsize_t> extents = hdf5_extents(shape);
    return file_.checked(H5Screate_simple(int(extents.size()), extents.data(), nullptr), H5Sclose,
                         "a shape");
  }

  void select(const Hdf5Handle& space, std::span<const int64_t> start,
              std::span<const int64_t> count) const {
    const std::vector<hsize_t> from = hdf5_extents(start), blocks = hdf5_extents(count);
    file_.require(H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, from.data(), nullptr,
                                      blocks.data(), nullptr),
                  "selecting a slice");
  }

  const Manifest& manifest_;
  Hdf5File& file_;
};

File entry_of(std::span<const std::byte> content, const DigestForm& digests) {
  FileDigest digest(digests);
  digest.add(content);
  return digest.result(kIndexName);
}

}  // namespace

IndexStructure::IndexStructure(const Manifest& manifest) {
  const StructureMemory memory(kIndexName);
  Hdf5File file(memory.descriptor(), memory.name());
  Index(manifest, file).write_tensors();
  file.close();
  without_state_ = memory.read(0, memory.bytes());
}

FileStructure IndexStructure::structure(const Manifest& manifest) const {
  const StructureMemory memory(kIndexName);
  memory.write(without_state_);
  Hdf5File hdf5(memory.descriptor(), memory.name(), Hdf5File::Begin::as_it_is);
  Index(manifest, hdf5).write_state();
  hdf5.close();
  return {memory, {}};
}

File IndexStructure::write(int folder, const Manifest& manifest) const {
  const FileStructure whole = structure(manifest);
  PayloadFile file(folder, kIndexName);
  file.write(whole.before(0));
  file.sync();
  return entry_of(whole.before(0), digest_form(manifest));
}

}  // namespace zero::checkpoint
