#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "zero/config/read_config.hpp"

namespace zero {

/// Where a key was written.
struct Location {
  enum class Origin { nowhere, file, command };
  Origin origin = Origin::nowhere;
  int line = 0;  ///< of the file, or the position on the command line
};

/// Collects everything that is wrong with a configuration, in the order of the file.
class Report {
 public:
  explicit Report(std::string file, Writer writer = Writer::user)
      : file_(std::move(file)), writer_(writer) {}

  void written(const std::string& key, Location location) { locations_[key] = location; }
  Location location_of(const std::string& key) const;
  bool failed(const std::string& key) const { return failed_.count(key) != 0; }
  bool any_failed() const { return !failed_.empty(); }

  /// Says of a key that was left to the program what it follows from.
  void derived(const std::string& key, const std::string& source) {
    derived_[key] = "derived from " + source;
  }

  /// "default", "train.toml:14", "command line" or "derived from ...".
  std::string origin_of(const std::string& key) const;

  /// "train.toml:14", "command line", or the file alone.
  std::string where(Location location) const;

  /// `key` may be "" where none could be read.
  void error(Location location, const std::string& key, const std::string& what);

  /// Keys that cannot work together. Reported once, at the one written last; not at all if one of
  /// them has an error of its own.
  void clash(const std::vector<std::string>& keys, const std::string& what);

  /// `key` has no effect because of the keys in `because`. This is an error. If it stands in the
  /// file and the last of them on the command line, or the reverse, it is a warning that names
  /// both. In the file of a run it is allowed. Returns whether it keeps its default.
  bool idle(const std::string& key, const std::vector<std::string>& because,
            const std::string& what);

  void warning(const std::string& key, const std::string& what);

  std::vector<std::string> take_warnings() { return std::move(warnings_); }

  /// Throws Error(kUsage) with a line for each error, if there is one.
  void finish() const;

 private:
  /// The key that was written last, on the command line if one is.
  std::string last_of(const std::vector<std::string>& keys) const;
  bool any_failed(const std::vector<std::string>& keys) const;
  std::string line_of(Location location, const std::string& key, const std::string& what) const;

  std::string file_;
  Writer writer_;
  std::map<std::string, Location> locations_;
  std::map<std::string, std::string> derived_;
  std::set<std::string> failed_;
  std::multimap<std::pair<int, int>, std::string> errors_;  // by origin and line
  std::vector<std::string> warnings_;
};

}  // namespace zero
