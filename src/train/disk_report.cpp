#include "src/train/summary.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"

namespace zero::train {
namespace {

state::DiskBytes planned_bytes(const state::Engine& engine, const plan::Forecast& forecast) {
  state::DiskBytes sum;
  for (int body = 0; body < plan::kBodies; ++body) {
    const plan::DiskForecast& row = forecast.disk[size_t(body)];
    const int64_t times = engine.runs(plan::BodyId(body)) * engine.plan().request.ranks;
    sum.add({.read = times * row.bytes_read, .written = times * row.bytes_written});
  }
  return sum;
}

state::DiskBytes sum_of(const launch::Peers& peers, const state::DiskBytes& own) {
  return {.read = int64_t(peers.sum(double(own.read))),
          .written = int64_t(peers.sum(double(own.written)))};
}

std::string read_and_written(const state::DiskBytes& bytes) {
  return text("read ", bytes_text(double(bytes.read)), ", written ",
              bytes_text(double(bytes.written)));
}

}  // namespace

DiskReport disk_report(const launch::Peers& peers, const state::Engine& engine,
                       const plan::Forecast& forecast) {
  if (forecast.arena_bytes[size_t(plan::Tier::nvme)] == 0) return {};
  const state::Engine::DiskTraffic own = engine.disk_traffic();
  return {.planned = planned_bytes(engine, forecast),
          .steps = sum_of(peers, own.bodies),
          .all = sum_of(peers, own.all),
          .kernel = sum_of(peers, own.kernel)};
}

std::string disk_text(const DiskReport& report, double seconds) {
  if (report.all.written == 0) return "";
  return text("disk in steps: ", read_and_written(report.steps),
              ", planned: ", read_and_written(report.planned), "; ",
              bytes_text(double(state::a_day(report.steps.written, seconds))),
              " written a day at this speed\n");
}

}  // namespace zero::train
