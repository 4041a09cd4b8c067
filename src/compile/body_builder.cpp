#include "src/compile/body_builder.hpp"

#include <algorithm>

#include "src/compile/body_writer.hpp"
#include "src/compile/passes.hpp"

namespace zero::plan {
namespace {

/// A writer that issues units ahead of their use. It updates this rank's part, fetches it from its
/// home and gathers the whole unit.
class UnitFeed {
 public:
  /// `updater` is null if the body updates nothing.
  UnitFeed(BodyWriter& writer, ComputeWriter& compute, std::vector<Gather> gathers,
           Updater* updater)
      : writer_(writer), compute_(compute), updater_(updater), gathers_(std::move(gathers)) {
    updated_.assign(writer.plan().units.size(), false);
    buffers_.resize(gathers_.size(), -1);
  }

  /// Issues all that must be issued before the op at `position`.
  void reach(int32_t position) {
    for (; issued_ < gathers_.size() && gathers_[issued_].ahead <= position; ++issued_) issue();
    for (; begun_ < gathers_.size() && gathers_[begun_].first <= position; ++begun_) {
      const int32_t unit = gathers_[begun_].unit;
      if (writer_.unit(unit).is_fetched()) compute_.set_weights(unit, buffers_[begun_]);
    }
  }

  void spread() {
    if (writer_.request().overlap) slack_.apply(writer_.body().ops);
  }

 private:
  void issue() {
    const int32_t u = gathers_[issued_].unit;
    const Operand weight = weight_of(u);
    if (!writer_.unit(u).is_fetched()) return;
    const bool moves = writer_.tier_of(weight) != Tier::device;
    if (moves) slack_.begin(writer_.size());
    buffers_[issued_] = fetch(u, weight);
    if (moves) slack_.end(writer_.size());
  }

  /// Returns this rank's part of the weight, updated now if the unit is trained and not yet
  /// updated.
  Operand weight_of(int32_t u) {
    const Unit& unit = writer_.unit(u);
    if (updater_ == nullptr || unit.frozen) return writer_.whole(unit.weight, Mode::read);
    if (updated_[size_t(u)]) return updater_->weight(u);
    updated_[size_t(u)] = true;
    return updater_->update(u);
  }

  /// Brings the unit from this rank's part of the weight to the device, whole. Returns its buffer.
  int32_t fetch(int32_t u, Operand shard) {
    const Unit& unit = writer_.unit(u);
    const Dtype compute = writer_.request().compute;
    const std::string name = unit.name + ".gathered." + std::to_string(issued_);
    const int32_t full =
        writer_.transient(name, Use::gathered_weights, unit.numel * int64_t(bytes_of(compute)));
    shard.mode = Mode::read;
    if (!unit.weight_sharded) {
      writer_.move(u, shard, writer_.whole(full, Mode::write));
      return full;
    }
    if (writer_.tier_of(shard) != Tier::device) {
      shard = writer_.whole(writer_.bring(u, shard, Tier::device), Mode::read);
    }
    writer_.all_gather(u, {.element = compute,
                           .shard = shard,
                           .full = writer_.whole(full, Mode::write),
                           .bucket_numel = writer_.request().gather_bucket_numel,
                           .team = writer_.layout().meets});
    return full;
  }

  BodyWriter& writer_;
  ComputeWriter& compute_;
  Updater* updater_;
  Slack slack_{1};
  std::vector<Gather> gathers_;
  std::vector<int32_t> buffers_;  ///< [gathers]
  std::vector<bool> updated_;     ///< [units]
  size_t issued_ = 0, begun_ = 0;
};

/// The micro-batches in a body's list of ops: all, or the first, the last and a few between them
/// that represent the others.
struct MicroBatches {
  std::vector<int32_t> numbers;  ///< in a step of this rank
  int32_t tail = 0;              ///< micro-batches written after those that represent others
  bool loops = false;            ///< true: those in the middle represent others
  bool is_short() const { return tail > 0; }
};

MicroBatches all_micro_batches(int count) {
  MicroBatches all;
  for (int32_t micro = 0; micro < count; ++micro) all.numbers.push_back(micro);
  return all;
}

/// Micro-batches per round of a loop. In reproducible mode pairs enter the counter. The second one
/// of a round gathers into and reduces from other buffers, as every micro-batch does without a
/// loop.
constexpr int32_t kRound = 2;

/// True if every micro-batch waits for a disk, so other reads do not fit on its lane.
bool reads_while_it_computes(const Request& request) {
  return request.weight_home == Tier::nvme || request.activation_home == Tier::nvme;
}

/// Returns the gathers. Stage 3 gathers for every stretch of use; lower stages issue a unit once,
/// for its update.
std::vector<Gather> find_feed(BodyWriter& writer, const UnitUses& uses,
                              const MicroBatches& micro_batches) {
  const Request& request = writer.request();
  const std::vector<Unit>& units = writer.plan().units;
  const bool fetches = units.front().is_fetched();
  std::vector<Gather> feed =
      fetches ? find_gathers(request, units, uses, int(micro_batches.numbers.size()))
              : find_first_uses(units, uses);
  // Weights that are whole on the device need no memory for looking ahead. All updates then come
  // first, and other lanes never idle. Without overlap there is nothing to hide.
  Prefetch prefetch{.ahead_numel = fetches ? request.prefetch_numel : INT64_MAX,
                    .live_numel = fetches ? request.live_numel : INT64_MAX};
  const bool gathers = request.ranks > 1 && request.stage > 0;
  const bool moves = request.optimizer_home != Tier::device || request.weight_home != Tier::device;
  if (!request.overlap || !(gathers || moves)) prefetch.ahead_numel = 0;
  // A unit that is updated on the device stops compute until its states arrive.
  const bool on_device = update_sites(writer.plan()).on_device > 0;
  if (on_device && !fetches) prefetch.ahead_numel = gathers ? request.prefetch_numel : 0;
  if (fetches && micro_batches.is_short()) prefetch.longest = int32_t(uses.reads.size());
  place_prefetch(units, prefetch, feed);
  return feed;
}

/// A range of ops [begin, end), counted over a body's micro-batches.
struct Positions {
  int32_t begin, end;
};

/// A writer of micro-batches. It writes every op, issues before it what it needs, and finishes
/// after it what it completes.
class MicroBatchWriter {
 public:
  MicroBatchWriter(BodyWriter& writer, int32_t graph, const MicroBatches& micro_batches,
                   Updater* updater)
      : writer_(writer),
        graph_(graph),
        uses_(find_uses(writer.plan().graphs[size_t(graph)])),
        compute_(writer, graph),
        feed_(writer, compute_, find_feed(writer, uses_, micro_batches), updater),
        reducer_(writer, micro_batches.loops),
        homes_(writer, compute_, graph),
        updater_(updater),
        reads_(find_reads(micro_batches)) {}

  /// Writes a micro-batch. `place` is its index in the body, `micro` its number in the step.
  void write(int32_t place, int32_t micro) {
    const int32_t length = int32_t(uses_.reads.size());
    compute_.begin_micro(micro);
    compute_.place_data();
    for (int32_t op = 0; op < length; ++op) {
      feed_.reach(place * length + op);
      homes_.before(op);
      read_ahead(place * length + op);
      begin_gradients(op, micro);
      compute_.emit(op);
      homes_.after(op);
      finish_gradients(op, micro);
    }
    homes_.end_micro();
  }
  void finish() {
    reducer_.spread();
    feed_.spread();
  }

 private:
  /// Returns the ops beside which the next step's states are read. They begin after the first
  /// forward pass, so reads that compute waits for come in between. A loop contains none of them.
  /// They come before it if its rounds leave the lane free, otherwise after it.
  Positions find_reads(const MicroBatches& micro_batches) const {
    const int32_t length = int32_t(uses_.reads.size());
    const int32_t all = length * int32_t(micro_batches.numbers.size());
    const int32_t after_forward = graph::first_backward_op(writer_.plan().graphs[size_t(graph_)]);
    if (!micro_batches.is_short()) return {after_forward, all};
    if (reads_while_it_computes(writer_.request())) return {all - micro_batches.tail * length, all};
    return {after_forward, kRound * length};
  }
  void read_ahead(int32_t position) {
    if (updater_ == nullptr || position < reads_.begin || position >= reads_.end) return;
    updater_->read_ahead(double(position - reads_.begin + 1) / double(reads_.end - reads_.begin));
  }
  void begin_gradients(int32_t op, int32_t micro) {
    for (int32_t unit : uses_.gradients[size_t(op)]) {
      if (uses_.first_gradient[size_t(unit)] != op) continue;
      compute_.set_gradients(unit, reducer_.begin(unit, micro));
      const bool adds = micro > 0 && !writer_.is_audit(micro);
      if (writer_.layout().in_products) compute_.set_sum(unit, reducer_.sum(unit), adds);
    }
  }
  void finish_gradients(int32_t op, int32_t micro) {
    for (int32_t unit : uses_.gradients[size_t(op)]) {
      if (uses_.last_gradient[size_t(unit)] != op) continue;
      reducer_.finish(unit, micro);
      const bool whole = micro == writer_.request().micro_batches - 1;
      if (whole && updater_ != nullptr) updater_->speculate(unit);
    }
  }

  BodyWriter& writer_;
  const int32_t graph_;
  const UnitUses uses_;
  ComputeWriter compute_;
  UnitFeed feed_;
  Reducer reducer_;
  ActivationHomes homes_;
  Updater* updater_;
  const Positions reads_;  ///< ops beside which the next step's states are read
};

/// Writes micro-batches. Returns the begin of each in the body, and the end of the last.
std::vector<int32_t> write_micro_batches(BodyWriter& writer, int32_t graph,
                                         const MicroBatches& micro_batches, Updater* updater) {
  MicroBatchWriter one(writer, graph, micro_batches, updater);
  std::vector<int32_t> borders;
  for (size_t place = 0; place < micro_batches.numbers.size(); ++place) {
    borders.push_back(writer.size());
    one.write(int32_t(place), micro_batches.numbers[place]);
  }
  borders.push_back(writer.size());
  one.finish();
  return borders;
}

std::vector<int32_t> write_step_of(Plan& plan, const MicroBatches& micro_batches) {
  BodyWriter writer(plan, kStep);
  Updater updater(writer);
  updater.decide();
  if (plan.request.audits) writer.clear(writer.digests(false));
  std::vector<int32_t> borders = write_micro_batches(writer, 0, micro_batches, &updater);
  updater.spread();
  writer.all_reduce(plan.step_sums());
  return borders;
}

/// Returns the length of the tail behind a loop. A longer tail gives more time to states that are
/// read beside it.
int32_t tail_of(const Plan& plan) {
  const bool copies = std::any_of(plan.buffers.begin(), plan.buffers.end(),
                                  [](const Buffer& buffer) { return buffer.copy_of >= 0; });
  const int32_t least = copies && reads_while_it_computes(plan.request) ? 3 : 1;
  return least + (plan.request.micro_batches - least) % kRound;
}

/// Returns the most micro-batches without a loop. Beyond it, a loop costs at most 2 % of a step by
/// forecast, or 5 % if every micro-batch waits for a disk.
int most_written(const Request& request) {
  if (request.most_written > 0) return request.most_written;
  return reads_while_it_computes(request) ? 64 : 16;
}

/// Writes the step with a loop over the micro-batches in its middle, after `lead` rounds. Returns
/// false, and writes nothing, if rounds are too few or differ.
bool write_looped_step(Plan& plan, int32_t lead) {
  const int32_t count = plan.request.micro_batches, tail = tail_of(plan);
  const int32_t written = (lead + 1) * kRound;
  const int64_t rounds = (count - tail) / kRound - lead;
  if (rounds < 2) return false;
  MicroBatches some{.numbers = {}, .tail = tail, .loops = true};
  for (int32_t micro = 0; micro < written; ++micro) some.numbers.push_back(micro);
  for (int32_t micro = count - tail; micro < count; ++micro) some.numbers.push_back(micro);
  const size_t buffers = plan.buffers.size();
  const std::vector<int32_t> borders = write_step_of(plan, some);
  const MiddlePair pair{.first = borders[size_t((lead - 1) * kRound)],
                        .second = borders[size_t(lead * kRound)],
                        .end = borders[size_t(written)],
                        .rounds = rounds,
                        .micro_batches = kRound};
  if (fold(plan, plan.bodies[kStep], pair)) return true;
  plan.bodies[kStep].ops.clear();
  plan.buffers.resize(buffers);
  plan.counters.clear();
  return false;
}

/// Writes the ops of a chunk in program order, with units issued ahead. Both bodies use the same
/// weights, caches and outputs. A body may skip units, as the body of tokens skips an encoder's.
void write_chunk(Plan& plan, BodyId body, int32_t graph) {
  plan.bodies[body].graph = graph;
  BodyWriter writer(plan, body);
  ComputeWriter compute(writer, graph);
  const graph::Graph& chunk = plan.graphs[size_t(graph)];
  std::vector<Gather> gathers;
  if (plan.units.front().is_fetched())
    gathers = find_feed(writer, find_uses(chunk), all_micro_batches(1));
  UnitFeed feed(writer, compute, std::move(gathers), nullptr);
  compute.place_data();
  size_t caches = 0;
  for (size_t tensor = 0; tensor < chunk.tensors.size(); ++tensor) {
    if (chunk.tensors[tensor].role != graph::Role::cache) continue;
    compute.set_data(graph::TensorId(tensor), plan.caches.at(caches++));
  }
  for (size_t op = 0; op < chunk.ops.size(); ++op) {
    feed.reach(int32_t(op));
    compute.emit(int32_t(op));
  }
  feed.spread();
}

}  // namespace

// Writes the step, with a loop if it is long. Gathered units settle in the first micro-batches,
// mostly in the first, so the shortest lead that works is taken.
void write_step(Plan& plan) {
  plan.bodies[kStep].name = "step";
  if (plan.request.micro_batches > most_written(plan.request)) {
    for (int32_t lead : {2, 3, 4, 6, 8, 12}) {
      if (write_looped_step(plan, lead)) return;
    }
  }
  write_step_of(plan, all_micro_batches(plan.request.micro_batches));
}

void write_step_in_full(Plan& plan) {
  plan.bodies[kStep].name = "step";
  MicroBatches all = all_micro_batches(plan.request.micro_batches);
  all.tail = tail_of(plan);
  write_step_of(plan, all);
}

void write_finish(Plan& plan) {
  plan.bodies[kFinish].name = "finish";
  BodyWriter writer(plan, kFinish);
  Updater updater(writer);
  updater.decide();
  for (int32_t unit : update_order(plan)) updater.update(unit);
  updater.read_ahead(1);
  updater.spread();
}

void write_evaluate(Plan& plan) {
  plan.bodies[kEvaluate].name = "evaluate";
  plan.bodies[kEvaluate].graph = 1;
  if (plan.graphs[1].ops.empty()) return;
  BodyWriter writer(plan, kEvaluate);
  const int32_t sums = plan.output(1, graph::kLossOutput);
  writer.clear(sums);
  write_micro_batches(writer, 1, all_micro_batches(1), nullptr);
  writer.all_reduce(sums);
}

void write_read_ahead(Plan& plan) {
  plan.bodies[kReadAhead].name = "read ahead";
  BodyWriter writer(plan, kReadAhead);
  Updater(writer).read_ahead(1);
}

void write_audit(Plan& plan) {
  if (!plan.request.audits) return;
  plan.bodies[kAudit].name = "audit";
  BodyWriter writer(plan, kAudit);
  writer.clear(writer.digests(true));
  write_micro_batches(writer, 0, {.numbers = {plan.request.micro_batches}}, nullptr);
}

void write_decode(Plan& plan) {
  plan.bodies[kDecode].name = "decode";
  write_chunk(plan, kDecode, 0);
}

void write_prefill(Plan& plan) {
  plan.bodies[kPrefill].name = "prefill";
  write_chunk(plan, kPrefill, 1);
}

void number_lanes(Body& body) {
  std::array<int32_t, kLanes> count{};
  for (size_t i = 0; i < body.ops.size(); ++i) {
    PlanOp& op = body.ops[i];
    op.index = count[size_t(op.lane)]++;
    op.done_by = std::max(op.done_by, int32_t(i));
  }
}

}  // namespace zero::plan
