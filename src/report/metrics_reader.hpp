#pragma once
/// Lines of the files that a run writes: one flat JSON object each.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace zero::report {

/// The most columns of a file. Later names are passed over.
inline constexpr size_t kMostColumns = 64;

/// A value of a line as the file has it.
struct LineValue {
  std::string_view name, text;  ///< without the quotes of a text
  bool is_text = false;
};

/// The values of a line, which outlives them.
using LineValues = std::vector<LineValue>;

/// Reads a flat object of numbers, words and texts without escapes. False for all else.
bool read_line(std::string_view line, LineValues& values);

/// Returns the value of a name, or null.
const LineValue* find_value(const LineValues& values, std::string_view name);
/// Returns the number that a value is, else NaN.
double number_of(const LineValue& value);
/// Returns a number, or NaN if it is absent or null.
double number_in(const LineValues& values, std::string_view name);
/// Returns the step of a line, or -1.
int64_t step_in(const LineValues& values);

/// A line of a file.
struct StepLine {
  int64_t step = 0;
  int64_t offset = 0;  ///< in the file
  std::string_view text;
  const LineValues& values;
};

/// A receiver of the lines of a file.
struct StepLineSink {
  std::function<void(int64_t)> drop_from;  ///< lines of this step and later ones are void
  std::function<void(const StepLine&)> take;
};

/// Reads a file with a line for a step, in one pass. Passes over a last line without its end, which
/// a live run is writing. Returns the number of damaged lines passed over. A missing file has no
/// line. Throws Error(kInput) or Error(kIo) if it cannot be read.
int64_t read_steps(const std::string& path, const StepLineSink& sink);

/// Returns the whole lines in the last `bytes` of a file, or "" without a file.
std::string last_lines(const std::string& path, int64_t bytes);

/// Returns lines without their ends; no empty one.
std::vector<std::string_view> lines_of(std::string_view text);

}  // namespace zero::report
