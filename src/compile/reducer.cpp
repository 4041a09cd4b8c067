#include "src/compile/body_builder.hpp"
#include "zero/kernels/tree_sum.hpp"

namespace zero::plan {

Reducer::Reducer(BodyWriter& writer, bool loops) : writer_(writer), loops_(loops) {
  bucket_.assign(writer.plan().units.size(), -1);
  sum_.assign(writer.plan().units.size(), -1);
  of_group_.assign(writer.plan().units.size(), -1);
  counter_.resize(writer.plan().units.size());
  const graph::Graph& graph = writer.plan().graphs[0];
  in_products_.assign(graph.parameters.size(), false);
  if (writer.layout().in_products) in_products_ = summed_by_their_op(graph);
}

Lane Reducer::lane() const { return writer_.request().ranks == 1 ? Lane::compute : Lane::reduce; }

/// Returns the persistent gradient, or a buffer that is sent to the host once final. An audit has a
/// buffer of its own, of whole gradients.
int32_t Reducer::make_sum(int32_t u, bool of_audit) {
  const Unit& unit = writer_.unit(u);
  const GradientLayout& layout = writer_.layout();
  if (!of_audit && unit.optimizer_site() == Tier::device) return unit.gradient;
  const int64_t numel = layout.direct || layout.local_sum ? unit.numel : unit.shard_numel;
  return writer_.transient(unit.name + ".sum", Use::gradient_buckets,
                           numel * int64_t(bytes_of(layout.element)));
}

int32_t Reducer::begin(int32_t u, int32_t micro) {
  const Unit& unit = writer_.unit(u);
  const bool of_audit = writer_.is_audit(micro);
  const bool needs_sum = writer_.layout().direct || writer_.layout().in_products;
  if (of_audit ? needs_sum : micro == 0) sum_[size_t(u)] = make_sum(u, of_audit);
  if (writer_.layout().direct) {
    bucket_[size_t(u)] = sum_[size_t(u)];
    // The gaps of a persistent gradient are zero from the start.
    if (sum_[size_t(u)] != unit.gradient) clear_gaps(u);
    return bucket_[size_t(u)];
  }
  const int64_t bytes = unit.numel * int64_t(bytes_of(writer_.request().compute));
  const std::string name = unit.name + ".bucket." + std::to_string(micro);
  bucket_[size_t(u)] = writer_.transient(name, Use::gradient_buckets, bytes);
  clear_gaps(u);
  return bucket_[size_t(u)];
}

// Clears the gaps between tensors. Backward writes only the tensors, but the gaps are sent and
// enter the norm too.
void Reducer::clear_gaps(int32_t u) {
  const Unit& unit = writer_.unit(u);
  const int64_t element = int64_t(bytes_of(writer_.request().compute));
  PlanOp clear{.kind = Kind::clear, .unit = u};
  const auto add = [&](int64_t begin, int64_t end) {
    if (begin == end) return;
    clear.operands.push_back({.buffer = bucket_[size_t(u)],
                              .offset = begin * element,
                              .bytes = (end - begin) * element,
                              .mode = Mode::write});
  };
  int64_t end = 0;
  for (const UnitParameter& place : unit.parameters) {
    add(end, place.begin);
    end = place.begin + place.numel;
  }
  add(end, unit.numel);
  if (!clear.operands.empty()) writer_.emit(std::move(clear));
}

void Reducer::finish(int32_t u, int32_t micro) {
  const Request& request = writer_.request();
  const GradientLayout& layout = writer_.layout();
  const Unit& unit = writer_.unit(u);
  slack_.begin(writer_.size());
  const bool of_audit = writer_.is_audit(micro);
  if (of_audit || (request.audits && micro == 0)) digest(u, of_audit);
  if (of_audit) return slack_.end(writer_.size());
  if (layout.counter) {
    count(u, micro);
  } else if (layout.local_sum) {
    sum_locally(u, micro);
  } else if (request.has_groups()) {
    if (micro == 0) of_group_[size_t(u)] = sum_of_group(u);
    reduce(u, layout.meets, bucket_[size_t(u)], writer_.whole(of_group_[size_t(u)], Mode::write),
           Dtype::f32, micro > 0);
  } else if (request.ranks > 1) {
    const int64_t shard_bytes = unit.shard_numel * int64_t(bytes_of(layout.element));
    reduce(u, Team::all, bucket_[size_t(u)],
           writer_.owned(sum_[size_t(u)], shard_bytes, Mode::write), layout.element, micro > 0);
  }
  if (micro == request.micro_batches - 1) finish_step(u);
  slack_.end(writer_.size());
}

/// Digests unit u's gradients of a micro-batch: its bucket, and in the sum what products have
/// written there.
void Reducer::digest(int32_t u, bool of_audit) {
  const int64_t element = int64_t(bytes_of(writer_.request().compute));
  const auto add = [&](int32_t buffer, int64_t begin, int64_t end, int64_t bytes) {
    digest_bytes(u, {.buffer = buffer, .offset = begin * bytes, .bytes = (end - begin) * bytes},
                 of_audit);
  };
  for (const Range& range : ranges_to_sum(u))
    add(bucket_[size_t(u)], range.begin, range.end, element);
  for (const UnitParameter& place : writer_.unit(u).parameters) {
    if (!in_products_[size_t(place.parameter)]) continue;
    add(sum_[size_t(u)], place.begin, place.begin + place.numel, int64_t(sizeof(float)));
  }
}

void Reducer::digest_bytes(int32_t u, const Operand& bytes, bool of_audit) {
  Operand sum = writer_.digests(of_audit);
  sum.offset += u * int64_t(sizeof(int64_t));
  sum.bytes = sizeof(int64_t);
  sum.mode = Mode::update;
  const int32_t inputs = writer_.plan().input(0, graph::FilledBy::step).buffer;
  writer_.emit({.kind = Kind::digest,
                .lane = lane(),
                .unit = u,
                .operands = {writer_.whole(inputs, Mode::read), bytes, sum}});
}

/// Returns the ranges of a unit, in elements and with gaps, that no product adds to the sum.
std::vector<Reducer::Range> Reducer::ranges_to_sum(int32_t u) {
  std::vector<Range> ranges;
  int64_t begin = 0;
  for (const UnitParameter& place : writer_.unit(u).parameters) {
    if (!in_products_[size_t(place.parameter)]) continue;
    if (begin < place.begin) ranges.push_back({begin, place.begin});
    begin = place.begin + place.numel;
  }
  if (begin < writer_.unit(u).numel) ranges.push_back({begin, writer_.unit(u).numel});
  return ranges;
}

// Stages 0 and 1, default numerics: ranks reduce once per step, in fp32.
void Reducer::sum_locally(int32_t u, int32_t micro) {
  const Unit& unit = writer_.unit(u);
  const int32_t sum = sum_[size_t(u)];
  const auto part = [](int32_t buffer, const Range& range, int64_t element, Mode mode) {
    return Operand{.buffer = buffer,
                   .offset = range.begin * element,
                   .bytes = (range.end - range.begin) * element,
                   .mode = mode};
  };
  const int64_t element = int64_t(bytes_of(writer_.request().compute));
  for (const Range& range : ranges_to_sum(u)) {
    writer_.emit({.kind = Kind::accumulate,
                  .unit = u,
                  .in = writer_.request().compute,
                  .add = micro > 0,
                  .operands = {part(bucket_[size_t(u)], range, element, Mode::read),
                               part(sum, range, 4, micro > 0 ? Mode::update : Mode::write)}});
  }
  if (micro < writer_.request().micro_batches - 1 || writer_.request().ranks == 1) return;
  const bool rounds = writer_.layout().wire_bf16;
  if (rounds) round_for_the_way(u);
  reduce(u, Team::all, rounds ? bucket_[size_t(u)] : sum,
         writer_.owned(sum, unit.shard_numel * 4, Mode::write), Dtype::f32, false);
}

// Rounds the sum into the bucket of the last micro-batch, which is already added.
void Reducer::round_for_the_way(int32_t u) {
  writer_.emit({.kind = Kind::round_sum,
                .lane = lane(),
                .unit = u,
                .in = Dtype::f32,
                .out = Dtype::bf16,
                .operands = {writer_.whole(sum_[size_t(u)], Mode::read),
                             writer_.whole(bucket_[size_t(u)], Mode::write)}});
}

// Returns a buffer for the sums of neighbours, empty if one pass of the tree adds all ranks.
Operand Reducer::group_sums(int32_t u, Team team, int64_t piece_numel) {
  const int ranks = writer_.request().groups().ranks_of(team);
  const int64_t bytes = kernels::group_sums(ranks) * piece_numel * 4;
  if (bytes == 0) return {};
  return writer_.whole(writer_.transient(writer_.unit(u).name + ".group sums", Use::scratch, bytes),
                       Mode::write);
}

/// Sums an array over a team: a unit, or across groups a weight shard.
void Reducer::reduce(int32_t u, Team team, int32_t from, const Operand& to, Dtype out, bool add) {
  const Unit& unit = writer_.unit(u);
  const int64_t numel = team == Team::across ? unit.weight_shard_numel() : unit.numel;
  const int ranks = writer_.request().groups().ranks_of(team);
  const int64_t element = writer_.plan().buffers[size_t(from)].bytes / numel;
  const Dtype in = element == 4 ? Dtype::f32 : writer_.request().compute;
  Operand shard = to;
  shard.mode = add || to.buffer == from ? Mode::update : Mode::write;
  for (const PieceRange& piece :
       cut_pieces(numel / ranks, ranks, writer_.request().reduce_bucket_numel)) {
    writer_.emit(
        {.kind = Kind::reduce_scatter,
         .lane = Lane::reduce,
         .unit = u,
         .in = in,
         .out = out,
         .add = add,
         .team = team,
         .shard_numel = numel / ranks,
         .piece_begin = piece.begin,
         .piece_numel = piece.numel,
         .operands = {writer_.whole(from, Mode::read), shard, group_sums(u, team, piece.numel)}});
    shard.mode = Mode::update;
  }
}

/// Returns a buffer for the sum of a group, of a rank's weight shard.
int32_t Reducer::sum_of_group(int32_t u) {
  const Unit& unit = writer_.unit(u);
  return writer_.transient(unit.name + ".sum of group", Use::gradient_buckets,
                           unit.weight_shard_numel() * 4);
}

/// Sums the sums of groups. Each rank gets the part that its optimizer updates.
void Reducer::cross(int32_t u, int32_t sum, const Operand& to, bool add) {
  reduce(u, Team::across, sum, to, Dtype::f32, add);
}

// Puts the sum of unit u's bucket over ranks into slot `to` as a leaf, or adds it if `add`.
void Reducer::leaf(int32_t u, int32_t to, bool add) {
  const int32_t bucket = bucket_[size_t(u)];
  const GradientLayout& layout = writer_.layout();
  const Operand slot = writer_.whole(to, Mode::write);
  if (writer_.request().has_groups() && !layout.crosses_once) {
    const int32_t part = sum_of_group(u);
    reduce(u, layout.meets, bucket, writer_.whole(part, Mode::write), Dtype::f32, false);
    return cross(u, part, slot, add);
  }
  if (writer_.request().ranks > 1) return reduce(u, layout.meets, bucket, slot, Dtype::f32, add);
  writer_.emit({.kind = Kind::accumulate,
                .unit = u,
                .in = writer_.request().compute,
                .add = add,
                .operands = {writer_.whole(bucket, Mode::read),
                             writer_.whole(to, add ? Mode::update : Mode::write)}});
}

void Reducer::finish_step(int32_t u) {
  const GradientLayout& layout = writer_.layout();
  const Unit& unit = writer_.unit(u);
  const int64_t shard_bytes = unit.shard_numel * int64_t(bytes_of(layout.element));
  const int32_t gradient = sum_[size_t(u)];
  const int32_t sum = layout.counter ? merge_leftovers(u) : of_group_[size_t(u)];
  if (layout.crosses_once) {
    cross(u, sum, writer_.owned(gradient, shard_bytes, Mode::write), false);
  } else if (layout.counter && sum != gradient) {
    writer_.emit({.kind = Kind::round_sum,
                  .lane = lane(),
                  .unit = u,
                  .in = Dtype::f32,
                  .out = layout.element,
                  .operands = {writer_.whole(sum, Mode::read),
                               writer_.owned(gradient, shard_bytes, Mode::update)}});
  }
  writer_.emit({.kind = Kind::sum_of_squares,
                .lane = lane(),
                .unit = u,
                .in = layout.element,
                .round_gradient = layout.round_gradient,
                .operands = {writer_.owned(gradient, shard_bytes, Mode::read),
                             writer_.whole(writer_.plan().step_sums(), Mode::update)}});
  if (layout.gather_sums) gather_sum(u);
  if (gradient != unit.gradient) send_to_host(u);
}

// Gathers the sum at stage 0. Rounding to bf16 before the transfer loses nothing, because readers
// of the sum round it anyway.
void Reducer::gather_sum(int32_t u) {
  const GradientLayout& layout = writer_.layout();
  const int32_t sum = sum_[size_t(u)], travels = layout.wire_bf16 ? bucket_[size_t(u)] : sum;
  const Dtype element = layout.wire_bf16 ? Dtype::bf16 : layout.element;
  const int64_t shard_numel = writer_.unit(u).shard_numel;
  const Operand shard =
      writer_.owned(travels, shard_numel * int64_t(bytes_of(element)), Mode::update);
  if (layout.wire_bf16) {
    writer_.emit({.kind = Kind::round_sum,
                  .lane = Lane::gather,
                  .unit = u,
                  .in = Dtype::f32,
                  .out = element,
                  .operands = {writer_.owned(sum, shard_numel * 4, Mode::read), shard}});
  }
  Operand sent = shard;
  sent.mode = Mode::read;
  writer_.all_gather(u, {.element = element,
                         .shard = sent,
                         .full = writer_.whole(travels, Mode::update),
                         .bucket_numel = writer_.request().reduce_bucket_numel});
  if (!layout.wire_bf16) return;
  writer_.emit({.kind = Kind::accumulate,
                .lane = Lane::gather,
                .unit = u,
                .in = element,
                .operands = {writer_.whole(travels, Mode::read), writer_.whole(sum, Mode::write)}});
}

// Rounds on the device, so only the bytes that the optimizer reads are moved.
void Reducer::send_to_host(int32_t u) {
  const GradientLayout& layout = writer_.layout();
  const Unit& unit = writer_.unit(u);
  Operand from = writer_.owned(sum_[size_t(u)],
                               unit.shard_numel * int64_t(bytes_of(layout.element)), Mode::read);
  const Operand home = writer_.whole(unit.gradient, Mode::write);
  if (layout.round_gradient) {
    const int32_t rounded =
        writer_.transient(unit.name + ".rounded", Use::gradient_buckets, home.bytes);
    writer_.emit({.kind = Kind::round_sum,
                  .lane = lane(),
                  .unit = u,
                  .in = layout.element,
                  .out = writer_.request().compute,
                  .operands = {from, writer_.whole(rounded, Mode::write)}});
    from = writer_.whole(rounded, Mode::read);
  }
  writer_.move(u, from, home);
}

void Reducer::spread() {
  if (writer_.request().overlap) slack_.apply(writer_.body().ops);
}

}  // namespace zero::plan
