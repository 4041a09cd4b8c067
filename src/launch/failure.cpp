#include "zero/launch/failure.hpp"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <new>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>

#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/io/files/open_file.hpp"

namespace zero::launch {
namespace {

std::string record(const Failure& failure) {
  const nlohmann::ordered_json json = {{"error", error_id(failure)}, {"exit", int(failure.exit)},
                                       {"rank", failure.rank},       {"host", failure.host},
                                       {"blames", failure.blamed},   {"step", failure.step},
                                       {"what", failure.what}};
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

constexpr const char* kNoMemory =
    "out of host memory outside the plan: more is asked for than this process may have - free "
    "memory, raise its limits (ulimit -v, ulimit -d, the cgroup's), or take a smaller "
    "train_micro_batch_size_per_gpu";

/// Returns the failure of a refusal by the system. In practice a thread is refused, because files
/// are opened without exceptions.
Failure of_system(const std::system_error& error) {
  const bool refused = error.code() == std::errc::resource_unavailable_try_again ||
                       error.code() == std::errc::not_enough_memory;
  if (!refused) return {.exit = Exit::kInternal, .what = error.what(), .host = {}};
  return {.exit = Exit::kDoesNotFit,
          .what = text("the system refuses a thread: ", error.what(),
                       " - raise the limits of this user's processes (ulimit -u) and of address ",
                       "space (ulimit -v), or write a smaller run.threads"),
          .host = {}};
}

/// Returns the words of an exception without a library's prefix, "[json.exception.type_error.302]
/// ".
std::string words_of(const std::exception& error) {
  const std::string_view words = error.what();
  const size_t end = words.starts_with('[') ? words.find("] ") : words.npos;
  return std::string(end == words.npos ? words : words.substr(end + 2));
}

}  // namespace

std::string error_id(const Failure& failure) { return format("E%02d00", int(failure.exit)); }

Failure failure_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const NodeError& e) {
    return {.exit = e.exit(), .what = e.what(), .host = {}, .blamed = e.node(), .knows_node = true};
  } catch (const Error& e) {
    return {.exit = e.exit(), .what = e.what(), .host = {}};
  } catch (const std::bad_alloc&) {
    return {.exit = Exit::kDoesNotFit, .what = kNoMemory, .host = {}};
  } catch (const std::length_error&) {
    return {.exit = Exit::kDoesNotFit, .what = kNoMemory, .host = {}};
  } catch (const std::filesystem::filesystem_error& e) {
    return {.exit = Exit::kIo,
            .what = text(e.what(), " - mend that, or name another path"),
            .host = {}};
  } catch (const std::system_error& e) {
    return of_system(e);
  } catch (const std::exception& e) {
    return {.exit = Exit::kInternal, .what = words_of(e), .host = {}};
  } catch (...) {
    return {.exit = Exit::kInternal, .what = "an exception without words", .host = {}};
  }
}

std::string error_line(const Failure& failure) {
  std::string line = text("zeroapp: error ", error_id(failure), " [rank ", failure.rank);
  if (!failure.host.empty()) line += " host " + failure.host;
  if (failure.step > 0) line += text(" step ", failure.step);
  return line + "] " + failure.what + "\n";
}

bool claim_error_record(const std::string& folder, const Failure& failure) {
  if (folder.empty()) return true;
  const std::string path = folder + "/error.json";
  const OpenFile file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!file && errno == EEXIST) return false;
  // A record that cannot be written must not keep the line on stderr from being printed.
  if (const int reason = file ? write_all(file, record(failure)) : errno) {
    warn(path, ": could not be written: ", std::strerror(reason));
  }
  return true;
}

}  // namespace zero::launch
