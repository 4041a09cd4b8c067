#pragma once

#include <string>
#include <vector>

#include "zero/config/data_keys.hpp"

namespace zero {

/// A file of data.train.
struct DataPath {
  std::string path;
  size_t part = 0;    ///< of the list
  double weight = 0;  ///< of its part; 0: none
};

/// Returns the files of data.train: the path itself, or those of a list, whose patterns with * and
/// ? are replaced by the files that match, sorted. A path of several lines, as sets_of_run() writes
/// it, names a file in each, in this order. Throws SettingsError if a pattern matches no file, two
/// name the same file, or they are more than 100,000.
std::vector<DataPath> data_paths(const DataConfig& data);

/// Returns the same files, but those that two patterns name twice, and a pattern that matches none
/// as it is.
std::vector<std::string> possible_paths(const DataConfig& data);

}  // namespace zero
