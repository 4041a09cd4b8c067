#include "io/checkpoint/folder_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace zero::checkpoint {

Exit exit_of_open(int reason) {
  // ENXIO and ENODEV: a socket or a device.
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

std::string path_in(int folder, const std::string& name) {
  std::error_code error;
  const auto path = std::filesystem::read_symlink(text("/proc/self/fd/", folder), error);
  return error ? name : (path / name).string();
}

OpenFile open_new(int folder, const std::string& path, int mode) {
  const std::string name = std::filesystem::path(path).filename();
  OpenFile file(
      openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
  if (!file) refuse(Exit::kIo, path, ": ", strerror(errno), " making the file");
  return file;
}

void write_new(int folder, const std::string& path, std::string_view content) {
  const OpenFile file = open_new(folder, path);
  if (const int reason = write_all(file, content)) {
    refuse(Exit::kIo, path, ": ", strerror(reason), " writing it");
  }
  if (fsync(file.descriptor()) != 0) {
    refuse(Exit::kIo, path, ": ", strerror(errno), " syncing the file");
  }
}

}  // namespace zero::checkpoint
