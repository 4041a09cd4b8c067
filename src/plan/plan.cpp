#include "zero/plan/plan.hpp"

#include <algorithm>
#include <bit>

#include "zero/base/align.hpp"
#include "zero/base/digests.hpp"
#include "zero/graph/operation.hpp"

namespace zero::plan {

const char* name_of(Lane lane) {
  static constexpr const char* kNames[] = {"compute",   "gather",     "reduce",
                                           "small",     "h2d",        "d2h",
                                           "disk read", "disk write", "host optimizer"};
  static_assert(std::size(kNames) == size_t(kLanes));
  return kNames[size_t(lane)];
}

const char* name_of(Tier tier) {
  static constexpr const char* kNames[] = {"device", "host", "nvme"};
  return kNames[size_t(tier)];
}

const char* name_of(Use use) {
  static constexpr const char* kNames[] = {
      "weights",      "gradients",   "optimizer state",   "gathered weights", "gradient buckets",
      "partial sums", "activations", "scratch",           "step data",        "key-value cache",
      "constants",    "staging",     "speculated updates"};
  return kNames[size_t(use)];
}

const char* name_of(Team team) {
  static constexpr const char* kNames[] = {"all ranks", "a group", "across groups"};
  static_assert(std::size(kNames) == size_t(kTeams));
  return kNames[size_t(team)];
}

bool Request::crosses_once() const {
  return has_groups() && (!reproducible || std::has_single_bit(unsigned(micro_batches)));
}

int64_t Request::number_of(int64_t micro_batch, int rank) const {
  if (!reproducible || !crosses_once()) return micro_batch * ranks + rank;
  const Groups cut = groups();
  const int64_t before = cut.part(Team::group, rank) * int64_t(micro_batches) + micro_batch;
  return before * cut.group_ranks + cut.place(Team::group, rank);
}

const char* name_of(Kind kind) {
  static constexpr const char* kNames[] = {
      "compute",   "decide",    "update",         "add_norms",      "apply_norms",
      "speculate", "settle",    "sum_of_squares", "accumulate",     "carry",
      "round_sum", "clear",     "all_gather",     "reduce_scatter", "all_reduce",
      "copy",      "disk_read", "disk_write",     "digest"};
  static_assert(std::size(kNames) == size_t(Kind::count_));
  return kNames[size_t(kind)];
}

const char* name_of(Kind kind, const OptimizerForm& optimizer) {
  if (!is_update(kind) || has_second(kind)) return name_of(kind);
  return optimizer.ops[kind == Kind::apply_norms ? 1 : 0];
}

bool is_update(Kind kind) {
  return kind == Kind::update || kind == Kind::add_norms || kind == Kind::apply_norms ||
         has_second(kind);
}

bool has_second(Kind kind) { return kind == Kind::speculate || kind == Kind::settle; }

bool is_collective(Kind kind) {
  return kind == Kind::all_gather || kind == Kind::reduce_scatter || kind == Kind::all_reduce;
}

Stretch disk_staging(const Plan& plan) {
  Stretch staging{.begin = plan.arena_bytes[size_t(Tier::host)], .end = 0};
  const auto cover = [&](int32_t index) {
    const Buffer& buffer = plan.buffers[size_t(index)];
    if (buffer.tier != Tier::host) return;
    staging.begin = std::min(staging.begin, buffer.offset);
    staging.end = std::max(staging.end, buffer.offset + buffer.bytes);
  };
  if (plan.disk_window >= 0) cover(plan.disk_window);
  for (const Body& body : plan.bodies) {
    for (const PlanOp& op : body.ops) {
      if (op.kind != Kind::disk_read && op.kind != Kind::disk_write) continue;
      for (const Operand& operand : op.operands) cover(operand.buffer);
    }
  }
  return staging.begin < staging.end ? staging : Stretch{};
}

Stretch free_between_bodies(const Plan& plan) {
  Stretch free{.begin = 0, .end = plan.arena_bytes[size_t(Tier::device)]};
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.persistent && buffer.tier == Tier::device)
      free.begin = std::max(free.begin, buffer.offset + buffer.bytes);
  }
  free.begin = std::min(round_up(free.begin, kPageBytes), free.end);
  return free;
}

UpdateSites update_sites(const Plan& plan) {
  UpdateSites sites;
  for (const Unit& unit : plan.units) {
    if (unit.optimizer_home == Tier::device) continue;
    ++(unit.updated_on_device ? sites.on_device : sites.on_host);
    sites.speculated += unit.is_speculated();
  }
  return sites;
}

bool is_disk_transfer(Kind kind) { return kind == Kind::disk_read || kind == Kind::disk_write; }

std::string unit_name(const Plan& plan, const Body& body, const PlanOp& op) {
  if (op.unit >= 0) return plan.units.at(size_t(op.unit)).name;
  if (op.graph_op < 0) return "";
  const graph::Graph& graph = plan.graphs.at(size_t(body.graph));
  return graph.unit_names.at(size_t(graph.ops.at(size_t(op.graph_op)).unit));
}

int64_t stored_tensors(const graph::Graph& graph, const Unit& unit) {
  int64_t tensors = 0;
  for (const UnitParameter& place : unit.parameters)
    tensors += int64_t(graph.parameters.at(size_t(place.parameter)).stored.names.size());
  return tensors;
}

bool is_transfer(Kind kind) { return kind == Kind::copy || is_disk_transfer(kind); }

namespace {

/// An FNV-1a hash of a plan's numbers.
class Digest {
 public:
  template <class T>
  void add(T value) {
    uint64_t word = 0;
    if constexpr (std::is_floating_point_v<T>) {
      word = std::bit_cast<uint64_t>(double(value));
    } else {
      word = uint64_t(value);
    }
    for (int byte = 0; byte < 8; ++byte) {
      hash_ = (hash_ ^ ((word >> (8 * byte)) & 0xff)) * 0x100000001b3u;
    }
  }
  void add_name(std::string_view name) {
    for (char letter : name) add(uint64_t(uint8_t(letter)));
    add(name.size());
  }
  uint64_t value() const { return hash_; }

 private:
  uint64_t hash_ = 0xcbf29ce484222325u;
};

void add(Digest& digest, const Operand& operand) {
  digest.add(operand.buffer);
  digest.add(operand.offset);
  digest.add(operand.bytes);
  digest.add(int(operand.mode));
  digest.add(int(operand.sharded) + 2 * int(operand.team));
  digest.add(operand.stride);
}

void add(Digest& digest, const PlanOp& op) {
  for (int number : {int(op.kind), int(op.lane), int(op.unit), int(op.graph_op), int(op.micro),
                     int(op.in), int(op.out), int(op.round_gradient),
                     int(op.add) + 2 * int(op.sums) + 4 * int(op.counts) + 8 * int(op.team)}) {
    digest.add(number);
  }
  for (int64_t number : {op.shard_numel, op.piece_begin, op.piece_numel}) digest.add(number);
  for (const Operand& operand : op.operands) add(digest, operand);
  for (const Wait& wait : op.waits) {
    digest.add(int(wait.lane));
    digest.add(wait.count);
  }
  for (const int32_t buffer : op.anew) digest.add(buffer);
}

void add(Digest& digest, const graph::Op& op) {
  digest.add_name(op.kind->name);
  // A plan's hash counts at least eight numbers per op, padded with zeros. Zeros at the end beyond
  // those do not count, so a new setting at zero leaves the hash alone.
  constexpr size_t kLeast = 8;
  std::span<const uint64_t> words = op.attributes.words();
  while (words.size() > kLeast && words.back() == 0) words = words.first(words.size() - 1);
  for (const uint64_t number : words) digest.add(number);
  for (size_t i = words.size(); i < kLeast; ++i) digest.add(uint64_t(0));
}

/// Adds a form. Forms differ in the extents of their tensors.
void add_form(Digest& digest, const graph::Graph& graph) {
  for (const graph::Op& op : graph.ops) add(digest, op);
  for (const graph::Tensor& tensor : graph.tensors) digest.add(tensor.bytes());
}

void add(Digest& digest, const Unit& unit) {
  digest.add_name(unit.name);
  digest.add(unit.numel);
  for (const UnitParameter& place : unit.parameters) {
    digest.add(place.begin);
    digest.add(place.numel);
  }
}

}  // namespace

const InputBuffer& Plan::input(int32_t graph, std::string_view name) const {
  for (const InputBuffer& input : inputs) {
    if (input.graph == graph && input.name == name) return input;
  }
  ZERO_REQUIRE(false, "graph ", graph, " of the plan has no input ", name);
}

const InputBuffer& Plan::input(int32_t graph, graph::FilledBy filled_by) const {
  const InputBuffer* only = nullptr;
  for (const InputBuffer& input : inputs) {
    if (input.graph != graph || input.filled_by != filled_by) continue;
    ZERO_REQUIRE(only == nullptr, "graph ", graph, " has not one such input: ", input.name);
    only = &input;
  }
  ZERO_REQUIRE(only != nullptr, "graph ", graph, " of the plan has no input filled so");
  return *only;
}

int32_t Plan::output(int32_t graph, std::string_view name) const {
  for (const OutputBuffer& output : outputs) {
    if (output.graph == graph && output.name == name) return output.buffer;
  }
  ZERO_REQUIRE(false, "graph ", graph, " of the plan has no output ", name);
}

uint64_t Plan::hash() const {
  Digest digest;
  digest.add(request.weight_decay);
  for (int number : {request.stage, request.ranks, request.micro_batches, int(request.compute),
                     request.threads}) {
    digest.add(number);
  }
  digest.add_name(request.optimizer.name);
  for (const OptimizerState& state : request.optimizer.states) digest.add_name(state.name);
  for (const graph::Graph& graph : graphs) {
    for (const graph::Op& op : graph.ops) add(digest, op);
  }
  for (const std::vector<graph::Graph>& forms : shorter) {
    for (const graph::Graph& graph : forms) add_form(digest, graph);
  }
  for (const Unit& unit : units) add(digest, unit);
  for (const Buffer& buffer : buffers) {
    digest.add(buffer.bytes);
    digest.add(buffer.offset);
    digest.add(int(buffer.persistent) + 2 * int(buffer.tier));
    digest.add(buffer.copy_of);
    digest.add(buffer.twin);
    digest.add(buffer.turns);
  }
  for (const std::vector<int32_t>& slots : counters) {
    for (const int32_t slot : slots) digest.add(slot);
  }
  for (const Body& body : bodies) {
    for (const PlanOp& op : body.ops) add(digest, op);
    for (int64_t number : {int64_t(body.loop.begin), int64_t(body.loop.end), body.loop.rounds,
                           int64_t(body.loop.micro_batches)}) {
      digest.add(number);
    }
  }
  for (int64_t bytes : arena_bytes) digest.add(bytes);
  write_constants(*this, [&](int32_t buffer, std::span<const std::byte> values) {
    digest.add(buffer);
    for (const uint8_t byte : xxh3_of(values)) digest.add(byte);
  });
  return digest.value();
}

void write_constants(const Plan& plan,
                     const std::function<void(int32_t, std::span<const std::byte>)>& write) {
  for (auto it = plan.constants.begin(); it != plan.constants.end(); ++it) {
    const auto is_same = [&](const ConstantBuffer& other) { return other.buffer == it->buffer; };
    if (std::any_of(plan.constants.begin(), it, is_same)) continue;
    const graph::Graph& graph = plan.graphs.at(size_t(it->graph));
    write(it->buffer, std::as_bytes(std::span(*graph.constants.at(size_t(it->index)).values)));
  }
}

}  // namespace zero::plan
