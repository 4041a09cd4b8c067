#include "io/checkpoint/hdf5.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "zero/base/error.hpp"
#include "zero/io/checkpoint/shard_file.hpp"

namespace zero::checkpoint {
namespace {

constexpr hsize_t kAlignBytes = 4096;
/// Bytes of a block of dataset descriptions, which lie together and not between payloads.
constexpr hsize_t kMetadataBlockBytes = hsize_t(64) << 10;

/// Returns the reason, "file write failed: No space left on device", without the time, the file's
/// number and the rest of HDF5's description.
std::string short_description(const std::string& description) {
  constexpr std::string_view kMessage = "error message = '";
  const size_t message = description.find(kMessage);
  if (message == std::string::npos) return description;
  const size_t begin = message + kMessage.size();
  return text(description.substr(0, description.find(':')), ": ",
              description.substr(begin, description.find('\'', begin) - begin));
}

herr_t keep_description(unsigned, const H5E_error2_t* error, void* out) {
  auto& reason = *static_cast<std::string*>(out);
  if (reason.empty() && error->desc) reason = short_description(error->desc);
  return 0;
}

/// Returns bfloat16, the upper half of a float, which h5py reads as one.
hid_t bf16_type() {
  const hid_t type = H5Tcopy(H5T_IEEE_F32LE);
  const bool made = H5Tset_fields(type, 15, 7, 8, 0, 7) >= 0 && H5Tset_size(type, 2) >= 0 &&
                    H5Tset_ebias(type, 127) >= 0;
  return made ? type : -1;
}

hid_t f16_type() {
  const hid_t type = H5Tcopy(H5T_IEEE_F32LE);
  const bool made = H5Tset_fields(type, 15, 10, 5, 0, 10) >= 0 && H5Tset_size(type, 2) >= 0 &&
                    H5Tset_ebias(type, 15) >= 0;
  return made ? type : -1;
}

hid_t type_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f32:
      return H5Tcopy(H5T_IEEE_F32LE);
    case Dtype::f64:
      return H5Tcopy(H5T_IEEE_F64LE);
    case Dtype::bf16:
      return bf16_type();
    case Dtype::f16:
      return f16_type();
    default:
      ZERO_REQUIRE(false, name_of(dtype), " in a checkpoint: fp32, bf16, fp16 and fp64 are known");
      return -1;
  }
}

/// Returns the type of a string of fixed length, at least 1 because HDF5 has no length 0.
hid_t text_type(const std::string& content) {
  const hid_t type = H5Tcopy(H5T_C_S1);
  const bool made = H5Tset_size(type, std::max<size_t>(content.size(), 1)) >= 0 &&
                    H5Tset_strpad(type, H5T_STR_NULLPAD) >= 0 &&
                    H5Tset_cset(type, H5T_CSET_UTF8) >= 0;
  return made ? type : -1;
}

/// Stops HDF5 from closing open files at exit. It would crash on one that it had failed to close
/// for want of room. This program closes all others.
void leave_open_at_exit() { [[maybe_unused]] static const herr_t once = H5dont_atexit(); }

}  // namespace

void require_hdf5(int64_t status, const std::string& file, const std::string& doing) {
  if (status >= 0) return;
  std::string reason;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_description, &reason);
  refuse(Exit::kIo, file, ": ", doing, ": HDF5 says: ", reason.empty() ? "nothing" : reason);
}

std::vector<hsize_t> hdf5_extents(std::span<const int64_t> shape) {
  return {shape.begin(), shape.end()};
}

Hdf5Handle Hdf5File::checked(hid_t id, Hdf5Handle::Close closer, const std::string& doing) const {
  require(id, doing);
  return {id, closer};
}

Hdf5Handle Hdf5File::access() const {
  leave_open_at_exit();
  require(H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr), "keeping HDF5 from printing");
  Hdf5Handle access = checked(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "file access");
  require(H5Pset_libver_bounds(access.id(), H5F_LIBVER_V110, H5F_LIBVER_V110), "format 1.10");
  require(H5Pset_alignment(access.id(), kAlignBytes, kAlignBytes), "alignment");
  require(H5Pset_meta_block_size(access.id(), kMetadataBlockBytes), "blocks of structure");
  require(H5Pset_small_data_block_size(access.id(), 0), "small data in its place");
  require(H5Pset_fclose_degree(access.id(), H5F_CLOSE_SEMI), "closing while something is open");
  require(H5Pset_file_locking(access.id(), false, true), "file locking off");
  return access;
}

Hdf5Handle Hdf5File::creation_of(hid_t kind) const {
  Hdf5Handle creation = checked(H5Pcreate(kind), H5Pclose, "a list of properties");
  require(H5Pset_obj_track_times(creation.id(), false), "no times of objects");
  return creation;
}

Hdf5Handle Hdf5File::creation() const {
  Hdf5Handle creation = creation_of(H5P_FILE_CREATE);
  // No free space is filled later: later allocations lie further back.
  require(H5Pset_file_space_strategy(creation.id(), H5F_FSPACE_STRATEGY_AGGR, false, 1),
          "file space");
  return creation;
}

Hdf5File::Hdf5File(const std::string& name, std::span<const std::byte> content)
    : name_(name), memory_(memfd_create("hdf5", MFD_CLOEXEC)) {
  if (!memory_) refuse(Exit::kIo, name_, ": ", std::strerror(errno), " taking memory");
  const int reason =
      write_all(memory_, {reinterpret_cast<const char*>(content.data()), content.size()});
  if (reason != 0) refuse(Exit::kIo, name_, ": ", std::strerror(reason), " copying it");
  const Hdf5Handle how = access(), layout = creation();
  // The default driver asks for a link's real path, which a file in memory does not have.
  require(H5Pset_fapl_stdio(how.id()), "the driver");
  const std::string path = text("/proc/self/fd/", memory_.descriptor());
  const hid_t file = content.empty() ? H5Fcreate(path.c_str(), H5F_ACC_TRUNC, layout.id(), how.id())
                                     : H5Fopen(path.c_str(), H5F_ACC_RDWR, how.id());
  file_ = checked(file, H5Fclose, "making the structure");
}

/// Makes the groups on the way to a path, because groups that HDF5 makes itself keep the time.
void Hdf5File::make_groups_of(const std::string& path) const {
  for (size_t end = path.find('/'); end != path.npos; end = path.find('/', end + 1)) {
    const std::string group = path.substr(0, end);
    const htri_t is_there = H5Lexists(file_.id(), group.c_str(), H5P_DEFAULT);
    require(is_there, "looking for group " + group);
    if (is_there == 0) make_group(group);
  }
}

Hdf5Handle Hdf5File::make_dataset(const std::string& path, const Dataset& dataset) const {
  make_groups_of(path);
  const std::vector<hsize_t> extents = hdf5_extents(dataset.shape);
  const Hdf5Handle space = checked(H5Screate_simple(int(extents.size()), extents.data(), nullptr),
                                   H5Sclose, "shape of " + path);
  const Hdf5Handle type = checked(type_of(dataset.dtype), H5Tclose, "type of " + path);
  return checked(H5Dcreate2(file_.id(), path.c_str(), type.id(), space.id(), H5P_DEFAULT,
                            dataset.creation, H5P_DEFAULT),
                 H5Dclose, "making dataset " + path);
}

Hdf5Handle Hdf5File::make_payload(const std::string& path, Dtype dtype,
                                  std::span<const int64_t> shape) {
  const Hdf5Handle layout = creation_of(H5P_DATASET_CREATE);
  require(H5Pset_layout(layout.id(), H5D_CONTIGUOUS), "contiguous layout");
  require(H5Pset_alloc_time(layout.id(), H5D_ALLOC_TIME_EARLY), "early allocation");
  require(H5Pset_fill_time(layout.id(), H5D_FILL_TIME_NEVER), "no fill");
  Hdf5Handle dataset =
      make_dataset(path, {.dtype = dtype, .shape = shape, .creation = layout.id()});
  const haddr_t offset = H5Dget_offset(dataset.id());
  require(offset == HADDR_UNDEF ? -1 : 0, "offset of " + path);
  payloads_.push_back(
      {.offset = int64_t(offset), .bytes = int64_t(H5Dget_storage_size(dataset.id()))});
  return dataset;
}

Hdf5Handle Hdf5File::make_group(const std::string& path) const {
  const Hdf5Handle creation = creation_of(H5P_GROUP_CREATE);
  return checked(H5Gcreate2(file_.id(), path.c_str(), H5P_DEFAULT, creation.id(), H5P_DEFAULT),
                 H5Gclose, "making group " + path);
}

Hdf5Handle Hdf5File::root() const {
  return checked(H5Gopen2(file_.id(), "/", H5P_DEFAULT), H5Gclose, "opening the root");
}

void Hdf5File::write_text(const std::string& path, const std::string& content) const {
  const Hdf5Handle space = checked(H5Screate(H5S_SCALAR), H5Sclose, "shape of " + path);
  const Hdf5Handle type = checked(text_type(content), H5Tclose, "type of " + path);
  const Hdf5Handle creation = creation_of(H5P_DATASET_CREATE);
  const Hdf5Handle dataset = checked(H5Dcreate2(file_.id(), path.c_str(), type.id(), space.id(),
                                                H5P_DEFAULT, creation.id(), H5P_DEFAULT),
                                     H5Dclose, "making dataset " + path);
  require(H5Dwrite(dataset.id(), type.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, content.c_str()),
          "writing " + path);
}

void Hdf5File::set_attribute(const Hdf5Handle& object, const char* name,
                             std::span<const int64_t> values) const {
  const hsize_t numel = values.size();
  const Hdf5Handle space = checked(H5Screate_simple(1, &numel, nullptr), H5Sclose, name);
  const Hdf5Handle attribute =
      checked(H5Acreate2(object.id(), name, H5T_STD_I64LE, space.id(), H5P_DEFAULT, H5P_DEFAULT),
              H5Aclose, name);
  require(H5Awrite(attribute.id(), H5T_NATIVE_INT64, values.data()), name);
}

void Hdf5File::set_attribute(const Hdf5Handle& object, const std::string& name,
                             const std::string& content) const {
  const Hdf5Handle space = checked(H5Screate(H5S_SCALAR), H5Sclose, name);
  const Hdf5Handle type = checked(text_type(content), H5Tclose, name);
  const Hdf5Handle attribute = checked(
      H5Acreate2(object.id(), name.c_str(), type.id(), space.id(), H5P_DEFAULT, H5P_DEFAULT),
      H5Aclose, name);
  require(H5Awrite(attribute.id(), type.id(), content.c_str()), name);
}

FileStructure Hdf5File::finish() {
  require(file_.close(), "closing the structure");
  return {InputFile(std::move(memory_), name_), std::move(payloads_)};
}

std::string hdf5_version() {
  leave_open_at_exit();  // before any other call of HDF5
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  return text(major, ".", minor, ".", release);
}

}  // namespace zero::checkpoint
