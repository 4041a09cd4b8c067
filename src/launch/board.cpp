#include "zero/launch/board.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>

#include "src/launch/process_life.hpp"
#include "zero/comm/mpi_world.hpp"
#include "zero/launch/watchdog.hpp"

namespace zero::launch {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
/// Position of the body's number in Line::op. The bits below hold the lane's place in the body.
constexpr int kBodyShift = 56;

/// Returns the time of a clock that all processes of a node share.
int64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

std::string tenths(double seconds) {
  char out[32];
  std::snprintf(out, sizeof out, "%.1f s", seconds);
  return out;
}

/// A rank lives now if its sign of life is not older.
constexpr double kFreshSeconds = 0.5;

std::string step_of(const Word& word) {
  return word.step > 0 ? text(", step ", word.step) : std::string();
}

}  // namespace

std::string name_of(Milestone milestone) {
  constexpr const char* kNames[] = {
      "start", "input file", "plan", "data", "folder and checkpoints", "memory and first state",
      "steps", "report",     "end"};
  return text("its ", kNames[size_t(milestone)]);
}

bool is_silent(const Word& word, double patience_seconds) {
  return word.died || word.silent_seconds > patience_seconds / 2;
}

namespace {

/// Returns "rank 5", or over several nodes "rank 5 on n3".
std::string name_of(const Word& word) {
  return text("rank ", word.rank, word.host.empty() ? "" : " on " + word.host);
}

std::string last_op_of(const Word& word) { return "last op: " + word.last_op + step_of(word); }

/// Returns "node n2 does not answer node n1 (10.78.0.2 by eth0)" for some links.
std::string lost_links_text(std::span<const LostLink> links) {
  constexpr size_t kNamed = 4;
  std::string out;
  for (size_t i = 0; i < std::min(kNamed, links.size()); ++i) {
    const LostLink& link = links[i];
    out += text(i == 0 ? "" : "; ", "node ", link.to, " does not answer node ", link.from, " (",
                link.address, link.interface.empty() ? "" : " by " + link.interface, ")");
  }
  if (links.size() > kNamed) out += text("; and ", links.size() - kNamed, " links more");
  return out.empty() ? "" : out + "; look at the link between them";
}

/// Returns what is wrong with ranks that are to blame; "" if none is.
std::string blame(std::span<const Word> words, double patience_seconds, const Silence& silence) {
  std::string silent, works;
  for (const Word& word : words) {
    if (is_silent(word, patience_seconds)) {
      silent += text(silent.empty() ? "" : "; ", "no word from ", name_of(word), " for ",
                     tenths(word.silent_seconds), "; its ", last_op_of(word));
    } else if (word.works) {
      works += text(works.empty() ? "" : "; ", name_of(word), " lives, but its op does not ",
                    "end; its ", last_op_of(word));
    }
  }
  if (!silent.empty() || !works.empty()) return silent.empty() ? works : silent;
  const std::string lost = lost_links_text(silence.links);
  // Its word may only be late.
  for (const std::string& node : silence.nodes) {
    silent += text(silent.empty() ? "" : "; ", "no word from node ", node, ", perhaps lost");
  }
  return text(lost, lost.empty() || silent.empty() ? "" : "; ", silent);
}

}  // namespace

std::string describe_hang(std::span<const Word> words, double patience_seconds,
                          const Silence& silence) {
  std::string lines;
  for (const Word& word : words) {
    const bool silent = is_silent(word, patience_seconds);
    const char* state = silent ? "says nothing" : word.works ? "is at work" : "waits";
    lines += text("\n  ", name_of(word), " ", state, ", ", last_op_of(word));
    if (word.moved_seconds) lines += ", its node moved " + tenths(*word.moved_seconds) + " ago";
  }
  for (const std::string& node : silence.nodes) lines += "\n  node " + node + " says nothing";
  const std::string blamed = blame(words, patience_seconds, silence);
  return (blamed.empty() ? "all ranks wait for each other" : blamed) + lines;
}

std::string blamed_node(std::span<const Word> words, double patience_seconds,
                        const Silence& silence) {
  const auto silent = std::ranges::find_if(
      words, [&](const Word& word) { return is_silent(word, patience_seconds); });
  if (silent != words.end()) return silent->host;
  const auto works = std::ranges::find_if(words, &Word::works);
  if (works != words.end()) return works->host;
  if (!silence.nodes.empty()) return silence.nodes[0];
  for (const LostLink& link : silence.links) {
    const auto other = [&](const LostLink& more) {
      return more.to == link.to && more.from != link.from;
    };
    if (std::ranges::any_of(silence.links, other)) return link.to;
  }
  return "";
}

struct alignas(64) Board::Line {
  std::atomic<int64_t> process{getpid()}, beat_ns{0}, step{0}, finished{0}, moved{0};
  std::atomic<int64_t> op{0};  ///< body and place in it; 0: none
  std::atomic<Milestone> milestone{Milestone::start};
  std::atomic<bool> works{false}, busy{false}, gave_up{false};
  LifeLock life;

  double silent_seconds() const { return double(now_ns() - beat_ns.load(kRelaxed)) * 1e-9; }
};

struct Board::Lines {
  comm::NodeMemory memory{sizeof(Line)};

  Line* of(int rank) const { return reinterpret_cast<Line*>(memory.of(rank)); }
};

Board::Board() : lines_(std::make_unique<Lines>()) {
  std::construct_at(&mine());
  live(false, 0);
}

Board::~Board() { leave(); }

Board::Line& Board::mine() const { return *lines_->of(rank()); }

template <class Is>
bool Board::any_other(const Is& is) const {
  for (int r = 0; r < lines_->memory.ranks(); ++r) {
    Line* line = lines_->of(r);
    if (r != rank() && line && is(*line)) return true;
  }
  return false;
}

int Board::rank() const { return lines_->memory.rank(); }

bool Board::shows_all() const {
  for (int r = 0; r < lines_->memory.ranks(); ++r) {
    if (lines_->of(r) == nullptr) return false;
  }
  return true;
}

void Board::enter(Milestone milestone) { mine().milestone.store(milestone, kRelaxed); }

void Board::forget_op() { mine().op.store(0, kRelaxed); }

void Board::begin_step(int64_t step) { mine().step.store(step, kRelaxed); }

void Board::begin_op(plan::BodyId body, int64_t running) {
  mine().op.store(int64_t(body) << kBodyShift | (running + 1), kRelaxed);
}

void Board::live(bool works, int64_t finished_ops) {
  Line& line = mine();
  line.works.store(works, kRelaxed);
  line.finished.store(finished_ops, kRelaxed);
  line.beat_ns.store(now_ns(), kRelaxed);
}

int64_t Board::finished_ops() const {
  int64_t sum = 0;
  for (int r = 0; r < lines_->memory.ranks(); ++r) {
    if (const Line* line = lines_->of(r)) sum += line->finished.load(kRelaxed);
  }
  return sum;
}

void Board::beat(int64_t moved) {
  mine().moved.store(moved, kRelaxed);
  mine().beat_ns.store(now_ns(), kRelaxed);
}

int64_t Board::moved() const {
  int64_t sum = 0;
  for (int r = 0; r < lines_->memory.ranks(); ++r) {
    const Line* line = lines_->of(r);
    if (line) sum += line->finished.load(kRelaxed) + line->moved.load(kRelaxed);
  }
  return sum;
}

void Board::set_busy(bool busy) { mine().busy.store(busy, kRelaxed); }

bool Board::any_is_busy() const {
  const auto is_busy = [](const Line& line) {
    return line.busy.load(kRelaxed) && line.silent_seconds() < kFreshSeconds;
  };
  return is_busy(mine()) || any_other(is_busy);
}

void Board::give_up() { mine().gave_up.store(true); }

bool Board::another_gave_up() const {
  return any_other([](const Line& line) { return line.gave_up.load(); });
}

bool Board::lower_gave_up() const {
  for (int r = 0; r < rank(); ++r) {
    const Line* const line = lines_->of(r);
    if (line && line->gave_up.load()) return true;
  }
  return false;
}

bool Board::who_gave_up_lives() const {
  return any_other([](Line& line) { return line.gave_up.load() && !line.life.has_died(); });
}

std::optional<int> Board::dead_rank() const {
  for (int r = 0; r < lines_->memory.ranks(); ++r) {
    Line* line = lines_->of(r);
    if (r != rank() && line && line->life.has_died()) return r;
  }
  return {};
}

int Board::first_living(double patience_seconds) const {
  for (int r = 0; r < rank(); ++r) {
    Line* line = lines_->of(r);
    if (line == nullptr || line->beat_ns.load(kRelaxed) == 0) continue;
    Word word;
    word.silent_seconds = line->silent_seconds();
    word.died = line->life.has_died();
    if (!is_silent(word, patience_seconds)) return r;
  }
  return rank();
}

void Board::leave() { mine().life.leave(); }

bool Board::others_have_left() const {
  return !any_other([](Line& line) { return !line.life.has_left() && !line.life.has_died(); });
}

std::vector<Word> Board::words(const plan::Plan* plan) const {
  std::vector<Word> words;
  for (int r = 0; r < lines_->memory.ranks(); ++r) {
    Line* line = lines_->of(r);
    // The rank cannot be seen, or has not made its line yet.
    if (line == nullptr || line->beat_ns.load(kRelaxed) == 0) continue;
    Word word{.rank = r,
              .process = line->process.load(kRelaxed),
              .silent_seconds = line->silent_seconds(),
              .works = line->works.load(kRelaxed),
              .died = r != rank() && line->life.has_died(),
              .step = line->step.load(kRelaxed),
              .last_op = "none, at " + name_of(line->milestone.load(kRelaxed))};
    const int64_t op = line->op.load(kRelaxed);
    const int64_t running = (op & ((int64_t(1) << kBodyShift) - 1)) - 1;
    if (running >= 0 && plan != nullptr) {
      const plan::Body& body = plan->bodies[size_t(op >> kBodyShift)];
      const plan::Turn turn = run::turn_running(body, running);
      word.last_op = text(describe_op(*plan, body, turn), " (op ", turn.op, " of ", body.name, ")");
    }
    words.push_back(std::move(word));
  }
  return words;
}

}  // namespace zero::launch
