#include "io/checkpoint/open_plain.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "zero/io/files/open_file.hpp"

namespace zero::checkpoint {

Exit exit_of_open(int reason) {
  // ENXIO, ENODEV: a socket or a device.
  for (const int ours : {ENOENT, ENOTDIR, ELOOP, ENXIO, ENODEV}) {
    if (reason == ours) return Exit::kInput;
  }
  return Exit::kIo;
}

InputFile open_plain(int folder, const std::string& folder_name, const std::string& name) {
  const std::string path = folder_name + "/" + name;
  // A pipe without a writer would make open() wait for ever.
  OpenFile file(openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file) {
    const int reason = errno;
    const bool link = reason == ELOOP;
    refuse(exit_of_open(reason), path, ": ",
           link ? "is a symbolic link, which none of a checkpoint's files is" : strerror(reason));
  }
  struct stat status {};
  if (fstat(file.descriptor(), &status) != 0) refuse(Exit::kIo, path, ": ", strerror(errno));
  if (S_ISREG(status.st_mode) && status.st_nlink != 1) {
    refuse(Exit::kInput, path, ": has ", status.st_nlink, " links, a checkpoint's file has one");
  }
  return InputFile(std::move(file), path);
}

}  // namespace zero::checkpoint
