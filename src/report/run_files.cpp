#include "src/report/run_files.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "src/report/metrics_reader.hpp"
#include "zero/base/text.hpp"
#include "zero/config/toml.hpp"
#include "zero/io/checkpoint/store.hpp"
#include "zero/io/files/own_file.hpp"

namespace zero::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kMostFileBytes = int64_t(16) << 20;
constexpr double kMostWhole = 9e15;

/// Returns the words of a command as a user types them.
std::string command_of(const Json& launch) {
  std::string words;
  const auto command = launch.find("command");
  if (command == launch.end() || !command->is_array()) return words;
  for (const Json& word : *command) {
    if (word.is_string()) words += (words.empty() ? "" : " ") + word.get<std::string>();
  }
  return words;
}

std::optional<int64_t> written_at(const std::string& path) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) return {};
  return int64_t(facts.st_mtime);
}

/// Returns the words of a line's comment.
std::string origin_in(std::string_view line) {
  const size_t mark = line.rfind("  # ");
  return mark == line.npos ? "" : std::string(line.substr(mark + 4));
}

}  // namespace

nlohmann::ordered_json object_in(const std::string& path) {
  const std::optional<std::string> text = own_text(path, kMostFileBytes);
  if (!text) return {};
  Json json = Json::parse(*text, nullptr, false);
  return json.is_object() ? json : Json();
}

std::string text_in(const Json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  if (!object.is_object() || found == object.end()) return "";
  if (found->is_string()) return found->get<std::string>();
  return found->is_number() ? found->dump() : "";
}

int64_t whole_in(const Json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  if (!object.is_object() || found == object.end() || !found->is_number()) return 0;
  const double number = found->get<double>();
  return std::fabs(number) < kMostWhole ? int64_t(number) : 0;
}

std::vector<LaunchRow> launches_of(const std::string& run, int64_t bytes) {
  std::vector<LaunchRow> rows;
  const std::string record = last_lines(run + "/launches.jsonl", bytes);
  for (const std::string_view line : lines_of(record)) {
    const Json launch = Json::parse(line, nullptr, false);
    if (!launch.is_object()) continue;
    rows.push_back({.start = text_in(launch, "start"),
                    .end = text_in(launch, "end"),
                    .ended = text_in(launch, "ended"),
                    .host = text_in(launch, "host"),
                    .version = text_in(launch, "version"),
                    .job = text_in(launch, "job"),
                    .command = command_of(launch),
                    .ranks = whole_in(launch, "ranks"),
                    .threads = whole_in(launch, "threads"),
                    .from = whole_in(launch, "resumed_from_step")});
  }
  return rows;
}

std::optional<FailureRow> failure_of(const std::string& run) {
  const Json error = object_in(run + "/error.json");
  if (!error.is_object()) return {};
  return FailureRow{.error = text_in(error, "error"),
                    .host = text_in(error, "host"),
                    .blames = text_in(error, "blames"),
                    .what = text_in(error, "what"),
                    .exit = whole_in(error, "exit"),
                    .rank = whole_in(error, "rank"),
                    .step = whole_in(error, "step")};
}

Settings settings_of(const std::string& run) {
  Settings settings;
  const std::optional<std::string> content = own_text(run + "/effective.toml", kTomlMaxBytes);
  if (!content) return settings;
  std::vector<std::string_view> lines;
  for (std::string_view rest = *content; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    lines.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  for (const TomlEntry& entry : parse_toml(*content).entries) {
    const bool is_there = entry.line > 0 && size_t(entry.line) <= lines.size();
    settings[entry.key] = {.value = to_text(entry.value),
                           .origin = is_there ? origin_in(lines[size_t(entry.line) - 1]) : ""};
  }
  return settings;
}

int64_t whole_number(const Settings& settings, const std::string& key, int64_t otherwise) {
  const auto found = settings.find(key);
  if (found == settings.end()) return otherwise;
  char* end = nullptr;
  const long long number = std::strtoll(found->second.value.c_str(), &end, 10);
  return *end == '\0' && end != found->second.value.c_str() ? number : otherwise;
}

std::vector<SaveRow> saves_of(const std::string& run, const Settings& settings) {
  const auto dir = settings.find("checkpoint.dir");
  std::string folder = run + "/checkpoints";
  if (dir != settings.end() && dir->second.value.size() > 2)
    folder = dir->second.value.substr(1, dir->second.value.size() - 2);
  std::vector<SaveRow> saves;
  std::error_code none;
  std::filesystem::directory_iterator entry(folder, none);
  for (; !none && entry != std::filesystem::directory_iterator(); entry.increment(none)) {
    const std::optional<int64_t> step =
        checkpoint::Store::step_in(entry->path().filename().string());
    const auto written = written_at(entry->path().string() + "/MANIFEST.json");
    if (step && written) saves.push_back({.step = *step, .written = *written});
  }
  std::ranges::sort(saves, {}, &SaveRow::step);
  return saves;
}

std::optional<LockHolder> live_holder(const std::string& run) {
  std::optional<LockHolder> holder = lock_holder(run + "/lock");
  return holder && holder->may_live ? holder : std::nullopt;
}

int64_t seconds_of(const std::string& utc) {
  std::tm parts{};
  const char* end = strptime(utc.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return end && *end == '\0' ? int64_t(timegm(&parts)) : 0;
}

int64_t age_of(const std::string& path) {
  const std::optional<int64_t> written = written_at(path);
  return written ? std::max<int64_t>(0, int64_t(std::time(nullptr)) - *written) : -1;
}

}  // namespace zero::report
