#include "src/config/report.hpp"

#include <algorithm>
#include <filesystem>

#include "zero/base/error.hpp"

namespace zero {
namespace {

constexpr int kMostErrors = 30;  // a file of more is another kind of file

/// The file first, then the command line, then what was written nowhere.
std::pair<int, int> rank_of(Place place) {
  const bool nowhere = place.origin == Place::Origin::nowhere;
  return {nowhere ? 3 : int(place.origin), place.line};
}

}  // namespace

Place Report::place_of(const std::string& key) const {
  const auto found = places_.find(key);
  return found == places_.end() ? Place() : found->second;
}

std::string Report::origin_of(const std::string& key) const {
  const auto found = derived_.find(key);
  if (found != derived_.end()) return found->second;
  const Place place = place_of(key);
  if (place.origin == Place::Origin::nowhere) return "default";
  if (place.origin == Place::Origin::command) return "command line";
  return text(std::filesystem::path(file_).filename().string(), ":", place.line);
}

std::string Report::where(Place place) const {
  if (place.origin == Place::Origin::command) return "command line";
  return place.origin == Place::Origin::file ? text(file_, ":", place.line) : file_;
}

std::string Report::line_of(Place place, const std::string& key, const std::string& what) const {
  return text(where(place), ": ", key, key.empty() ? "" : ": ", what);
}

void Report::error(Place place, const std::string& key, const std::string& what) {
  failed_.insert(key);
  errors_.emplace(rank_of(place), line_of(place, key, what));
}

bool Report::any_failed(const std::vector<std::string>& keys) const {
  return std::any_of(keys.begin(), keys.end(), [&](const auto& key) { return failed(key); });
}

std::string Report::last_of(const std::vector<std::string>& keys) const {
  return *std::max_element(keys.begin(), keys.end(), [&](const auto& a, const auto& b) {
    const Place left = place_of(a), right = place_of(b);
    return std::pair(left.origin, left.line) < std::pair(right.origin, right.line);
  });
}

void Report::clash(const std::vector<std::string>& keys, const std::string& what) {
  if (any_failed(keys)) return;
  const std::string last = last_of(keys);
  error(place_of(last), last, what);
}

bool Report::idle(const std::string& key, const std::vector<std::string>& because,
                  const std::string& what) {
  if (failed(key) || any_failed(because)) return false;
  const std::string last = last_of(because);
  const Place place = place_of(key), cause = place_of(last);
  if (writer_ == Writer::run && place.origin == Place::Origin::file) return true;
  const bool apart = cause.origin != Place::Origin::nowhere && cause.origin != place.origin;
  if (apart) {
    warning(key, text(what, " (", origin_of(last), ": ", last, ")"));
    derived_[key] = "default, for " + origin_of(key) + " has no effect";
  } else {
    error(place, key, what + "; remove it or write that");
  }
  return apart;
}

void Report::warning(const std::string& key, const std::string& what) {
  warnings_.push_back(line_of(place_of(key), key, what));
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
