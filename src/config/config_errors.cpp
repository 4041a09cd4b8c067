#include "src/config/config_errors.hpp"

#include <algorithm>
#include <filesystem>

#include "zero/base/error.hpp"

namespace zero {
namespace {

constexpr int kMostErrors = 30;  // a file of more is another kind of file

/// Orders the file first, then the command line, then keys that are not written.
std::pair<int, int> rank_of(Location location) {
  const bool nowhere = location.origin == Location::Origin::nowhere;
  return {nowhere ? 3 : int(location.origin), location.line};
}

}  // namespace

Location Report::location_of(const std::string& key) const {
  const auto found = locations_.find(key);
  return found == locations_.end() ? Location() : found->second;
}

std::string Report::origin_of(const std::string& key) const {
  const auto found = derived_.find(key);
  if (found != derived_.end()) return found->second;
  const Location location = location_of(key);
  if (location.origin == Location::Origin::nowhere) return "default";
  if (location.origin == Location::Origin::command) return "command line";
  return text(std::filesystem::path(file_).filename().string(), ":", location.line);
}

std::string Report::where(Location location) const {
  if (location.origin == Location::Origin::command) return "command line";
  return location.origin == Location::Origin::file ? text(file_, ":", location.line) : file_;
}

std::string Report::line_of(Location location, const std::string& key,
                            const std::string& what) const {
  return text(where(location), ": ", key, key.empty() ? "" : ": ", what);
}

void Report::error(Location location, const std::string& key, const std::string& what) {
  failed_.insert(key);
  errors_.emplace(rank_of(location), line_of(location, key, what));
}

bool Report::any_failed(const std::vector<std::string>& keys) const {
  return std::any_of(keys.begin(), keys.end(), [&](const auto& key) { return failed(key); });
}

std::string Report::last_of(const std::vector<std::string>& keys) const {
  return *std::max_element(keys.begin(), keys.end(), [&](const auto& a, const auto& b) {
    const Location left = location_of(a), right = location_of(b);
    return std::pair(left.origin, left.line) < std::pair(right.origin, right.line);
  });
}

void Report::clash(const std::vector<std::string>& keys, const std::string& what) {
  if (any_failed(keys)) return;
  const std::string last = last_of(keys);
  error(location_of(last), last, what);
}

bool Report::idle(const std::string& key, const std::vector<std::string>& because,
                  const std::string& what) {
  if (failed(key) || any_failed(because)) return false;
  const std::string last = last_of(because);
  const Location location = location_of(key), cause = location_of(last);
  if (writer_ == Writer::run && location.origin == Location::Origin::file) return true;
  const bool apart = cause.origin != Location::Origin::nowhere && cause.origin != location.origin;
  if (apart) {
    warning(key, text(what, " (", origin_of(last), ": ", last, ")"));
    derived_[key] = "default, for " + origin_of(key) + " has no effect";
  } else {
    error(location, key, what + "; remove it or write that");
  }
  return apart;
}

void Report::warning(const std::string& key, const std::string& what) {
  warnings_.push_back(line_of(location_of(key), key, what));
}

void Report::finish() const {
  if (errors_.empty()) return;
  std::string all;
  int count = 0;
  for (const auto& [rank, line] : errors_) {
    if (count++ < kMostErrors) all += (all.empty() ? "" : "\n") + line;
  }
  if (count > kMostErrors) all += text("\nand ", count - kMostErrors, " more");
  refuse(Exit::kUsage, all);
}

}  // namespace zero
