#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "io/checkpoint/folder_files.hpp"
#include "io/checkpoint/hdf5.hpp"
#include "zero/base/error.hpp"
#include "zero/io/checkpoint/blocks.hpp"
#include "zero/io/checkpoint/shard_file.hpp"

namespace zero::checkpoint {
namespace {

constexpr const char* kConfiguration = "configuration";

/// A box of a tensor whose elements are neighbours in row-major order.
struct Box {
  std::vector<int64_t> start, count;  ///< [extents] first index and count along each
  int64_t first = 0, numel = 0;       ///< elements [first, first + numel) of the slice
};

/// Returns the element count of a step along extent `axis`.
int64_t stride_of(std::span<const int64_t> shape, size_t axis) {
  int64_t stride = 1;
  for (size_t i = axis + 1; i < shape.size(); ++i) stride *= shape[i];
  return stride;
}

/// Returns the largest box that begins at element `begin` and holds at most `numel`.
Box box_at(std::span<const int64_t> shape, int64_t begin, int64_t numel) {
  size_t axis = 0;
  // Find the outermost axis along which `begin` starts a step and a whole step fits.
  while (begin % stride_of(shape, axis) != 0 || stride_of(shape, axis) > numel) ++axis;
  Box box;
  for (size_t i = 0; i < shape.size(); ++i) {
    box.start.push_back(begin / stride_of(shape, i) % shape[i]);
    box.count.push_back(i <= axis ? 1 : shape[i]);
  }
  const int64_t stride = stride_of(shape, axis);
  box.count[axis] = std::min(numel / stride, shape[axis] - box.start[axis]);
  box.numel = box.count[axis] * stride;
  return box;
}

/// Returns elements [begin, begin + numel) of a tensor as boxes in order: the end of a row, whole
/// rows, the beginning of a row. At most 2 d - 1 boxes in d dimensions, three in a matrix.
std::vector<Box> boxes_of(std::span<const int64_t> shape, int64_t begin, int64_t numel) {
  ZERO_REQUIRE(begin >= 0 && numel > 0 && begin + numel <= shape[0] * stride_of(shape, 0),
               "elements [", begin, ", +", numel, ") leave their tensor");
  std::vector<Box> boxes;
  for (int64_t done = 0; done < numel; done += boxes.back().numel) {
    boxes.push_back(box_at(shape, begin + done, numel - done));
    boxes.back().first = done;
  }
  return boxes;
}

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

}  // namespace

IndexStructure::IndexStructure(const Manifest& manifest) {
  Hdf5File file(kIndexName);
  Index(manifest, file).write_tensors();
  const FileStructure whole = file.finish();
  without_state_.assign(whole.before(0).begin(), whole.before(0).end());
}

FileStructure IndexStructure::structure(const Manifest& manifest) const {
  Hdf5File file(kIndexName, without_state_);
  Index(manifest, file).write_state();
  return file.finish();
}

File IndexStructure::write(int folder, const Manifest& manifest) const {
  const FileStructure whole = structure(manifest);
  const std::span<const std::byte> content = whole.before(0);
  write_new(folder, path_in(folder, kIndexName),
            {reinterpret_cast<const char*>(content.data()), content.size()});
  File entry{.name = kIndexName, .digests = "", .xxh3 = ""};
  add_blocks(content, digest_form(manifest), entry);
  return entry;
}

}  // namespace zero::checkpoint
