#pragma once

#include <span>
#include <string>

namespace zero::report {

inline constexpr size_t kMostRuns = 12;

/// Returns a page of HTML on the runs in these folders, the first of which it describes whole. It
/// needs no script and fetches nothing. Throws Error(kUsage) for more than kMostRuns, and
/// Error(kInput) for a folder of no run. Every text of a file is escaped.
std::string report_page(std::span<const std::string> runs);

/// Returns the curves of the runs' loss and evaluations alone, as a picture in SVG. Throws
/// likewise.
std::string loss_picture(std::span<const std::string> runs);

/// Writes the page on these runs to the file `path`, or the picture if its name ends with ".svg".
/// Replaces an earlier report. Throws Error(kIo) if another file, or one that cannot be read, has
/// the name or the name with ".tmp".
void write_report(std::span<const std::string> runs, const std::string& path);

}  // namespace zero::report
