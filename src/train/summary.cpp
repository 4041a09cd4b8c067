#include "src/train/summary.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/kernels/attention.hpp"
#include "zero/kernels/product.hpp"
#include "zero/state/state_view.hpp"

namespace zero::train {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kTiers[] = {"device", "host", "nvme"};

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

/// The least, mean and most of one number over ranks.
struct Spread {
  double least = 0, sum = 0, most = 0;
  int count = 0;

  void add(double value) {
    least = count == 0 ? value : std::min(least, value);
    most = count == 0 ? value : std::max(most, value);
    sum += value;
    ++count;
  }
  Json json() const { return {{"min", least}, {"mean", sum / count}, {"max", most}}; }
};

Json disk_json(const state::DiskBytes& bytes) {
  return {{"read_bytes", bytes.read}, {"written_bytes", bytes.written}};
}

/// Returns this rank's own figures as text for rank 0.
std::string own_report(const SummaryParts& parts) {
  Json json = {{"pss", parts.peak_pss_bytes}, {"used_before", parts.engine.device_bytes_before()}};
  for (size_t tier = 0; tier < plan::kTiers; ++tier) {
    const Arena& arena = parts.engine.executor().buffers().arena(plan::Tier(tier));
    json["resident"][kTiers[tier]] = arena.bytes() > 0 ? arena.resident_bytes() : 0;
  }
  for (const run::Executor::Profile& line : parts.engine.executor().profile()) {
    json["regions"][line.name] = {line.seconds, line.calls};
  }
  const state::LaneUses lanes = parts.engine.lanes();
  for (size_t lane = 0; lane < lanes.size(); ++lane) {
    const state::LaneUse& use = lanes[lane];
    json["lanes"][plan::name_of(plan::Lane(lane))] = {{"busy_seconds", use.busy_seconds},
                                                      {"waited_seconds", use.waited_seconds},
                                                      {"bytes", use.bytes},
                                                      {"bytes_per_second", use.rate()}};
  }
  const run::PhaseSeconds phases = parts.engine.executor().phase_seconds();
  for (size_t phase = 0; phase < phases.size(); ++phase) {
    json["phases"][run::name_of(run::Phase(phase))] = phases[phase];
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json region_table(const std::vector<Json>& ranks) {
  std::map<std::string, std::pair<Spread, int64_t>> regions;
  for (const Json& rank : ranks) {
    for (const auto& [name, line] : rank["regions"].items()) {
      regions[name].first.add(line[0].get<double>());
      regions[name].second = line[1].get<int64_t>();
    }
  }
  Json json = Json::object();
  for (const auto& [name, region] : regions) {
    json[name] = region.first.json();
    json[name]["calls"] = region.second;
  }
  return json;
}

/// Returns busy and waiting seconds, bytes and bytes a busy second of every lane that has worked.
Json lane_json(const std::vector<Json>& ranks) {
  Json json = Json::object();
  for (const auto& [lane, line] : ranks.front()["lanes"].items()) {
    const auto has_worked = [&](const Json& rank) {
      return rank["lanes"][lane]["busy_seconds"] > 0;
    };
    if (std::ranges::none_of(ranks, has_worked)) continue;
    for (const auto& [name, value] : line.items()) {
      Spread spread;
      for (const Json& rank : ranks) spread.add(rank["lanes"][lane][name].get<double>());
      json[lane][name] = spread.json();
    }
  }
  return json;
}

/// Returns the seconds of every phase, evaluations under "none".
Json phase_table(const std::vector<Json>& ranks) {
  Json json = Json::object();
  for (const auto& [name, seconds] : ranks.front()["phases"].items()) {
    Spread spread;
    for (const Json& rank : ranks) spread.add(rank["phases"][name].get<double>());
    json[name] = spread.json();
  }
  return json;
}

/// Returns the bytes in use on the ranks' devices before their arenas; null on a host build.
Json used_before_json(const std::vector<Json>& ranks) {
  Spread used;
  for (const Json& rank : ranks) used.add(rank["used_before"].get<double>());
  return used.least < 0 ? Json() : used.json();
}

Json memory_json(const SummaryParts& parts, const std::vector<Json>& ranks) {
  Json json;
  for (size_t tier = 0; tier < plan::kTiers; ++tier) {
    Spread resident;
    for (const Json& rank : ranks) resident.add(rank["resident"][kTiers[tier]].get<double>());
    const bool on_disk = plan::Tier(tier) == plan::Tier::nvme;
    const setup::Build& build = *parts.plan.build;
    json[kTiers[tier]] = {
        {"planned_bytes", on_disk ? build.disk_bytes() : build.plan.arena_bytes[tier]},
        {"allocated_bytes", parts.engine.allocated_bytes(plan::Tier(tier))},
        {"resident_bytes", resident.json()}};
  }
  json["device"]["used_before_bytes"] = used_before_json(ranks);
  Spread pss;
  for (const Json& rank : ranks) pss.add(rank["pss"].get<double>());
  json["peak_pss_bytes"] = pss.json();
  return json;
}

Json counts_json(const plan::CollectiveForecast& row) {
  return {{"calls", row.calls},
          {"elements", row.elements},
          {"bytes", row.bytes},
          {"node_bytes", row.node_bytes}};
}

/// Returns the planned traffic of the bodies that ran, texts included.
plan::CollectiveForecasts planned_traffic(const SummaryParts& parts) {
  plan::CollectiveForecasts sum = parts.engine.planned_of_texts();
  for (int body = 0; body < plan::kBodies; ++body) {
    const int64_t runs = parts.engine.runs(plan::BodyId(body));
    plan::add(sum, parts.plan.forecast.collectives[size_t(body)], runs);
  }
  return sum;
}

Json traffic_json(const SummaryParts& parts) {
  const comm::TrafficTable table = parts.engine.traffic();
  const std::pair<const char*, comm::Traffic> rows[] = {{"all_gather", table.all_gather},
                                                        {"reduce_scatter", table.reduce_scatter},
                                                        {"all_reduce", table.all_reduce}};
  const plan::CollectiveForecasts planned = planned_traffic(parts);
  Json json;
  for (size_t verb = 0; verb < std::size(rows); ++verb) {
    const auto& [name, sent] = rows[verb];
    json[name] =
        counts_json({sent.calls, sent.elements_sent, sent.bytes_sent, sent.node_bytes_sent});
    json[name]["forecast"] = counts_json(planned[verb]);
  }
  return json;
}

Json disk_table(const SummaryParts& parts, const DiskReport& disk) {
  Json json = Json::object();
  if (disk.all.written == 0) return json;
  json["steps"] = disk_json(disk.steps);
  json["steps"]["forecast"] = disk_json(disk.planned);
  json["all"] = disk_json(disk.all);
  json["kernel"] = disk_json(disk.kernel);
  json["written_bytes_a_day"] = state::a_day(disk.steps.written, parts.train_seconds);
  return json;
}

Json head_json(const SummaryParts& parts) {
  const plan::Request& request = parts.engine.plan().request;
  const BatchSizes& batch = parts.plan.build->batch;
  return {{"version", parts.version},
          {"ranks", request.ranks},
          {"threads", request.threads},
          {"stage", request.stage},
          {"compute", name_of(request.compute)},
          {"homes",
           {{"optimizer", plan::name_of(request.optimizer_home)},
            {"optimizer_share", request.optimizer_share},
            {"parameters", plan::name_of(request.weight_home)}}},
          {"reproducible", request.reproducible},
          {"communicator", parts.engine.backend()},
          {"libraries",
           {{"products", kernels::product_library()}, {"attention", kernels::attention_library()}}},
          {"parameters", model::parameter_count(parts.plan.build->recipe)},
          {"batch",
           {{"train", batch.train}, {"micro", batch.micro}, {"accumulation", batch.accumulation}}},
          {"steps", parts.outcome.steps},
          {"stopped", !parts.outcome.stopped_by.empty()},
          {"stopped_by", parts.outcome.stopped_by},
          {"updates", parts.engine.state().updates},
          {"spikes", parts.engine.spikes().content().spikes},
          {"train_seconds", parts.earlier_seconds + parts.train_seconds},
          {"launch",
           {{"first_step", parts.done + 1},
            {"start_seconds", parts.start_seconds},
            {"train_seconds", parts.train_seconds},
            {"eval_seconds", parts.evaluation_seconds}}}};
}

/// Returns the times of a step as they were forecast.
Json forecast_json(const plan::Forecast& forecast) {
  Json json = {{"step_seconds", forecast.step_seconds},
               {"exposed_seconds", forecast.exposed_seconds}};
  for (size_t lane = 0; lane < forecast.lane_seconds.size(); ++lane) {
    json["lane_seconds"][plan::name_of(plan::Lane(lane))] = forecast.lane_seconds[lane];
  }
  return json;
}

/// The hashes of the state; null if left out.
struct StateHashes {
  Json sha256, xxh3;
};

/// True if a signal has ended the run, whose sender may kill all ranks seconds later. One rank
/// hashes all of the state by SHA-256, which takes longer than a save.
bool is_in_a_hurry(const SummaryParts& parts) {
  return parts.outcome.stopped_by.starts_with("SIG");
}

StateHashes hashes_of(const SummaryParts& parts) {
  if (!parts.hashes_state) return {};
  const state::StateView view = parts.engine.view();
  const launch::Peers& peers = parts.session.peers();
  StateHashes hashes{.sha256 = {}, .xxh3 = state::state_xxh3(view, peers, parts.session.threads())};
  if (!is_in_a_hurry(parts)) hashes.sha256 = state::state_sha256(view, peers);
  return hashes;
}

}  // namespace

std::string region_table(std::span<const run::Executor::Profile> regions, int64_t steps) {
  std::vector<run::Executor::Profile> sorted(regions.begin(), regions.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  double busy = 0;
  for (const auto& region : sorted) busy += region.seconds;
  std::string out =
      "time of each region a step on rank 0, with evaluations; lanes run beside each other\n";
  for (const auto& region : sorted) {
    append(out, "  %-20s %10.3f ms %5.1f %%  %.1f calls\n", region.name,
           1e3 * region.seconds / double(steps), 100 * region.seconds / busy,
           double(region.calls) / double(steps));
  }
  return out;
}

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

// Uses no stream, because a step calls it and may not allocate.
int64_t proportional_set_bytes() {
  const int file = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  std::array<char, 4096> text{};
  const ssize_t bytes = read(file, text.data(), text.size() - 1);
  close(file);
  const char* line = bytes > 0 ? std::strstr(text.data(), "\nPss:") : nullptr;
  return line ? 1024 * std::atoll(line + std::strlen("\nPss:")) : 0;
}

void add_evaluation(Json& json, const state::Evaluation& evaluation) {
  json["eval_loss"] = evaluation.loss;
  json["eval_step"] = evaluation.step;
  json[text("eval_", evaluation.counted_by, "s")] = evaluation.counted;
  for (const auto& [metric, value] : evaluation.metrics) json[text("eval_", metric->name)] = value;
  if (evaluation.texts > 0) json["eval_texts"] = evaluation.texts;
}

std::string summary_json(const SummaryParts& parts) {
  const std::vector<std::string> texts = parts.session.peers().gather(own_report(parts));
  const StateHashes hashes = hashes_of(parts);
  const DiskReport disk = disk_report(parts.session.peers(), parts.engine, parts.plan.forecast);
  if (!parts.session.is_first()) return "";
  std::vector<Json> ranks;
  for (const std::string& text : texts) ranks.push_back(Json::parse(text));
  Json json = head_json(parts);
  json["eval_loss"] = nullptr;
  if (parts.outcome.evaluation) add_evaluation(json, *parts.outcome.evaluation);
  json["state_sha256"] = hashes.sha256;
  if (parts.hashes_state && is_in_a_hurry(parts)) {
    json["state_sha256_left_out"] =
        text("it takes long, and the sender of ", parts.outcome.stopped_by, " may not wait");
  }
  json["state_xxh3"] = hashes.xxh3;
  json["peak_flops"] = parts.peak_flops > 0 ? Json(parts.peak_flops) : Json();
  json["flops_per_unit"] = parts.flops_per_unit;
  json["forecast"] = forecast_json(parts.plan.forecast);
  json["memory"] = memory_json(parts, ranks);
  json["sent"] = traffic_json(parts);
  json["disk"] = disk_table(parts, disk);
  json["lanes"] = lane_json(ranks);
  json["phases"] = phase_table(ranks);
  json["regions"] = region_table(ranks);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace zero::train
