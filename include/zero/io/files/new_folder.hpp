#pragma once

#include <string>

#include "zero/io/files/open_file.hpp"

namespace zero {

/// A new folder that gets its name only when it is whole. Until then its path is
/// <path>.tmp-<process>, which the destructor removes. Making the same folder again removes what a
/// killed process left. A lock on the folder shows whether its process lives, because the lock ends
/// with the process. The process number does not, because another process may have it by then.
class NewFolder {
 public:
  /// Creates the temporary folder of a folder `path`. Throws Error(kIo) if `path` exists or the
  /// folder cannot be made.
  explicit NewFolder(const std::string& path);
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  /// Returns the folder's path before publish().
  const std::string& temporary() const { return temporary_; }
  /// Returns the path of the file `name` in temporary().
  std::string file(const std::string& name) const { return temporary_ + "/" + name; }

  /// Gives the folder its name. Throws Error(kIo), also if the name was taken meanwhile. Nothing is
  /// ever overwritten.
  void publish();

 private:
  bool take();

  std::string path_, temporary_;
  OpenFile lock_;
  bool is_published_ = false;
};

}  // namespace zero
