#include "zero/launch/files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "zero/base/error.hpp"
#include "zero/io/files/open_file.hpp"
#include "zero/io/files/own_file.hpp"

namespace zero::launch {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// Returns "a, b, c and 2 more" for the folders in `place`. "" if there are none.
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

/// Bytes, for tens of thousands of launches.
constexpr int64_t kRecordBytesMax = int64_t(16) << 20;

std::string path_in(const std::string& folder) { return folder + "/launches.jsonl"; }

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string line_of(const Json& launch) {
  return launch.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// The file, cut in front of its last line.
struct Record {
  std::string earlier;
  Json last;
};

std::optional<Record> read_record(const std::string& folder) {
  std::string text = own_text(path_in(folder), kRecordBytesMax).value_or("");
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const size_t begin = text.rfind('\n') + 1;  // npos + 1 is 0
  const Json last = Json::parse(text.substr(begin), nullptr, false);
  if (!last.is_object()) return {};
  return Record{.earlier = text.substr(0, begin), .last = last};
}

bool is_open(const Json& launch) { return !launch.contains("ended") || launch["ended"].is_null(); }

bool close_last(const std::string& folder, const Json& end, const std::string& how) noexcept try {
  std::optional<Record> record = read_record(folder);
  if (!record || !is_open(record->last)) return true;
  record->last["end"] = end;
  record->last["ended"] = how;
  write_file(path_in(folder), record->earlier + line_of(record->last));
  return true;
} catch (...) {
  return false;
}

}  // namespace

void occupy_standard_files() {
  // open() takes the lowest free descriptor, so closed ones are filled from below.
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

void begin_launch(const std::string& folder, const LaunchStart& launch) {
  Json json = {{"start", utc_now()},        {"host", launch.host},
               {"ranks", launch.ranks},     {"threads", launch.threads},
               {"version", launch.version}, {"command", launch.command}};
  if (launch.resumed_from > 0) json["resumed_from_step"] = launch.resumed_from;
  json["end"] = nullptr;
  json["ended"] = nullptr;
  const std::string path = path_in(folder);
  const OpenFile file = open_own(path, O_WRONLY | O_CREAT | O_APPEND);
  if (bytes_of(file) > kRecordBytesMax) {
    refuse(Exit::kIo, path, ": has ", bytes_of(file), " bytes, at most ", kRecordBytesMax,
           " are read - move it away");
  }
  const int reason = write_all(file, line_of(json));
  if (reason != 0) refuse(Exit::kIo, path, ": could not be written: ", std::strerror(reason));
}

bool end_launch(const std::string& folder, const std::string& how) noexcept {
  return close_last(folder, utc_now(), how);
}

void end_killed_launch(const std::string& folder) noexcept {
  close_last(folder, nullptr, "killed");
}

std::string last_end(const std::string& folder) {
  const std::optional<Record> record = read_record(folder);
  if (!record || is_open(record->last) || !record->last["ended"].is_string()) return "";
  return record->last["ended"];
}

}  // namespace zero::launch
