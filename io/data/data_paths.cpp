#include "io/data/data_paths.hpp"

#include <glob.h>

#include <algorithm>
#include <map>

#include "zero/base/error.hpp"
#include "zero/base/path.hpp"

namespace zero {
namespace {

constexpr const char* kTrain = "data.train";
constexpr size_t kMostFiles = 100'000;

std::vector<std::string> split_lines(const std::string& list) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < list.size();) {
    const size_t end = std::min(list.find('\n', begin), list.size());
    lines.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

/// Returns the files that match a pattern, sorted by their names; a path itself; the lines of a
/// list as they are.
std::vector<std::string> matches_of(const std::string& pattern) {
  if (pattern.find('\n') != pattern.npos && !is_there(pattern)) return split_lines(pattern);
  if (pattern.find_first_of("*?[") == pattern.npos || is_there(pattern)) return {pattern};
  glob_t found{};
  std::vector<std::string> paths;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return paths;
}

std::vector<DataPart> parts_of(const DataConfig& data) {
  return data.train_parts.empty() ? std::vector<DataPart>{{.path = data.train}} : data.train_parts;
}

}  // namespace

std::vector<std::string> possible_paths(const DataConfig& data) {
  std::vector<std::string> paths;
  for (const DataPart& part : parts_of(data)) {
    const std::vector<std::string> files = matches_of(part.path);
    paths.insert(paths.end(), files.begin(), files.end());
    if (files.empty()) paths.push_back(part.path);
  }
  return paths;
}

std::vector<DataPath> data_paths(const DataConfig& data) {
  const std::vector<DataPart> parts = parts_of(data);
  std::vector<DataPath> paths;
  std::map<std::string, size_t> part_of;
  for (size_t part = 0; part < parts.size(); ++part) {
    const std::vector<std::string> files = matches_of(parts[part].path);
    if (files.empty()) {
      refuse_settings({kTrain}, '"', parts[part].path,
                      "\" matches no file; write the path from the ",
                      "working folder on, and * for any letters in a name");
    }
    for (const std::string& file : files) {
      const auto [other, is_new] = part_of.emplace(file, part);
      if (!is_new) {
        refuse_settings({kTrain}, '"', parts[other->second].path, "\" and \"", parts[part].path,
                        "\" both have ", file, "; write patterns that share no file");
      }
      paths.push_back({.path = file, .part = part, .weight = parts[part].weight});
    }
    if (paths.size() <= kMostFiles) continue;
    refuse_settings({kTrain}, "more than ", kMostFiles, " files; join them in fewer");
  }
  return paths;
}

}  // namespace zero
