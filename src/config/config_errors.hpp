#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "zero/config/read_config.hpp"

namespace zero {

/// The place of a key in the input.
struct Location {
  enum class Origin { nowhere, file, command };
  Origin origin = Origin::nowhere;
  int line = 0;  ///< line of the file, or position on the command line
};

/// A collector of all errors of a configuration, in the order of the file.
class Report {
 public:
  explicit Report(std::string file, Writer writer = Writer::user)
      : file_(std::move(file)), writer_(writer) {}

  void written(const std::string& key, Location location) { locations_[key] = location; }
  Location location_of(const std::string& key) const;
  bool failed(const std::string& key) const { return failed_.count(key) != 0; }
  bool any_failed() const { return !failed_.empty(); }

  /// Notes that the value of `key` is derived from `source`.
  void derived(const std::string& key, const std::string& source) {
    derived_[key] = "derived from " + source;
  }

  /// Returns "default", "train.toml:14", "command line" or "derived from ...".
  std::string origin_of(const std::string& key) const;

  /// Returns "train.toml:14", "command line", or the file alone if the key is not written.
  std::string where(Location location) const;

  /// Adds an error. `key` is "" if none could be read.
  void error(Location location, const std::string& key, const std::string& what);

  /// Adds an error for keys that contradict each other, once, at the key written last. Adds nothing
  /// if a key has an error of its own.
  void clash(const std::vector<std::string>& keys, const std::string& what);

  /// Reports that `key` has no effect because of the keys in `because`. This is an error. If one
  /// stands in the file and the other on the command line, it is a warning that names both. In a
  /// file that a run wrote it is allowed. True if the key keeps its default.
  bool idle(const std::string& key, const std::vector<std::string>& because,
            const std::string& what);

  void warning(const std::string& key, const std::string& what);

  std::vector<std::string> take_warnings() { return std::move(warnings_); }

  /// Throws Error(kUsage) with a line for each error, if any.
  void finish() const;

 private:
  /// Returns the key written last; keys of the command line are the latest.
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
