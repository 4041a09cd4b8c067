#include "tests/support/random_order.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "src/run/bound_op.hpp"
#include "tests/support/exact_copies.hpp"
#include "tests/support/poison.hpp"
#include "zero/base/dtype.hpp"
#include "zero/base/philox.hpp"
#include "zero/comm/communicator.hpp"
#include "zero/device/arena.hpp"
#include "zero/kernels/tree_sum.hpp"
#include "zero/plan/rounds.hpp"

namespace zero::run {
namespace {

using plan::kLanes;
using Operands = std::span<const std::vector<void*>>;

template <class T>
T* at(void* base, int64_t element) {
  return static_cast<T*>(base) + element;
}

void gather(const plan::PlanOp& op, Operands operands) {
  const int64_t element = int64_t(bytes_of(op.in));
  const int64_t begin = op.piece_begin * element, bytes = op.piece_numel * element;
  for (const std::vector<void*>& target : operands) {
    for (size_t source = 0; source < operands.size(); ++source) {
      const int64_t place = int64_t(source) * op.shard_numel * element + begin;
      // The shard may lie in its place inside the full array.
      std::memmove(at<std::byte>(target[1], place), at<std::byte>(operands[source][0], begin),
                   size_t(bytes));
    }
  }
}

template <class T, class Out>
void reduce(const plan::PlanOp& op, Operands operands) {
  std::array<const T*, kernels::kMaxTreeSources> sources{};
  ZERO_REQUIRE(operands.size() <= sources.size(), operands.size(), " ranks: one process runs at ",
               "most ", sources.size(), " in any order");
  for (size_t rank = 0; rank < operands.size(); ++rank) {
    const int64_t place = int64_t(rank) * op.shard_numel + op.piece_begin;
    for (size_t s = 0; s < operands.size(); ++s) sources[s] = at<T>(operands[s][0], place);
    kernels::tree_sum<T, Out>(std::span(sources).first(operands.size()), op.piece_numel,
                              at<Out>(operands[rank][1], op.piece_begin), op.add);
  }
}

void reduce_scatter(const plan::PlanOp& op, Operands operands) {
  with_type(op.in, [&](auto t) {
    using T = typename decltype(t)::type;
    if (op.out == Dtype::f32) return reduce<T, float>(op, operands);
    ZERO_REQUIRE(op.out == op.in, "a reduction of ", name_of(op.in), " to ", name_of(op.out),
                 ": to fp32, or to what travels");
    reduce<T, T>(op, operands);
  });
}

void all_reduce(const plan::PlanOp& op, Operands operands) {
  const int64_t words = op.operands[plan::kSource].bytes / int64_t(sizeof(int64_t));
  for (int64_t i = 0; i < words; ++i) {
    int64_t sum = 0;
    for (const std::vector<void*>& rank : operands) sum += *at<int64_t>(rank[plan::kSource], i);
    for (const std::vector<void*>& rank : operands) *at<int64_t>(rank[plan::kSource], i) = sum;
  }
}

/// Runs a collective for all ranks at once, on their operands' addresses: operands[r] are those of
/// rank r, in the op's order. Sums go along kernels::tree_sum over ranks, so the bits are those of
/// every communicator. Finished on return.
void run_together(const plan::PlanOp& op, Operands operands) {
  switch (op.kind) {
    case plan::Kind::all_gather:
      return gather(op, operands);
    case plan::Kind::reduce_scatter:
      return reduce_scatter(op, operands);
    case plan::Kind::all_reduce:
      return all_reduce(op, operands);
    default:
      ZERO_REQUIRE(false, plan::name_of(op.kind), " is no collective");
  }
}

/// The n-th choice is a function of seed and n.
class Dice {
 public:
  explicit Dice(uint64_t seed) : seed_(seed) {}
  size_t below(size_t bound) {
    const uint64_t n = rolls_++;
    return philox({{uint32_t(n), uint32_t(n >> 32), 0, 0}}, seed_).word[0] % bound;
  }

 private:
  uint64_t seed_;
  uint64_t rolls_ = 0;
};

/// One rank: its memory, its ops, and how far each lane has come.
struct Rank {
  RankMemory memory;
  std::array<Arena, plan::kTiers> arenas;
  std::array<std::vector<BoundOp>, plan::kBodies> ops;  ///< as body.ops
  std::array<size_t, kLanes> finished{};
};

}  // namespace

class RandomOrderExecutor::Impl {
 public:
  Impl(const plan::Plan& plan, const Rules& rules, const Options& options)
      : plan_(plan::unrolled(plan)),
        rules_(rules),
        options_(options),
        dice_(options.seed),
        stream_(plan_.request.threads),
        meeting_(options.comms[size_t(plan::Lane::small)].at(plan::Team::all)),
        ranks_(size_t(plan_.request.ranks)) {
    for (size_t r = 0; r < ranks_.size(); ++r) make_rank(int(r));
    // Exact copies lie in no window.
    if (!options_.exact_copies) open_windows();
  }

  template <class Inputs>
  void run(plan::BodyId id, const Inputs& inputs) {
    set_inputs(id, inputs);
    if (id == plan::kStep || id == plan::kFinish) read_ahead();
    run_body(id);
  }

  std::span<std::byte> bytes(int rank, int32_t buffer) {
    // The host may be about to change what copies are of.
    if (plan_.buffers[size_t(buffer)].tier == plan::Tier::nvme) copies_are_true_ = false;
    const RankMemory& memory = ranks_[size_t(rank)].memory;
    return buffer_bytes(plan_, memory, present_buffer(plan_, memory, buffer));
  }

 private:
  /// The next op of a lane of a rank; a collective stands for all ranks, under rank 0.
  struct Candidate {
    size_t rank;
    size_t place;  ///< in body.ops
  };

  void read_ahead() {
    if (!copies_are_true_) run_body(plan::kReadAhead);
    copies_are_true_ = true;
  }

  void run_body(plan::BodyId id) {
    const plan::Body& body = plan_.bodies[id];
    begin(id);
    for (size_t left = body.ops.size() * ranks_.size(); left > 0;) {
      const std::vector<Candidate> ready = candidates(id);
      ZERO_REQUIRE(!ready.empty(), "body ", body.name, " is stuck with ", left,
                   " ops to go: its waits form a cycle");
      left -= run_one(id, ready[dice_.below(ready.size())]);
    }
    if (meeting_ != nullptr) share_memory();
  }

  /// True if this process runs that rank's ops.
  bool is_mine(size_t r) const { return meeting_ == nullptr || int(r) == meeting_->rank(); }

  void open_windows() {
    for (const Rank& rank : ranks_) {
      for (const Arena& arena : rank.arenas) {
        for (const TeamComms& lane : options_.comms) {
          comm::Communicator* const comm = lane.at(plan::Team::all);
          if (comm != nullptr && arena.bytes() > 0) windows_.push_back(comm->open_window(arena));
        }
      }
    }
  }

  void share_memory() {
    for (size_t r = 0; r < ranks_.size(); ++r) {
      for (const Arena& arena : ranks_[r].arenas) {
        if (arena.bytes() == 0) continue;
        meeting_->broadcast(stream_, {arena.data(), size_t(arena.bytes())}, int(r));
        stream_.wait();
      }
    }
  }

  void make_rank(int r) {
    Rank& rank = ranks_[size_t(r)];
    rank.memory.rank = r;
    for (size_t tier = 0; tier < rank.arenas.size(); ++tier) {
      if (plan_.arena_bytes[tier] == 0) continue;
      const int64_t bytes = plan_.arena_bytes[tier];
      rank.arenas[tier] = meeting_ == nullptr ? Arena(bytes) : meeting_->take_arena(bytes);
      rank.memory.base[tier] = rank.arenas[tier].data();
    }
    plan::write_constants(plan_, [&](int32_t buffer, std::span<const std::byte> values) {
      std::ranges::copy(values, buffer_bytes(plan_, rank.memory, buffer).begin());
    });
    const BindTarget target{plan_, rules_, rank.memory};
    for (size_t id = 0; id < plan::kBodies; ++id) {
      const plan::Body& body = plan_.bodies[id];
      for (const plan::PlanOp& op : body.ops) rank.ops[id].push_back(bind(target, body, op));
    }
    poisons_.emplace_back(plan_, [this, r](int32_t buffer) {
      return buffer_bytes(plan_, ranks_[size_t(r)].memory, buffer);
    });
  }

  template <class Inputs>
  void set_inputs(plan::BodyId id, const Inputs& inputs) {
    const int32_t place = inputs_buffer(plan_, id, sizeof(inputs));
    for (Rank& rank : ranks_) {
      std::memcpy(buffer_bytes(plan_, rank.memory, place).data(), &inputs, sizeof(inputs));
    }
  }

  void begin(plan::BodyId id) {
    const plan::Body& body = plan_.bodies[id];
    for (auto& lane : lanes_) lane.clear();
    for (size_t i = 0; i < body.ops.size(); ++i) lanes_[size_t(body.ops[i].lane)].push_back(i);
    for (size_t r = 0; r < ranks_.size(); ++r) {
      ranks_[r].finished = {};
      poisons_[r].begin(body);
    }
  }

  bool ready(const Rank& rank, size_t lane, const plan::PlanOp& op, size_t position) const {
    if (rank.finished[lane] != position) return false;
    return std::all_of(op.waits.begin(), op.waits.end(), [&](const plan::Wait& wait) {
      return rank.finished[size_t(wait.lane)] >= size_t(wait.count);
    });
  }

  void add_candidate(plan::BodyId id, size_t r, size_t lane, std::vector<Candidate>& found) const {
    const size_t position = ranks_[r].finished[lane];
    if (position == lanes_[lane].size()) return;
    const size_t place = lanes_[lane][position];
    const plan::PlanOp& op = plan_.bodies[id].ops[place];
    if (!plan::is_collective(op.kind)) {
      if (ready(ranks_[r], lane, op, position)) found.push_back({r, place});
      return;
    }
    const bool together = r == 0 && std::all_of(ranks_.begin(), ranks_.end(), [&](const Rank& q) {
                            return ready(q, lane, op, position);
                          });
    if (together) found.push_back({r, place});
  }

  std::vector<Candidate> candidates(plan::BodyId id) const {
    std::vector<Candidate> found;
    for (size_t r = 0; r < ranks_.size(); ++r) {
      for (size_t lane = 0; lane < kLanes; ++lane) add_candidate(id, r, lane, found);
    }
    return found;
  }

  /// Returns how many ranks have got one op further.
  size_t run_one(plan::BodyId id, const Candidate& candidate) {
    const plan::PlanOp& op = plan_.bodies[id].ops[candidate.place];
    const bool all = plan::is_collective(op.kind);
    const size_t first = all ? 0 : candidate.rank, end = all ? ranks_.size() : first + 1;
    std::vector<size_t> mine;
    for (size_t r = first; r < end; ++r) {
      if (is_mine(r)) mine.push_back(r);
      ++ranks_[r].finished[size_t(op.lane)];
    }
    if (!mine.empty()) run_here(id, candidate.place, mine);
    return end - first;
  }

  void run_here(plan::BodyId id, size_t place, const std::vector<size_t>& ranks) {
    const plan::PlanOp& op = plan_.bodies[id].ops[place];
    std::vector<std::vector<void*>> operands;
    std::vector<ExactCopies> copies;
    for (const size_t r : ranks) {
      poisons_[r].before(op);
      operands.push_back(ranks_[r].ops[id][place].operands);
      if (!options_.exact_copies) continue;
      copies.emplace_back(op, operands.back());
      operands.back() = copies.back().operands();
    }
    execute(ranks_[ranks.front()].ops[id][place], operands);
    for (const ExactCopies& copy : copies) copy.store();
    for (const size_t r : ranks) poisons_[r].after(op);
  }

  void execute(const BoundOp& bound, const std::vector<std::vector<void*>>& operands) {
    if (plan::is_collective(bound.op->kind) && meeting_ == nullptr)
      return run_teams(bound, operands);
    if (plan::is_transfer(bound.op->kind)) return transfer(bound, operands.front());
    BoundOp moved = bound;
    moved.operands = operands.front();
    moved.function(moved, {.stream = stream_,
                           .comm = options_.comms[size_t(bound.op->lane)].at(bound.op->team)});
    stream_.wait();
  }

  /// Runs a collective for each team of its kind.
  void run_teams(const BoundOp& bound, const std::vector<std::vector<void*>>& operands) const {
    const plan::Groups groups = plan_.request.groups();
    const plan::Team team = bound.op->team;
    for (int part = 0; part < groups.ranks / groups.ranks_of(team); ++part) {
      std::vector<std::vector<void*>> own;
      for (int r = 0; r < groups.ranks; ++r) {
        if (groups.part(team, r) == part) own.push_back(operands[size_t(r)]);
      }
      run_together(*bound.op, own);
    }
  }

  /// Here a disk is memory like all the rest.
  static void transfer(const BoundOp& bound, const std::vector<void*>& operands) {
    std::memcpy(operands[plan::kTarget], operands[plan::kSource],
                size_t(bound.operand_bytes(plan::kSource)));
  }

  const plan::Plan plan_;
  const Rules rules_;
  const Options options_;
  Dice dice_;
  Stream stream_;
  comm::Communicator* const meeting_;  ///< null: all ranks are here
  std::vector<Rank> ranks_;
  std::vector<std::unique_ptr<comm::Window>> windows_;
  std::vector<Poison> poisons_;  ///< [ranks]
  bool copies_are_true_ = false;
  std::array<std::vector<size_t>, kLanes> lanes_;  ///< places in body.ops
};

RandomOrderExecutor::RandomOrderExecutor(const plan::Plan& plan, const Rules& rules,
                                         const Options& options)
    : impl_(std::make_unique<Impl>(plan, rules, options)) {}
RandomOrderExecutor::~RandomOrderExecutor() = default;

void RandomOrderExecutor::run(plan::BodyId body, const kernels::StepInputs& inputs) {
  impl_->run(body, inputs);
}

void RandomOrderExecutor::run_chunk(plan::BodyId body, const kernels::DecodeInputs& inputs) {
  impl_->run(body, inputs);
}

std::span<std::byte> RandomOrderExecutor::bytes(int rank, int32_t buffer) {
  return impl_->bytes(rank, buffer);
}

}  // namespace zero::run
