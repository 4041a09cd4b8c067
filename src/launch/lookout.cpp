#include "zero/launch/lookout.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <system_error>
#include <thread>
#include <utility>

#include "src/launch/hang_notes.hpp"
#include "src/launch/process_life.hpp"
#include "src/launch/stuck_launcher.hpp"
#include "zero/base/process_limits.hpp"
#include "zero/launch/session.hpp"

namespace zero::launch {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

/// Time for a dying rank to report its cause, and for the launcher to end this rank.
constexpr milliseconds kGrace(200);
/// Minimum and maximum time for which a rank waits until the launcher hears from the rank that ends
/// all, and the interval of its looks.
constexpr milliseconds kSoonestEnd(500), kLatestEnd(HangNotes::kPatience + milliseconds(1500)),
    kPause(100);
/// The interval of looks for the notes of other nodes, if nothing moves here, and if something
/// does.
constexpr milliseconds kNextLook(500), kNextLookInMotion(2000);
/// Time for the node of rank 0 to speak first.
constexpr milliseconds kLead(1000);
/// Ranks that fail together announce it within this time.
constexpr milliseconds kTogether(100);
/// Seconds. A rank speaks for others only if it gave a sign of life within half of this time.
constexpr double kPatienceOnDeath = 2;

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

std::string describe_death(const Word& dead, bool all_is_there) {
  const std::string step = dead.step > 0 ? text(", step ", dead.step) : "";
  return text(
      "rank ", dead.rank, " has died (process ", dead.process, "; its last op: ", dead.last_op,
      step, "): it was killed or has crashed - the launcher names the signal, ",
      "the kernel's log says whether memory ran out", all_is_there ? "" : "; start again to go on");
}

/// Runs in a thread of its own what may never return. Without one it is left out.
void do_aside(std::function<void()> work) {
  try {
    std::thread(std::move(work)).detach();
  } catch (const std::system_error&) {
    warn("no thread is left to look for the notes of a hang");
  }
}

}  // namespace

struct Lookout::NoteSearch {
  NoteSearch(const std::string& folder, const Placement& placement) : notes(folder, placement) {}

  HangNotes notes;
  std::atomic<int> asked{0};  ///< looks that were asked for; kNoMore: none will be
  static constexpr int kNoMore = -1;
  std::atomic<bool> searches{false}, found{false};
  std::mutex leaving;
  /// Lost links since anything moved here. The kernel forgets a link that it gives up.
  std::vector<LostLink> links;

  /// Times that the kernel was seen to have sent some of what this node had left to it.
  std::atomic<int64_t> sent{0};
  int64_t queued_bytes = 0;

  void look_at_links() {
    const Links seen = notes.links();
    for (const LostLink& link : seen.lost) {
      if (std::ranges::find(links, link) == links.end()) links.push_back(link);
    }
    if (std::exchange(queued_bytes, seen.queued_bytes) != seen.queued_bytes) ++sent;
  }
  void leave(std::span<const Word> words) {
    const std::lock_guard<std::mutex> lock(leaving);
    look_at_links();
    notes.leave(words, links);
  }

  /// Asks for a look at the folder.
  void ask() {
    searches = true;
    ++asked;
    asked.notify_one();
  }
  /// Looks as it is asked. It runs in a thread of its own, because it may never return.
  void serve() {
    for (int seen = 0;;) {
      asked.wait(seen);
      seen = asked;
      if (seen == kNoMore) return;
      found = notes.any();
      searches = false;
    }
  }
  void end() {
    asked = kNoMore;
    asked.notify_one();
  }
};

Lookout::Lookout(const Peers& peers, EndAll end_all)
    : rank_(peers.rank()),
      activity_(peers.activity()),
      end_all_(std::move(end_all)),
      bytes_(std::make_unique<MovedBytes>()) {
  watchdog_ = std::make_unique<Watchdog>(Watchdog::Options{
      .timeout_seconds = timeout_seconds_,
      .finished = [this] { return look(); },
      .running = [this] { return place(); },
      .on_hang = [this](const std::string& at, double seconds) { give_up(at, seconds); },
      .excused = [this] { return board_ && !sees_all() && activity_->place != nullptr; }});
  watchdog_->arm();
}

Lookout::~Lookout() {
  watchdog_.reset();
  if (owned_search_) owned_search_->end();
}

void Lookout::meet() {
  owned_ = std::make_unique<Board>();
  owned_->enter(milestone_);
  owned_->set_busy(busy_ > 0);
  board_ = owned_.get();
}

void Lookout::leave_notes_in(const std::string& folder, const Placement& placement) {
  if (folder.empty() || sees_all()) return;
  owned_search_ = std::make_shared<NoteSearch>(folder, placement);
  search_ = owned_search_.get();
  do_aside([search = owned_search_] { search->serve(); });
}

void Lookout::enter(Milestone milestone) {
  milestone_ = milestone;
  if (board_) board().enter(milestone);
}

void Lookout::set_patience(double seconds) {
  timeout_seconds_ = kTimesPatience * seconds;
  watchdog_->set_timeout(timeout_seconds_);
}

void Lookout::show_plan(const plan::Plan* plan) {
  const std::lock_guard<std::mutex> lock(plan_mutex_);
  plan_ = plan;
  if (plan_ == nullptr) board().forget_op();
}

void Lookout::change_busy(int by) {
  busy_ += by;
  if (board_) board().set_busy(works());
}

/// True if busy. A rank that waits for a peer does not work, even if it uses a core.
bool Lookout::works() const { return busy_ > 0 && activity_->place == nullptr; }

int64_t Lookout::look() {
  const NoteSearch* const search = search_;
  const int64_t sent = search ? search->sent.load() : 0;
  const int64_t mine = bytes_->count() + activity_->ended + worked() + sent;
  if (!board_) return mine;
  board().set_busy(works());
  board().beat(mine);
  if (board().another_gave_up()) follow_end();
  if (const std::optional<int> dead = board().dead_rank()) end_for_dead(*dead);
  const int64_t moved = board().moved();
  join_hang(moved);
  return moved;
}

/// Leaves a note if another node has, even if something moves here: a node without a note counts
/// as lost. Only the first living rank looks at the folder, which may be far away. Allocates
/// nothing until there is a note.
void Lookout::join_hang(int64_t moved) {
  const Clock::time_point now = Clock::now();
  const std::chrono::duration<double> patience(timeout_seconds_ / kTimesPatience);
  if (moved != moved_) {
    moved_ = moved;
    moved_at_ = now;
  }
  if (!search_ || left_note_) return;
  NoteSearch* const search = search_;
  const bool moves = now - moved_at_.load() < patience / 2;
  const bool waits = search->searches || now - looked_at_ < (moves ? kNextLookInMotion : kNextLook);
  if (!search->found && waits) return;
  looked_at_ = now;
  if (board().first_living(patience.count()) != rank_) return;
  look_at_links();
  if (!search->found) return search->ask();
  left_note_ = true;
  do_aside([search = owned_search_, seen = words_for_note()] { search->leave(seen); });
}

/// Remembers lost links while nothing moves here, and forgets them when something does.
void Lookout::look_at_links() {
  const std::lock_guard<std::mutex> lock(search_.load()->leaving);
  if (Clock::now() - moved_at_.load() < kNextLookInMotion) return search_.load()->links.clear();
  // Bytes that this look itself reads are no progress.
  const int64_t before = bytes_->count();
  search_.load()->look_at_links();
  bytes_->leave_out(bytes_->count() - before);
}

std::vector<Word> Lookout::words_for_note() const {
  const std::chrono::duration<double> age = Clock::now() - moved_at_.load();
  std::vector<Word> seen = words();
  for (Word& word : seen) word.moved_seconds = age.count();
  return seen;
}

/// Returns this rank's core time while it works, in hundredths of the timeout. This thread itself
/// takes less than one hundredth.
int64_t Lookout::worked() {
  const double now = cpu_seconds();
  if (works()) worked_seconds_ += now - cpu_seconds_;
  cpu_seconds_ = now;
  return int64_t(worked_seconds_ / (timeout_seconds_ / 100));
}

std::vector<Word> Lookout::words() const {
  const std::lock_guard<std::mutex> lock(plan_mutex_);
  return board().words(plan_);
}

std::string Lookout::place() const {
  const char* waits_at = activity_->place;
  return waits_at ? waits_at : name_of(milestone_);
}

void Lookout::end(const std::string& what, const std::string& blamed) const {
  end_all_(what, blamed);
  for (;;) pause();
}

void Lookout::give_up(const std::string& at, double patience) {
  std::string what = text("nothing finished for ", patience, " s - rank ", rank_, " is at ", at);
  if (!board_) end(what);
  const std::vector<Word> seen = words();
  let_first_report(seen, patience);
  std::string blamed;
  NoteSearch* const search = search_;
  // Told before the run's folder is touched, which may be on a file system that is dead.
  if (!sees_all()) std::fprintf(stderr, "zeroapp: rank %d hangs at %s\n", rank_, at.c_str());
  if (search) {
    search->leave(words_for_note());
    const Hang hang = search->notes.cause(patience);
    what = hang.what;
    blamed = hang.blamed;
    if (hang.is_cut) end_stuck_launcher();
    // A launcher may show no words of a node that it cannot reach.
    if (!search->notes.leads()) std::this_thread::sleep_for(kLead);
    what.insert(std::min(what.find('\n'), what.size()), text(" - rank ", rank_, " is at ", at));
  } else if (!sees_all()) {
    // Gives one rank of each node time to report its place before any rank ends all.
    std::this_thread::sleep_for(kSoonestEnd);
  } else if (seen.size() > 1) {
    what = describe_hang(seen, patience);
    what.insert(what.find('\n'), text(" - rank ", rank_, " is at ", at));
  }
  end(what, blamed);
}

void Lookout::end_for_dead(int dead) {
  std::this_thread::sleep_for(kGrace);
  if (board().another_gave_up()) follow_end();
  const std::vector<Word> seen = words();
  let_first_report(seen, kPatienceOnDeath);
  const auto found = std::ranges::find(seen, dead, &Word::rank);
  end(found == seen.end() ? text("rank ", dead, " has died")
                          : describe_death(*found, milestone() == Milestone::end),
      host_name());
}

/// Lets the first living rank report. The others follow its end.
void Lookout::let_first_report(std::span<const Word> words, double patience) {
  const auto first =
      std::ranges::find_if(words, [&](const Word& word) { return !is_silent(word, patience); });
  if (first != words.end() && first->rank != rank_) {
    for (int i = 0; i < 10 && !board().another_gave_up(); ++i) std::this_thread::sleep_for(kPause);
    if (board().another_gave_up()) follow_end();
  }
  board().give_up();
}

void Lookout::announce_end() {
  if (board_) board().give_up();
}

bool Lookout::lower_rank_ends() const {
  std::this_thread::sleep_for(kTogether);
  return board_ && board().lower_gave_up();
}

bool Lookout::another_ends() const {
  std::this_thread::sleep_for(kTogether);
  return board_ && board().another_gave_up();
}

void Lookout::follow_end() const {
  const Clock::time_point begun = Clock::now();
  // A rank that cannot be seen gets all the time.
  const auto has_ended = [this] {
    return board_ && board().another_gave_up() && !board().who_gave_up_lives();
  };
  std::this_thread::sleep_for(kSoonestEnd);
  while (!has_ended() && Clock::now() - begun < kLatestEnd) std::this_thread::sleep_for(kPause);
  // Ends at once, because a launcher spends a second or two on each process that does not, and
  // SIGTERM does not end ours.
  std::raise(SIGKILL);
  for (;;) pause();
}

void Lookout::leave() {
  if (!board_) return;
  board().leave();
  while (!board().others_have_left()) std::this_thread::sleep_for(milliseconds(1));
}

std::unique_ptr<Watchdog> make_watchdog(Session& session, double seconds,
                                        std::function<int64_t()> finished,
                                        std::function<std::string()> running) {
  Lookout& lookout = session.lookout();
  return std::make_unique<Watchdog>(Watchdog::Options{
      .timeout_seconds = seconds,
      .finished = std::move(finished),
      .running = std::move(running),
      .on_hang = [&lookout](const std::string& at, double waited) { lookout.give_up(at, waited); },
      .excused = [&lookout] { return lookout.is_patient(); }});
}

}  // namespace zero::launch
