#include "zero/compile/compile.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <utility>

#include "src/compile/passes.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/config/run_config.hpp"
#include "zero/plan/forecast.hpp"
#include "zero/plan/plan.hpp"

namespace zero::plan {
namespace {

void check_bucket(const char* key, int64_t numel, int ranks) {
  if (numel >= ranks) return;
  refuse_settings({key}, "a bucket of ", counted(numel, "element"), " has not one for each of ",
                  counted(ranks, "rank"), "; write ", ranks, " or more");
}

void check_request(const Request& r) {
  ZERO_REQUIRE(
      r.stage >= 0 && r.stage <= 3 && r.ranks >= 1 && r.micro_batches >= 1 && r.threads >= 1,
      "plan of stage ", r.stage, " on ", r.ranks, " ranks with ", r.micro_batches,
      " micro-batches and ", r.threads, " threads");
  if (r.reproducible && !std::has_single_bit(unsigned(r.ranks))) {
    refuse_settings({"numerics.reproducible"}, "sums are one balanced tree over ranks, so their ",
                    "number must be a power of two and not ", r.ranks, "; start ",
                    std::bit_floor(unsigned(r.ranks)),
                    " ranks or write numerics.reproducible = false");
  }
  const bool may_round = r.compute == Dtype::bf16 && !r.reproducible && !r.gradient_fp32;
  ZERO_REQUIRE(may_round || !r.wire_bf16, "sums are rounded to bf16 for their way in a plan of ",
               name_of(r.compute), r.reproducible ? ", which is reproducible" : "",
               r.gradient_fp32 ? ", whose gradients stay unrounded" : "");
  check_bucket("zero.reduce_bucket_size", r.reduce_bucket_numel, r.ranks);
  check_bucket("zero.allgather_bucket_size", r.gather_bucket_numel, r.ranks);
}

/// Checks that homes are only for sharded states. Otherwise every rank would move the same states
/// or weights.
void check_homes(const Request& r) {
  // The reader of settings refuses both. A search for a change may ask for them.
  if (r.optimizer_home != Tier::device && r.stage < kLeastOffloadStage) {
    refuse(Exit::kUsage, "states on ", name_of(r.optimizer_home), " at stage ", r.stage);
  }
  if (r.weight_home != Tier::device && r.stage != 3) {
    refuse(Exit::kUsage, "weights on ", name_of(r.weight_home), " at stage ", r.stage);
  }
  if (r.weight_home == Tier::nvme && r.has_groups()) {
    refuse_settings({"zero.shard_group", "zero.offload_param.device"},
                    "a rank of a group updates a part of its weights, and a disk moves whole ",
                    "blocks; write offload_param.device = \"cpu\", or shard_group = \"all\"");
  }
  ZERO_REQUIRE(r.device_update_share >= 0 && r.device_update_share <= 1, "a share of ",
               r.device_update_share, " is updated on the device: 0 to 1");
  ZERO_REQUIRE(r.staged_units >= 1 && r.optimizer_share >= 0 && r.optimizer_share <= 1,
               r.staged_units, " staged units and a share of ", r.optimizer_share,
               ": at least 1, and 0 to 1");
  ZERO_REQUIRE(r.speculated_share >= 0 && r.speculated_share <= 1, "a share of ",
               r.speculated_share, " is updated before the norm is known: 0 to 1");
  ZERO_REQUIRE(r.speculated_share == 0 || can_speculate(r), "updates before the norm is known of ",
               r.optimizer.name, " states on ", name_of(r.optimizer_home), " and weights on ",
               name_of(r.weight_home));
  ZERO_REQUIRE(r.staged_activations >= 1, "activations of ", r.staged_activations,
               " blocks on their way: at least 1");
}

void check_safe(const Plan& plan) {
  const std::vector<std::string> findings = verify(plan);
  if (findings.empty()) return;
  std::string all;
  for (const std::string& finding : findings) all += "\n  " + finding;
  refuse(Exit::kInternal, "the plan is unsafe:", all);
}

void run_pass(const Interrupt& interrupt, const std::function<void()>& pass) {
  if (interrupt) interrupt();
  pass();
}

/// Runs the passes behind those that write bodies.
void finish(Plan& plan, const Interrupt& interrupt = {}) {
  for (Body& body : plan.bodies) number_lanes(body);
  pack(plan, interrupt);
  for (Body& body : plan.bodies) {
    run_pass(interrupt, [&] { place_waits(plan, body); });
  }
}

/// Requires equal shapes of the tensors in buffers that two bodies share.
void check_same_state(const graph::Graph& a, const graph::Graph& b) {
  const auto shapes = [](const graph::Graph& graph) {
    std::vector<Shape> list;
    for (const graph::Parameter& parameter : graph.parameters)
      list.push_back(graph[parameter.tensor].shape);
    for (const graph::Tensor& tensor : graph.tensors)
      if (tensor.role == graph::Role::cache) list.push_back(tensor.shape);
    return list;
  };
  ZERO_REQUIRE(shapes(a) == shapes(b),
               "the graphs of a token and of a chunk differ in parameters "
               "or caches");
}

constexpr double kWorthwhile = 1.05;
constexpr double kWorthStreaming = 1.02;
constexpr int kTries = 9;
/// Deeper staging would keep most of the states in the memory that they are to leave.
constexpr double kMostShare = 0.75;

/// A source of forecasts of a request with different depths.
class Depths {
 public:
  Depths(const Request& request, const graph::Graph& training, const Machine& machine)
      : request_(request), training_(training), machine_(machine) {}

  int all() const { return int(training_.unit_names.size()); }

  /// Assumes that reads and writes each take as long as compute.
  void assume_slow_disk() {
    const Forecast made = forecast(plan(all()), machine_);
    const double compute = made.lane_seconds[size_t(Lane::compute)];
    const DiskForecast& disk = made.disk[kStep];
    if (disk.bytes_read > 0) machine_.disk_read_bandwidth = double(disk.bytes_read) / compute;
    if (disk.bytes_written > 0) {
      machine_.disk_write_bandwidth = double(disk.bytes_written) / compute;
    }
  }

  Forecast made_with(int units) const { return forecast(plan(units), machine_); }

 private:
  Plan plan(int units) const {
    Request request = request_;
    request.staged_units = units;
    return compile_unproved(request, training_, {});
  }

  Request request_;
  const graph::Graph& training_;
  Machine machine_;
};

/// A source of forecasts of a request with different shares, in steps of 1 / kDeviceUpdateParts.
class Shares {
 public:
  using Share = double Request::*;

  Shares(const Request& request, const graph::Graph& training, const Machine& machine)
      : request_(request), training_(training), machine_(machine) {}

  const Request& request() const { return request_; }
  void set(Share share, double value) { request_.*share = value; }

  /// Returns the least share of at least `first` parts whose step takes at most 2 % longer than the
  /// best.
  double least_worthwhile(Share share, int first) const {
    std::vector<double> seconds;
    for (int part = first; part <= kDeviceUpdateParts; ++part) {
      seconds.push_back(seconds_with(share, part));
    }
    const double allowed = kWorthStreaming * *std::min_element(seconds.begin(), seconds.end());
    const auto least = std::find_if(seconds.begin(), seconds.end(),
                                    [&](double taken) { return taken <= allowed; });
    return double(first + (least - seconds.begin())) / kDeviceUpdateParts;
  }

  int first_with_a_speculated_unit() const {
    int part = 1;
    const auto has_none = [](const Plan& plan) { return update_sites(plan).speculated == 0; };
    while (part < kDeviceUpdateParts && has_none(plan_with(&Request::speculated_share, part))) {
      ++part;
    }
    return part;
  }

 private:
  double seconds_with(Share share, int part) const {
    const Plan plan = plan_with(share, part);
    const bool wants = plan.request.speculated_share > 0;
    if (wants && update_sites(plan).speculated == 0) return std::numeric_limits<double>::infinity();
    return forecast(plan, machine_).step_seconds;
  }

  Plan plan_with(Share share, int part) const {
    Request tried = request_;
    tried.*share = double(part) / kDeviceUpdateParts;
    return compile_unproved(tried, training_, {});
  }

  Request request_;
  const graph::Graph& training_;
  const Machine& machine_;
};

}  // namespace

Plan compile_unproved(const Request& request, const graph::Graph& training,
                      const graph::Graph& evaluation, const Interrupt& interrupt) {
  check_request(request);
  check_homes(request);
  Plan plan{.request = request, .graphs = {training, evaluation}};
  plan.units = lay_out_units(training, request.groups());
  place_states(plan);
  place_speculation(plan);
  place_copies(plan);
  for (void (*write)(Plan&) :
       {write_step, write_finish, write_evaluate, write_read_ahead, write_audit}) {
    run_pass(interrupt, [&] { write(plan); });
  }
  finish(plan, interrupt);
  return plan;
}

Plan compile(const Request& request, const graph::Graph& training, const graph::Graph& evaluation,
             const Interrupt& interrupt) {
  Plan plan = compile_unproved(request, training, evaluation, interrupt);
  run_pass(interrupt, [&] { check_safe(plan); });
  return plan;
}

void add_forms(Plan& plan, std::array<std::vector<graph::Graph>, 2> shorter) {
  ZERO_REQUIRE(plan.request.activation_home == Tier::device,
               "activations that leave the device do so by the bytes of the longest form");
  plan.shorter = std::move(shorter);
  check_safe(plan);
}

Plan compile_decode(const Request& request, const graph::Graph& token, const graph::Graph& chunk) {
  check_request(request);
  check_homes(request);
  ZERO_REQUIRE(request.stage == 3 || (request.stage == 0 && request.ranks == 1),
               "texts are continued on ", request.ranks, " ranks at stage ", request.stage,
               ": by one rank at stage 0, or by any at stage 3");
  check_same_state(token, chunk);
  Plan plan{.request = request, .graphs = {token, chunk}};
  plan.units = lay_out_units(token, request.groups());
  place_decode_states(plan);
  write_decode(plan);
  write_prefill(plan);
  finish(plan);
  check_safe(plan);
  return plan;
}

int staged_units_for(const Request& request, const graph::Graph& training, const Machine& machine) {
  Depths depths(request, training, machine);
  const bool on_disk = request.optimizer_home == Tier::nvme || request.weight_home == Tier::nvme;
  if (on_disk && !machine.disk_is_measured) depths.assume_slow_disk();
  const int least = std::min(kLeastStagedUnits, depths.all());
  const int more = std::max(least, int(kMostShare * depths.all())) - least;
  const Forecast first = depths.made_with(least);
  std::array<double, kTries> seconds = {first.step_seconds};
  const auto busiest = std::max_element(first.lane_seconds.begin(), first.lane_seconds.end());
  if (first.step_seconds <= kWorthwhile * *busiest) return least;
  const auto units_of = [&](int i) { return least + more * i / (kTries - 1); };
  for (int i = 1; i < kTries; ++i) seconds[size_t(i)] = depths.made_with(units_of(i)).step_seconds;
  const double allowed = kWorthwhile * *std::min_element(seconds.begin(), seconds.end());
  const auto fewest =
      std::find_if(seconds.begin(), seconds.end(), [&](double taken) { return taken <= allowed; });
  return units_of(int(fewest - seconds.begin()));
}

double device_update_share_for(const Request& request, const graph::Graph& training,
                               const Machine& machine) {
  if (request.optimizer_home == Tier::device || !machine.has_memory) return 0;
  return Shares(request, training, machine).least_worthwhile(&Request::device_update_share, 0);
}

bool can_speculate(const Request& request) {
  return request.optimizer_home == Tier::host && request.weight_home == Tier::device &&
         !request.optimizer.needs_norms();
}

UpdateShares speculated_shares_for(const Request& request, const graph::Graph& training,
                                   const Machine& machine) {
  if (!can_speculate(request)) return {};
  Shares shares(request, training, machine);
  shares.set(&Request::device_update_share, 0);
  const int least = shares.first_with_a_speculated_unit();
  for (int turn = 0; turn < 2; ++turn) {
    shares.set(&Request::speculated_share,
               shares.least_worthwhile(&Request::speculated_share, least));
    if (!machine.has_memory) break;
    shares.set(&Request::device_update_share,
               shares.least_worthwhile(&Request::device_update_share, 0));
  }
  return {.on_device = shares.request().device_update_share,
          .speculated = shares.request().speculated_share};
}

}  // namespace zero::plan
