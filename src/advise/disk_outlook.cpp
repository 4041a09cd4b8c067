#include "zero/advise/disk_outlook.hpp"

#include "zero/base/align.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"

namespace zero::advise {
namespace {

constexpr double kFarLonger = 3, kLeastSeconds = 0.5;

}  // namespace

std::vector<DiskPlace> disk_places(const state::DiskSettings& settings, int64_t rank_bytes,
                                   int node_ranks) {
  std::vector<DiskPlace> places;
  if (rank_bytes == 0) return places;
  const int64_t folders = int64_t(settings.folders.size());
  for (const std::string& folder : settings.folders) {
    places.push_back({.folder = folder,
                      .needed_bytes = node_ranks * ceil_div(rank_bytes, folders),
                      .free_bytes = tiers::free_bytes({folder})});
  }
  return places;
}

double DiskOutlook::step_seconds() const {
  return rates.seconds_of({.read = step.bytes_read, .written = step.bytes_written});
}

std::string outlook_text(const DiskOutlook& outlook) {
  if (outlook.places.empty()) return "";
  std::string out;
  for (const DiskPlace& place : outlook.places) {
    out += text("disk ", place.folder, ": needs ", bytes_text(double(place.needed_bytes)), " of ",
                bytes_text(double(place.free_bytes)), " free; a rank reads ",
                state::rate_text(outlook.rates.read), ", writes ",
                state::rate_text(outlook.rates.write), " (", outlook.rates.source, ")\n");
  }
  return out + text("its transfers take a predicted ", format("%.3g", outlook.step_seconds()),
                    " s of a step: ", bytes_text(double(outlook.step.bytes_read)), " read, ",
                    bytes_text(double(outlook.step.bytes_written)), " written by a rank\n");
}

std::string outlook_warning(const DiskOutlook& outlook, double compute_seconds) {
  if (outlook.places.empty()) return "";
  const double seconds = outlook.step_seconds();
  if (seconds < kFarLonger * compute_seconds || seconds - compute_seconds < kLeastSeconds)
    return "";
  return text("a step's transfers take a predicted ", format("%.3g", seconds), " s in ",
              outlook.places.front().folder, ", its products ", format("%.3g", compute_seconds),
              " s: steps will wait for the disk; zeroapp doctor --nvme ",
              outlook.places.front().folder,
              " looks for faster settings, larger micro-batches or more of them a step hide more");
}

}  // namespace zero::advise
