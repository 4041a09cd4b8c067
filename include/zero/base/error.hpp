#pragma once
/// The exception type and the check that is always on. A message says what is wrong, with the
/// values, and what to change. ZERO_REQUIRE adds the source line.

#include <cstdio>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace zero {

/// The exit status of the program, on which a batch script can act. See doc/how_a_run_ends.md.
enum class Exit : int {
  kFinished = 0,
  kUsage = 2,         ///< command line or configuration
  kInput = 3,         ///< data or weights malformed or mismatched
  kNoCheckpoint = 4,  ///< nothing verifiable to resume from
  kIo = 5,
  kDoesNotFit = 6,  ///< plan refused, or out of host, pinned or device memory
  kNumerics = 7,
  kRanksDisagree = 8,
  kInUse = 9,
  kHang = 10,
  kInternal = 11,  ///< an invariant of the program itself
  kDevice = 12,    ///< the card or its driver is broken: start again elsewhere
  kRequeue = 85,   ///< preempted with a committed checkpoint
};

/// An error of the input, the machine, a peer rank or the program itself. Any code may throw it.
/// main() catches it, prints it once and ends every rank with `exit()`.
class Error : public std::runtime_error {
 public:
  Error(Exit exit, const std::string& what) : std::runtime_error(what), exit_(exit) {}
  Exit exit() const { return exit_; }

 private:
  Exit exit_;
};

/// Joins its arguments as text: text("rank ", 3, " of ", 8) is "rank 3 of 8".
template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

/// Throws Error{exit, "<what> [<file>:<line>: <condition>]"}. `condition` is the source text of the
/// failed check.
[[noreturn]] void fail(Exit exit, const char* file, int line, const char* condition,
                       const std::string& what);

/// Throws Error{exit, text(parts...)} without the source line, for faults that a user can mend.
template <class... Parts>
[[noreturn]] void refuse(Exit exit, const Parts&... parts) {
  throw Error(exit, text(parts...));
}

/// An error of settings, named by their keys, that cannot work together or not on these ranks or
/// data. what() begins with the first key. The reader of the input prefixes the place of the key
/// that the user wrote last.
class SettingsError : public Error {
 public:
  SettingsError(const std::vector<std::string>& keys, const std::string& problem)
      : Error(Exit::kUsage, keys.at(0) + ": " + problem), keys_(keys), problem_(problem) {}
  const std::vector<std::string>& keys() const { return keys_; }
  const std::string& problem() const { return problem_; }

 private:
  std::vector<std::string> keys_;
  std::string problem_;
};

/// Throws SettingsError{keys, text(parts...)}.
template <class... Parts>
[[noreturn]] void refuse_settings(const std::vector<std::string>& keys, const Parts&... parts) {
  throw SettingsError(keys, text(parts...));
}

/// Prints one line on standard error: "zeroapp: warning: " and text(parts...). The text names the
/// fault and a remedy, or what the program does by itself.
template <class... Parts>
void warn(const Parts&... parts) {
  const std::string line = text("zeroapp: warning: ", parts..., "\n");
  std::fputs(line.c_str(), stderr);
}

}  // namespace zero

/// Throws Error(kInternal) unless `condition`, an invariant of the program, holds. The other
/// arguments are joined by text() as its message. Never compiled out. Example:
/// ZERO_REQUIRE(n > 0, "shard of ", n, " elements: need at least 1");
#define ZERO_REQUIRE(condition, ...)                                        \
  do {                                                                      \
    if (!(condition)) {                                                     \
      ::zero::fail(::zero::Exit::kInternal, __FILE__, __LINE__, #condition, \
                   ::zero::text(__VA_ARGS__));                              \
    }                                                                       \
  } while (false)
