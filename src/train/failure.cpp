#include "zero/train/failure.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace zero::train {
namespace {

std::string error_id(const Failure& failure) {
  char id[8];
  std::snprintf(id, sizeof id, "E%02d00", int(failure.exit));
  return id;
}

std::string record(const Failure& failure) {
  const nlohmann::ordered_json json = {{"error", error_id(failure)}, {"exit", int(failure.exit)},
                                       {"rank", failure.rank},       {"host", failure.host},
                                       {"step", failure.step},       {"what", failure.what}};
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

Failure failure_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    return {.exit = e.exit(), .what = e.what(), .host = {}};
  } catch (const std::bad_alloc&) {
    return {.exit = Exit::kDoesNotFit, .what = "out of host memory outside the plan", .host = {}};
  } catch (const std::exception& e) {
    return {.exit = Exit::kInternal, .what = e.what(), .host = {}};
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
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file < 0) return errno != EEXIST;
  const std::string content = record(failure);
  // A record that cannot be written must not keep the line on stderr from being printed.
  if (write(file, content.data(), content.size()) != ssize_t(content.size())) {
    std::fprintf(stderr, "zeroapp: warning: %s could not be written\n", path.c_str());
  }
  close(file);
  return true;
}

}  // namespace zero::train
