#include "zero/launch/files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <set>

#include "zero/base/error.hpp"
#include "zero/io/files/files.hpp"

namespace zero::launch {
namespace {

namespace fs = std::filesystem;

/// "a, b, c and 2 more": the folders in `place`; "" where there are none.
std::string folders_in(const fs::path& place) {
  constexpr size_t kNamed = 5;
  std::set<std::string> names;
  std::error_code ignored;
  for (fs::directory_iterator entry(place, ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with('.') && entry->is_directory(ignored)) names.insert(name);
  }
  std::string out;
  size_t named = 0;
  for (const std::string& name : names) {
    if (named++ < kNamed) out += (out.empty() ? "" : ", ") + name;
  }
  return named > kNamed ? text(out, " and ", named - kNamed, " more") : out;
}

}  // namespace

void occupy_standard_files() {
  // The lowest free descriptor is taken, so what is closed is filled from below.
  int file = 0;
  while (file >= 0 && file <= 2) file = open("/dev/null", O_RDONLY);
  if (file > 2) close(file);
}

std::string no_folder_text(const std::string& path) {
  constexpr const char* kWanted =
      "the folder of a run, of checkpoints, of one of them or a model's";
  std::error_code ignored;
  if (fs::exists(path, ignored)) return text(path, ": is a file; name ", kWanted);
  const std::string in_runs = "runs/" + path;
  if (fs::is_directory(in_runs, ignored)) {
    return text(path, ": is not there; did you mean ", in_runs, "?");
  }
  const fs::path place = fs::path(path + "/").lexically_normal().parent_path().parent_path();
  const std::string beside = place.empty() ? "" : folders_in(place);
  return text(path, ": is not there; name ", kWanted,
              beside.empty() ? "" : text(" (", place.string(), " holds ", beside, ")"));
}

void write_file(const std::string& path, std::string_view content) {
  const std::string next = path + ".tmp";
  int reason = 0;
  {
    const OpenFile file = make_own(next);
    reason = file ? write_all(file, content) : errno;
    if (reason == 0 && !sync_file(file)) reason = errno;
  }
  if (reason == 0 && std::rename(next.c_str(), path.c_str()) != 0) reason = errno;
  if (reason == 0) return;
  if (reason != EISDIR) unlink(next.c_str());
  refuse(Exit::kIo, path, ": could not be written: ", std::strerror(reason));
}

void Console::say(const std::string& text) {
  if (!speaks_) return;
  if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return;
  std::clearerr(stdout);
  if (warned_) return;
  warned_ = true;
  warn("standard output: ", std::strerror(errno), "; training goes on");
}

}  // namespace zero::launch
