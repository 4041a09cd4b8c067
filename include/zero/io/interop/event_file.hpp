#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace zero {

/// A setting of a run, as TensorBoard lists it.
using HyperParameter = std::pair<std::string, std::variant<bool, double, std::string>>;

/// The end of a session, as TensorBoard numbers it.
enum class SessionStatus : int { success = 1, failure = 2 };

/// Appends `data` to the bytes `file` of an event file, as a record: its length, its bytes, and a
/// checksum of each.
void append_event_record(std::string& file, std::string_view data);

/// An event file, which TensorBoard shows while a launch writes it. Each record is appended by one
/// write. Readers pass over half a record at the end of a file.
class EventFile {
 public:
  /// Makes a file in `folder` for a launch. Its name sorts behind those of all event files there,
  /// as readers take them by name. Writes that the launch begins with step `first`; readers then
  /// drop that step and later ones of earlier files. Throws Error(kIo).
  EventFile(const std::string& folder, int64_t first);
  ~EventFile();

  // Each adds a curve's value, the spread of finite values, a text, or a launch's settings and end
  // to the next record.
  void scalar(std::string_view tag, double value);
  void histogram(std::string_view tag, std::span<const double> values);
  void text(std::string_view tag, std::string_view markdown);
  void begin_session(const std::string& name, const std::vector<HyperParameter>& settings);
  void end_session(SessionStatus status);

  /// Appends what was added as the record of `step`. Returns 0 or an errno, upon which the file
  /// ends with its last whole record. Allocates nothing for at most 32 scalars of short names.
  int write(int64_t step);

  const std::string& path() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace zero
