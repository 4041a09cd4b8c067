#include "src/config/report.hpp"

#include "zero/base/error.hpp"

namespace zero {
namespace {

constexpr int kMostErrors = 100;

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

std::string Report::line_of(Place place, const std::string& key, const std::string& what) const {
  std::string where = file_;
  if (place.origin == Place::Origin::file) where = text(file_, ":", place.line);
  if (place.origin == Place::Origin::command) where = "command line";
  return text(where, ": ", key, key.empty() ? "" : ": ", what);
}

void Report::error(Place place, const std::string& key, const std::string& what) {
  failed_.insert(key);
  errors_.emplace(rank_of(place), line_of(place, key, what));
}

void Report::clash(std::initializer_list<std::string> keys, const std::string& what) {
  std::string last = *keys.begin();
  for (const std::string& key : keys) {
    if (failed(key)) return;
    const Place place = place_of(key), latest = place_of(last);
    const bool later =
        place.origin > latest.origin || (place.origin == latest.origin && place.line > latest.line);
    if (later) last = key;
  }
  error(place_of(last), last, what);
}

void Report::idle(const std::string& key, const std::string& because, const std::string& what) {
  if (failed(key) || failed(because)) return;
  const Place place = place_of(key), cause = place_of(because);
  const bool apart = cause.origin != Place::Origin::nowhere && cause.origin != place.origin;
  if (apart) {
    warning(key, what);
  } else {
    error(place, key, what);
  }
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
