#pragma once

#include <string>

#include "zero/io/files/open_file.hpp"

namespace zero {

/// A new folder that appears under its name only when it is whole. Until then it is
/// <path>.tmp-<process>, which goes away with the object. What a killed process has left goes when
/// the same folder is made again. A lock on it ends with its process and so tells whether that one
/// lives; its number does not, as another process may have it by then.
class NewFolder {
 public:
  /// Throws Error(kIo) if something has the name already, or if the folder cannot be made.
  explicit NewFolder(const std::string& path);
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  /// Where it is until it has its name.
  const std::string& temporary() const { return temporary_; }
  std::string file(const std::string& name) const { return temporary_ + "/" + name; }

  /// Gives it its name. Throws Error(kIo), also if something has taken the name meanwhile: nothing
  /// is ever overwritten.
  void publish();

 private:
  bool take();

  std::string path_, temporary_;
  OpenFile lock_;
  bool is_published_ = false;
};

}  // namespace zero
