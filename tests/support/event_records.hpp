#pragma once
/// A reader of event files, apart from their writer.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace zero::testing_support {

/// A record of an event file.
struct EventRecord {
  double wall_time = 0;
  int64_t step = 0;
  std::string version;
  bool starts_session = false;
  std::map<std::string, float> scalars;
  std::map<std::string, std::string> tensors;  ///< by tag: bytes of metadata and tensor, or of a
                                               ///< histogram
};

/// Reads whole records. Fails the test on a wrong checksum; stops at half a record.
std::vector<EventRecord> read_events(const std::string& path);

/// Returns the event files of a folder, in the order of their names.
std::vector<std::string> event_files(const std::string& folder);

}  // namespace zero::testing_support
