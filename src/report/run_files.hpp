#pragma once
/// The state of a run by its small files: launches, the last error, saves, settings.

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "zero/io/files/lock_file.hpp"

namespace zero::report {

/// A line of launches.jsonl.
struct LaunchRow {
  std::string start, end;  ///< UTC, "2026-11-29T05:55:31Z"; "" = none
  std::string ended;       ///< "finished step 600 of 600"; "" = no end on record
  std::string host, version, job, command;
  int64_t ranks = 0, threads = 0, from = 0;  ///< `from`: step that it goes on from; 0 = a new run
};

/// The record in error.json.
struct FailureRow {
  std::string error, host, blames, what;
  int64_t exit = 0, rank = 0, step = 0;
};

/// The value and the origin of a setting in effective.toml.
struct Setting {
  std::string value, origin;
};
using Settings = std::map<std::string, Setting>;

/// A published checkpoint.
struct SaveRow {
  int64_t step = 0;
  int64_t written = 0;  ///< seconds since 1970
};

/// Returns the launches in the last `bytes` of the record, oldest first. Leaves damaged lines out.
std::vector<LaunchRow> launches_of(const std::string& run, int64_t bytes);

/// Returns the record of the newest failure, if any. It bears no time, but a launch that begins
/// removes it, so it is of the last launch or of a later start.
std::optional<FailureRow> failure_of(const std::string& run);

/// Returns the settings, none without a file.
Settings settings_of(const std::string& run);
/// Returns a setting that is a whole number, or `otherwise`.
int64_t whole_number(const Settings& settings, const std::string& key, int64_t otherwise);

/// Returns the checkpoints with a manifest, by their folders' names, oldest step first. Reads none
/// of them.
std::vector<SaveRow> saves_of(const std::string& run, const Settings& settings);

/// Returns the process that may live in the folder, if any.
std::optional<LockHolder> live_holder(const std::string& run);

/// Returns the JSON object of a file of at most 16 MiB; a null value if there is none.
nlohmann::ordered_json object_in(const std::string& path);

/// Returns a member of an object as text: the text itself, the digits of a number, else "".
std::string text_in(const nlohmann::ordered_json& object, const char* name);
int64_t whole_in(const nlohmann::ordered_json& object, const char* name);

/// Returns the seconds since 1970 of "2026-11-29T05:55:31Z", or 0.
int64_t seconds_of(const std::string& utc);

/// Returns the seconds since a file was written, or -1 without one.
int64_t age_of(const std::string& path);

}  // namespace zero::report
