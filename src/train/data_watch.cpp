#include "src/train/data_watch.hpp"

#include <sys/stat.h>

namespace zero::train {

DataWatch::DataWatch(std::vector<std::string> paths) : paths_(std::move(paths)) { renew(); }

DataWatch::Stamp DataWatch::stamp_of(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return {};
  return {.is_there = true,
          .device = uint64_t(status.st_dev),
          .inode = uint64_t(status.st_ino),
          .bytes = int64_t(status.st_size),
          .seconds = int64_t(status.st_mtim.tv_sec),
          .nanoseconds = int64_t(status.st_mtim.tv_nsec)};
}

std::string DataWatch::changed() const {
  for (size_t i = 0; i < paths_.size(); ++i) {
    const Stamp now = stamp_of(paths_[i]);
    if (now.is_there && now != stamps_[i]) return paths_[i];
  }
  return "";
}

void DataWatch::renew() {
  stamps_.clear();
  for (const std::string& path : paths_) stamps_.push_back(stamp_of(path));
}

int64_t DataWatch::bytes() const {
  int64_t bytes = 0;
  for (const Stamp& stamp : stamps_) bytes += stamp.bytes;
  return bytes;
}

}  // namespace zero::train
