#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>
#include <vector>

#include "zero/base/error.hpp"
#include "zero/io/files/own_file.hpp"
#include "zero/monitor/run_log.hpp"

namespace zero::monitor {
StepLines::StepLines(const std::string& folder, const char* name, int64_t done, size_t line_bytes)
    : name_(name) {
  const std::string path = folder + "/" + name;
  file_ = open_own(path, O_WRONLY | O_CREAT);
  read_earlier(path, done, line_bytes);
  if (!cut()) refuse(Exit::kIo, path, ": ", std::strerror(errno));
}

/// Stops at an overlong line, which no run wrote.
void StepLines::read_earlier(const std::string& path, int64_t done, size_t line_bytes) {
  constexpr std::string_view kTime = "\"step_ms\": ";
  std::ifstream lines(path);
  std::vector<char> text(line_bytes);
  while (lines.getline(text.data(), text.size()) && !lines.eof()) {
    const std::string_view line = text.data();
    long long step = 0;
    if (std::sscanf(text.data(), "{\"step\": %lld", &step) != 1 || step > done) break;
    bytes_ += lines.gcount();
    earlier_step_ = step;
    const size_t time = line.find(kTime);
    if (time != line.npos) earlier_seconds_ += 1e-3 * std::atof(&line[time + kTime.size()]);
  }
}

bool StepLines::cut() {
  return ftruncate(file_.descriptor(), bytes_) == 0 &&
         lseek(file_.descriptor(), bytes_, SEEK_SET) == bytes_;
}

void StepLines::add(const std::string& line) {
  const int reason = write_all(file_, line);
  if (reason == 0) {
    bytes_ += int64_t(line.size());
    return;
  }
  // Half a line would spoil the next one, for which the disk may have room again.
  const bool is_cut = cut();
  if (std::exchange(warned_, true)) return;
  warn(name_, " lacks steps: ", std::strerror(reason),
       is_cut ? "" : ", and its last line may be cut", "; training goes on");
}

}  // namespace zero::monitor
