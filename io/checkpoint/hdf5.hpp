#pragma once
/// HDF5's C library behind handles that close themselves. One thread at a time.

#include <hdf5.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "zero/base/dtype.hpp"

namespace zero::checkpoint {

/// Throws Error(kIo), "<file>: <doing>: <what HDF5 says>", for a negative status.
void require_hdf5(int64_t status, const std::string& file, const std::string& doing);

/// An identifier with its function of closing.
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
  /// The status of closing; the handle is none afterwards.
  herr_t close() { return close_(std::exchange(id_, -1)); }

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

/// A file being made. Everything in it is known by its path from the root; groups on the way to a
/// dataset are made. No dataset or group keeps the time of its making: see compare_structure().
class Hdf5File {
 public:
  enum class Begin : uint8_t {
    empty,     ///< what the descriptor holds goes
    as_it_is,  ///< what it holds, a file that was closed, is added to
  };
  /// Through an open descriptor. `name` is for messages.
  Hdf5File(int descriptor, const std::string& name, Begin begin = Begin::empty);

  struct Dataset {
    Dtype dtype = Dtype::f32;
    std::span<const int64_t> shape;
    hid_t creation;  ///< made by creation_of(H5P_DATASET_CREATE)
  };
  /// Properties of objects of this kind, to which more can be added.
  Hdf5Handle creation_of(hid_t kind) const;
  Hdf5Handle make_dataset(const std::string& path, const Dataset& dataset) const;
  Hdf5Handle make_group(const std::string& path) const;
  Hdf5Handle root() const;
  void write_text(const std::string& path, const std::string& content) const;

  void set_attribute(const Hdf5Handle& object, const char* name,
                     std::span<const int64_t> values) const;
  void set_attribute(const Hdf5Handle& object, const std::string& name,
                     const std::string& content) const;

  /// Whatever is still open in it is closed before.
  void close();

  /// The handle, or Error(kIo) where there is none.
  Hdf5Handle checked(hid_t id, Hdf5Handle::Close closer, const std::string& doing) const;
  void require(int64_t status, const std::string& doing) const {
    require_hdf5(status, name_, doing);
  }

 private:
  Hdf5Handle access() const;
  Hdf5Handle creation() const;
  void make_groups_of(const std::string& path) const;

  std::string name_;
  Hdf5Handle file_;
};

/// The extents as HDF5 wants them.
std::vector<hsize_t> hdf5_extents(std::span<const int64_t> shape);

}  // namespace zero::checkpoint
