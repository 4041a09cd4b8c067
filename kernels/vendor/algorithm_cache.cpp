#include "kernels/vendor/algorithm_cache.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <span>
#include <thread>
#include <vector>

#include "zero/base/digests.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"

namespace zero::kernels::vendor {
namespace {

std::string check_sum(std::string_view line) {
  char digits[9];
  std::snprintf(digits, sizeof digits, "%08x", crc32c(std::as_bytes(std::span(line))));
  return digits;
}

std::vector<std::string_view> columns_of(std::string_view line) {
  std::vector<std::string_view> columns;
  for (size_t begin = 0; begin <= line.size();) {
    const size_t end = std::min(line.find('\t', begin), line.size());
    columns.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return columns;
}

bool read_hex(std::string_view digits, std::span<std::byte> bytes) {
  if (digits.size() != 2 * bytes.size()) return false;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const std::string two(digits.substr(2 * i, 2));
    char* end = nullptr;
    bytes[i] = std::byte(std::strtoul(two.c_str(), &end, 16));
    if (end != two.c_str() + 2) return false;
  }
  return true;
}

std::string hex(std::span<const std::byte> bytes) {
  return hex_of({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
}

size_t file_bytes(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0 ? size_t(facts.st_size) : 0;
}

/// Appends in one write, so lines of several processes do not mix.
void append(const std::string& path, const std::string& line) {
  const int file = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return;
  const ssize_t written = write(file, line.data(), line.size());
  const bool whole = written == ssize_t(line.size());
  if (close(file) != 0 || !whole) {
    warn(path, " keeps no more algorithms: the disk refuses them");
  }
}

}  // namespace

AlgorithmCache::AlgorithmCache(std::string path, std::string machine)
    : path_(std::move(path)), machine_(std::move(machine)) {
  ZERO_REQUIRE(machine_.find_first_of("\t\n") == std::string::npos, "a machine named '", machine_,
               "'");
  // A new user has no folder of caches yet.
  if (const size_t slash = path_.rfind('/'); slash != std::string::npos && slash > 0)
    static_cast<void>(mkdir(path_.substr(0, slash).c_str(), 0755));
  read_on();
}

void AlgorithmCache::read_on() {
  if (path_.empty()) return;
  const std::lock_guard lock(mutex_);
  std::ifstream file(path_);
  file.seekg(std::streamoff(read_bytes_));
  for (std::string line; read_bytes_ < kBytesMost && std::getline(file, line);) {
    read_bytes_ += line.size() + 1;
    read_line(line);
  }
}

AlgorithmCache::Turn::Turn(const AlgorithmCache& cache, int milliseconds_most)
    : file_(cache.path_.empty() ? -1
                                : open(cache.path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
  constexpr int kPause = 5;
  for (int waited = 0; file_ >= 0; waited += kPause) {
    alone_ = flock(file_, LOCK_EX | LOCK_NB) == 0;
    if (alone_ || waited >= milliseconds_most) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(kPause));
  }
}

AlgorithmCache::Turn::~Turn() {
  // Closing the file gives the lock back; nothing was written through it.
  if (file_ >= 0) static_cast<void>(close(file_));
}

void AlgorithmCache::read_line(std::string_view line) {
  if (line.empty()) return;
  const std::vector<std::string_view> columns = columns_of(line);
  Algorithm read{};
  const size_t tab = line.rfind('\t');
  const bool whole = columns.size() == 5 && columns[4] == check_sum(line.substr(0, tab)) &&
                     read_hex(columns[2], read.description);
  if (!whole) {
    ++damaged_lines_;
    return;
  }
  if (columns[0] != machine_) return;
  read.microseconds = std::strtof(std::string(columns[3]).c_str(), nullptr);
  known_[std::string(columns[1])] = read;
}

std::optional<Algorithm> AlgorithmCache::find(const std::string& problem) const {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(problem);
  if (found == known_.end()) return std::nullopt;
  return found->second;
}

void AlgorithmCache::keep(const std::string& problem, const Algorithm& algorithm) {
  ZERO_REQUIRE(problem.find_first_of("\t\n") == std::string::npos, "a problem named '", problem,
               "'");
  const std::lock_guard lock(mutex_);
  known_[problem] = algorithm;
  if (path_.empty() || file_bytes(path_) >= kBytesMost) return;
  const std::string line =
      text(machine_, "\t", problem, "\t", hex(algorithm.description), "\t", algorithm.microseconds);
  // The first line feed ends a line that another process left unfinished.
  append(path_, text("\n", line, "\t", check_sum(line), "\n"));
}

namespace {

constexpr float kNever = std::numeric_limits<float>::infinity();

std::optional<Algorithm> known(const AlgorithmCache& cache, const Way& way) {
  const std::optional<Algorithm> kept = cache.find(way.name);
  const bool good = kept && (kept->microseconds == kNever || way.takes(*kept));
  return good ? kept : std::nullopt;
}

/// Returns the algorithm of a way. Looks for others' results before it takes a turn, so a rank
/// behind does not hold up one that need not measure.
Algorithm known_or_measured(AlgorithmCache& cache, const Way& way) {
  if (const auto kept = known(cache, way)) return *kept;
  cache.read_on();
  if (const auto kept = known(cache, way)) return *kept;
  const AlgorithmCache::Turn turn(cache);
  cache.read_on();
  if (const auto kept = known(cache, way)) return *kept;
  const Algorithm best =
      way.measure().value_or(Algorithm{.description = {}, .microseconds = kNever});
  cache.keep(way.name, best);
  return best;
}

}  // namespace

FastestWay fastest_way(AlgorithmCache& cache, std::span<const Way> ways) {
  FastestWay best{.way = ways.size(), .algorithm = {.description = {}, .microseconds = kNever}};
  for (size_t i = 0; i < ways.size(); ++i) {
    const Algorithm known = known_or_measured(cache, ways[i]);
    if (known.microseconds < best.algorithm.microseconds) best = {.way = i, .algorithm = known};
  }
  ZERO_REQUIRE(best.way < ways.size(), "no way to compute ",
               ways.empty() ? std::string("nothing") : ways.front().name);
  return best;
}

}  // namespace zero::kernels::vendor
