#include "zero/launch/launch_record.hpp"

#include <fcntl.h>

#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>

#include "zero/base/error.hpp"
#include "zero/io/files/open_file.hpp"
#include "zero/io/files/own_file.hpp"

namespace zero::launch {
namespace {

using Json = nlohmann::ordered_json;

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
  replace_own(path_in(folder), record->earlier + line_of(record->last));
  return true;
} catch (...) {
  return false;
}

}  // namespace

void begin_launch(const std::string& folder, const LaunchStart& launch) {
  Json json = {{"start", utc_now()},        {"host", launch.host},
               {"ranks", launch.ranks},     {"threads", launch.threads},
               {"version", launch.version}, {"command", launch.command}};
  if (launch.resumed_from > 0) json["resumed_from_step"] = launch.resumed_from;
  if (!launch.job.empty()) json["job"] = launch.job;
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
