#include "src/train/trace.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "zero/base/align.hpp"
#include "zero/graph/operation.hpp"
#include "zero/io/files/open_file.hpp"
#include "zero/io/files/own_file.hpp"

namespace zero::train {
namespace {

using Json = nlohmann::ordered_json;
using Clock = run::OpTime::Clock;

constexpr int kMostBodies = 8;
constexpr int64_t kMostOps = int64_t(1) << 17;
/// The thread that shows which body runs, after the lanes' threads.
constexpr int kBodiesThread = plan::kLanes;

int64_t ns_of(Clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

/// A writer of one rank's events.
class Writer {
 public:
  explicit Writer(const RankTrace& trace) : trace_(trace) {}

  std::string write() {
    name_threads();
    for (const run::TracedBody& body : trace_.bodies) write_body(body);
    return out_.str();
  }

 private:
  void add(Json event) {
    event["pid"] = trace_.rank;
    out_ << (out_.tellp() > 0 ? ",\n" : "")
         << event.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

  void add_name(const char* what, int thread, const std::string& name) {
    add({{"ph", "M"}, {"name", what}, {"tid", thread}, {"args", {{"name", name}}}});
  }

  void name_threads() {
    add_name("process_name", 0, text("rank ", trace_.rank, " on ", trace_.host));
    std::array<bool, plan::kLanes> used{};
    for (const plan::Body& body : trace_.plan.bodies) {
      for (const plan::PlanOp& op : body.ops) used[size_t(op.lane)] = true;
    }
    for (int lane = 0; lane < plan::kLanes; ++lane) {
      if (used[size_t(lane)]) add_name("thread_name", lane, plan::name_of(plan::Lane(lane)));
    }
    add_name("thread_name", kBodiesThread, "bodies");
  }

  double micros(Clock::time_point time) const {
    return double(ns_of(time) - trace_.origin_ns) / 1e3;
  }

  Json complete(const std::string& name, int thread, const run::OpTime& time) const {
    return {{"ph", "X"},
            {"name", name},
            {"tid", thread},
            {"ts", micros(time.begin)},
            {"dur", double(ns_of(time.end) - ns_of(time.begin)) / 1e3}};
  }

  void write_body(const run::TracedBody& traced) {
    const plan::Body& body = trace_.plan.bodies[traced.body];
    Json whole = complete(text(body.name, " ", traced.step), kBodiesThread, traced.whole);
    whole["args"] = {{"step", traced.step}};
    add(std::move(whole));
    std::array<int64_t, plan::kLanes> counts{};
    const plan::Rounds rounds(body);
    for (int64_t n = 0; n < rounds.size(); ++n) {
      const plan::Turn turn = rounds.turn(n);
      const plan::PlanOp& op = body.ops[size_t(turn.op)];
      const run::OpTime& time = time_of(traced, op.lane, ++counts[size_t(op.lane)]);
      write_op(traced, turn, time);
      for (const plan::Wait& wait : op.waits) {
        const int64_t awaited = rounds.awaited(wait, turn);
        write_wait({.from = wait.lane, .to = op.lane}, time_of(traced, wait.lane, awaited), time);
      }
    }
  }

  static const run::OpTime& time_of(const run::TracedBody& traced, plan::Lane lane, int64_t count) {
    return traced.ops[size_t(lane)][size_t(count) - 1];
  }

  void write_op(const run::TracedBody& traced, const plan::Turn& turn, const run::OpTime& time) {
    const plan::Body& body = trace_.plan.bodies[traced.body];
    const plan::PlanOp& op = body.ops[size_t(turn.op)];
    Json arguments = {{"step", traced.step}};
    std::string name = plan::name_of(op.kind, trace_.plan.request.optimizer);
    if (op.kind == plan::Kind::compute) {
      const auto& from = trace_.plan.graphs[size_t(body.graph)].ops[size_t(op.graph_op)];
      name = from.kind->name;
      arguments["micro_batch"] = plan::micro_of(body, op, turn.round);
    }
    const std::string unit = plan::unit_name(trace_.plan, body, op);
    if (!unit.empty()) arguments["unit"] = unit;
    int64_t bytes = 0;
    const int carries = op.counts ? plan::carries_of(body, op, turn.round) : 0;
    for (const plan::Operand& operand : plan::operands_in(trace_.plan, op, carries)) {
      bytes += operand.bytes;
    }
    arguments["bytes"] = bytes;
    Json event = complete(name, int(op.lane), time);
    event["args"] = std::move(arguments);
    add(std::move(event));
  }

  struct Arrow {
    plan::Lane from, to;
  };

  /// Adds an arrow from the op that was waited for. Its tail must lie inside that op.
  void write_wait(const Arrow& arrow, const run::OpTime& awaited, const run::OpTime& time) {
    const Clock::time_point tail = std::max(awaited.begin, awaited.end - Clock::duration(1));
    const std::string id = text(trace_.rank, ".", ++arrows_);
    const auto end = [&](const char* phase, plan::Lane lane, Clock::time_point at) {
      return Json{{"ph", phase}, {"name", "wait"},   {"cat", "wait"},
                  {"id", id},    {"tid", int(lane)}, {"ts", micros(at)}};
    };
    add(end("s", arrow.from, tail));
    Json head = end("f", arrow.to, time.begin);
    head["bp"] = "e";
    add(std::move(head));
  }

  const RankTrace& trace_;
  std::ostringstream out_;
  int64_t arrows_ = 0;
};

/// Returns the ns to add to rank 0's steady clock for this rank's.
int64_t clock_offset(launch::Session& session) {
  constexpr int kMeetings = 5;
  std::string mine = session.host();
  for (int i = 0; i < kMeetings; ++i) {
    session.peers().largest(0);
    mine += text(" ", ns_of(Clock::now()));
  }
  const std::vector<std::string> all = session.peers().share(mine);
  const auto same_host = [&](const std::string& line) {
    return line.starts_with(session.host() + " ");
  };
  std::istringstream first(all[0]), here(*std::find_if(all.begin(), all.end(), same_host));
  std::string host;
  first >> host;
  here >> host;
  std::vector<int64_t> offsets;
  for (int64_t a = 0, b = 0; first >> a && here >> b;) offsets.push_back(b - a);
  std::sort(offsets.begin(), offsets.end());
  return offsets[offsets.size() / 2];
}

/// Returns the first moment of all traces, in ns of rank 0's clock.
int64_t common_origin(launch::Session& session, std::span<const run::TracedBody> bodies,
                      int64_t offset) {
  const Clock::time_point first = bodies.empty() ? Clock::now() : bodies.front().whole.begin;
  return session.peers().smallest(ns_of(first) - offset);
}

/// A file in which rank 0 joins the texts of all ranks, piece by piece.
class Joined {
 public:
  static constexpr size_t kPieceBytes = size_t(4) << 20;

  Joined(const std::string& path, const launch::Peers& peers) : path_(path), peers_(peers) {
    if (peers.rank() != 0) return;
    file_ = make_own(path);
    if (!file_) reason_ = errno;
  }

  void add(std::string_view text) {
    if (peers_.rank() == 0 && reason_ == 0) reason_ = write_all(file_, text);
  }

  void add_of_all(std::string mine) {
    // Peers send floats, and JSON takes blanks anywhere between events.
    mine.resize(round_up(mine.size(), sizeof(float)), ' ');
    const std::vector<std::string> sizes = peers_.share(text(mine.size()));
    add(mine);
    for (int rank = 1; rank < peers_.ranks(); ++rank) {
      add(",\n");
      add_pieces(mine, rank, size_t(std::stoull(sizes[size_t(rank)])));
    }
  }

  void close() {
    if (reason_ == 0) return;
    refuse(Exit::kIo, path_, ": could not be written: ", std::strerror(reason_));
  }

 private:
  void add_pieces(const std::string& mine, int rank, size_t bytes) {
    if (peers_.rank() != rank && peers_.rank() != 0) return;
    for (size_t begin = 0; begin < bytes; begin += kPieceBytes) {
      piece_.resize(std::min(kPieceBytes, bytes - begin) / sizeof(float));
      const size_t length = piece_.size() * sizeof(float);
      if (peers_.rank() == rank) {
        std::memcpy(piece_.data(), mine.data() + begin, length);
        peers_.send(piece_, 0);
      } else {
        peers_.receive(piece_, rank);
        add({reinterpret_cast<const char*>(piece_.data()), length});
      }
    }
  }

  const std::string path_;
  const launch::Peers& peers_;
  OpenFile file_;
  int reason_ = 0;  ///< errno of the first failure
  std::vector<float> piece_;
};

}  // namespace

int traced_bodies(const plan::Plan& plan) {
  const int64_t ops = std::max<int64_t>(1, plan::Rounds(plan.bodies[plan::kStep]).size());
  return int(std::clamp<int64_t>(kMostOps / ops, 1, kMostBodies));
}

std::string trace_events(const RankTrace& trace) { return Writer(trace).write(); }

void write_trace(const std::string& path, launch::Session& session, const plan::Plan& plan,
                 std::span<const run::TracedBody> bodies) {
  const int64_t offset = clock_offset(session);
  const int64_t origin = common_origin(session, bodies, offset) + offset;
  Joined file(path, session.peers());
  file.add("{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n");
  file.add_of_all(trace_events({.plan = plan,
                                .bodies = bodies,
                                .rank = session.rank(),
                                .host = session.host(),
                                .origin_ns = origin}));
  file.add("\n]}\n");
  file.close();
}

}  // namespace zero::train
