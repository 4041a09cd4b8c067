#pragma once
/// HDF5's C library as handles that close themselves. Not thread-safe.

#include <hdf5.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/checkpoint/file_structure.hpp"
#include "zero/base/dtype.hpp"
#include "zero/io/files/open_file.hpp"

namespace zero::checkpoint {

/// Throws Error(kIo), "<file>: <doing>: <what HDF5 says>", if the status is negative.
void require_hdf5(int64_t status, const std::string& file, const std::string& doing);

/// An HDF5 identifier and the function that closes it.
class Hdf5Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Hdf5Handle() = default;
  Hdf5Handle(hid_t id, Close closer) : id_(id), close_(closer) {}
  Hdf5Handle(Hdf5Handle&& other) noexcept
      : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Hdf5Handle& operator=(Hdf5Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  ~Hdf5Handle() {
    if (id_ >= 0) close_(id_);
  }
  hid_t id() const { return id_; }
  /// Closes and empties the handle. Returns HDF5's status.
  herr_t close() { return close_(std::exchange(id_, -1)); }

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

/// A file being made in memory; unwritten payloads take none. Objects are known by their path from
/// the root, and groups on the way to a dataset are made. No dataset or group keeps its time: see
/// compare_structure(). Every function throws Error(kIo).
class Hdf5File {
 public:
  /// Makes the file; `name` is for messages. Adds to `content`, of a finished file, if any.
  explicit Hdf5File(const std::string& name, std::span<const std::byte> content = {});

  struct Dataset {
    Dtype dtype = Dtype::f32;
    std::span<const int64_t> shape;
    hid_t creation;  ///< list from creation_of(H5P_DATASET_CREATE)
  };
  /// Returns properties for objects of this kind; the caller may add more.
  Hdf5Handle creation_of(hid_t kind) const;
  Hdf5Handle make_dataset(const std::string& path, const Dataset& dataset) const;
  /// Makes a contiguous dataset whose elements others write. It is allocated at once, after the
  /// payloads made before it.
  Hdf5Handle make_payload(const std::string& path, Dtype dtype, std::span<const int64_t> shape);
  Hdf5Handle make_group(const std::string& path) const;
  Hdf5Handle root() const;
  void write_text(const std::string& path, const std::string& content) const;

  void set_attribute(const Hdf5Handle& object, const char* name,
                     std::span<const int64_t> values) const;
  void set_attribute(const Hdf5Handle& object, const std::string& name,
                     const std::string& content) const;

  /// Returns the structure beside the payloads. REQUIRES: every handle of the file is closed.
  FileStructure finish();

  /// Returns the identifier as a handle. Throws Error(kIo) if it is negative.
  Hdf5Handle checked(hid_t id, Hdf5Handle::Close closer, const std::string& doing) const;
  void require(int64_t status, const std::string& doing) const {
    require_hdf5(status, name_, doing);
  }

 private:
  Hdf5Handle access() const;
  Hdf5Handle creation() const;
  void make_groups_of(const std::string& path) const;

  std::string name_;
  OpenFile memory_;
  Hdf5Handle file_;
  std::vector<FileStructure::Extent> payloads_;
};

/// Returns the extents in HDF5's type.
std::vector<hsize_t> hdf5_extents(std::span<const int64_t> shape);

}  // namespace zero::checkpoint
