#include <algorithm>
#include <utility>

#include "zero/base/text.hpp"
#include "zero/state/disk.hpp"

namespace zero::state {
namespace {

/// Between two looks; more says that this process was stopped, not its disk.
constexpr double kMostSeconds = 0.5;

bool is_known(const DiskRates& rates) { return rates.read > 0 && rates.write > 0; }

}  // namespace

std::string rate_text(double bytes_per_second) { return bytes_text(bytes_per_second) + "/s"; }

DiskPace::DiskPace(std::string place, DiskRates expected)
    : place_(std::move(place)), expected_(std::move(expected)) {}

void DiskPace::expect(const DiskRates& rates) {
  const std::lock_guard lock(mutex_);
  expected_ = rates;
  seen_seconds_ = -1;
  moving_seconds_ = 0;
}

std::string DiskPace::look(double now_seconds, bool is_moving, const DiskBytes& moved) {
  const std::lock_guard lock(mutex_);
  const double before = std::exchange(seen_seconds_, now_seconds);
  if (before < 0) begun_ = moved;
  if (before >= 0 && is_moving) moving_seconds_ += std::min(now_seconds - before, kMostSeconds);
  if (moving_seconds_ < kJudgedSeconds || warned_ || !is_known(expected_)) return "";
  const DiskBytes bytes = moved - begun_;
  warned_ = moving_seconds_ > expected_.slack * expected_.seconds_of(bytes);
  const std::string said = warned_ ? warning(bytes) : "";
  moving_seconds_ = 0;
  begun_ = moved;
  return said;
}

std::string DiskPace::warning(const DiskBytes& bytes) const {
  const double sum = double(bytes.sum()), seconds = expected_.seconds_of(bytes);
  const double rate = seconds > 0 ? sum / seconds : expected_.write;
  return text(place_, " is slow: ", rate_text(sum / moving_seconds_), " over the last ",
              format("%.0f s", moving_seconds_), " of its transfers, ", rate_text(rate),
              " expected (", expected_.source, "); training goes on at its pace");
}

}  // namespace zero::state
