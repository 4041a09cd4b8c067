#include "zero/advise/disk_outlook.hpp"

#include "zero/base/align.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"

namespace zero::advise {
namespace {

constexpr double kFarLonger = 3, kLeastSeconds = 0.5;

}  // namespace

std::vector<DiskFolder> disk_folders(const state::DiskHomes& settings, int64_t rank_bytes,
                                     int node_ranks) {
  std::vector<DiskFolder> disks;
  if (rank_bytes == 0) return disks;
  const int64_t folders = int64_t(settings.folders.size());
  for (const std::string& folder : settings.folders) {
    disks.push_back({.folder = folder,
                     .needed_bytes = node_ranks * ceil_div(rank_bytes, folders),
                     .free_bytes = tiers::free_bytes({folder})});
  }
  return disks;
}

double DiskOutlook::step_seconds() const {
  return rates.seconds_of({.read = step.bytes_read, .written = step.bytes_written});
}

std::string outlook_text(const DiskOutlook& outlook) {
  if (outlook.folders.empty()) return "";
  std::string out;
  for (const DiskFolder& disk : outlook.folders) {
    out += text("disk ", disk.folder, ": needs ", bytes_text(double(disk.needed_bytes)), " of ",
                bytes_text(double(disk.free_bytes)), " free; a rank reads ",
                state::rate_text(outlook.rates.read), ", writes ",
                state::rate_text(outlook.rates.write), " (", outlook.rates.source, ")\n");
  }
  return out + text("its transfers take a predicted ", format("%.3g", outlook.step_seconds()),
                    " s of a step: ", bytes_text(double(outlook.step.bytes_read)), " read, ",
                    bytes_text(double(outlook.step.bytes_written)), " written by a rank\n");
}

std::string outlook_warning(const DiskOutlook& outlook, double compute_seconds) {
  if (outlook.folders.empty()) return "";
  const double seconds = outlook.step_seconds();
  if (seconds < kFarLonger * compute_seconds || seconds - compute_seconds < kLeastSeconds)
    return "";
  return text("a step's transfers take a predicted ", format("%.3g", seconds), " s in ",
              outlook.folders.front().folder, ", its products ", format("%.3g", compute_seconds),
              " s: steps will wait for the disk; zeroapp doctor --nvme ",
              outlook.folders.front().folder,
              " looks for faster settings, larger micro-batches or more of them a step hide more");
}

}  // namespace zero::advise
