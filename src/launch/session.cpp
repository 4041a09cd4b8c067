#include "zero/launch/session.hpp"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <sstream>
#include <thread>

#include "src/launch/hang_notes.hpp"
#include "zero/base/error.hpp"
#include "zero/base/network.hpp"
#include "zero/base/process_limits.hpp"
#include "zero/base/text.hpp"
#include "zero/comm/mpi_world.hpp"
#include "zero/config/key_differences.hpp"
#include "zero/device/device.hpp"
#include "zero/launch/cores.hpp"
#include "zero/launch/launch.hpp"
#include "zero/launch/launch_record.hpp"
#include "zero/launch/lookout.hpp"
#include "zero/launch/process_environment.hpp"
#include "zero/launch/thread_room.hpp"

namespace zero::launch {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, separator);) words.push_back(word);
  return words;
}

/// A rank that has told the launcher of its end waits no longer than this.
constexpr std::chrono::seconds kAbortPatience(1);
constexpr const char* kAllIsThere = "; all results of the run were on disk already";
const std::string kNoFolder;

constexpr const char* kAdvice = " - start the same program with the same files on all ranks";

/// Returns the ranks whose text is not empty and differs from rank 0's.
std::vector<int> others(const std::vector<std::string>& all) {
  std::vector<int> found;
  for (size_t rank = 1; rank < all.size(); ++rank) {
    if (!all[rank].empty() && all[rank] != all[0]) found.push_back(int(rank));
  }
  return found;
}

std::string sentence(const std::string& what, const std::vector<int>& ranks) {
  std::string out = what + " differs between rank 0 and rank ";
  for (size_t i = 0; i < ranks.size(); ++i) out += text(i == 0 ? "" : ", ", ranks[i]);
  return out;
}

}  // namespace

Session::Session(int& argc, char**& argv) : host_(host_name()) {
  require_open_files();
  require_folder_of_mpi();
  require_threads_of_mpi();
  int provided = 0;
  comm::check_mpi(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided), "MPI_Init_thread");
  threaded_ = provided >= MPI_THREAD_MULTIPLE;
  comm::check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
  {
    // Ranks cannot talk to each other yet, so each that waits in vain reports for itself.
    const Failure alone{.exit = Exit::kHang,
                        .what = "MPI_Init has returned, but another rank does not answer",
                        .rank = rank_,
                        .host = host_};
    Watchdog first({.timeout_seconds = Lookout::kTimesPatience * Lookout::kPatienceSeconds,
                    .finished = [] { return int64_t(0); },
                    .running = [] { return name_of(Milestone::start); },
                    .on_hang =
                        [&](const std::string&, double) {
                          std::fputs(error_line(alone).c_str(), stderr);
                          leave(alone.exit);
                        }});
    first.arm();
    peers_ = std::make_unique<Peers>();
  }
  lookout_ = std::make_unique<Lookout>(
      *peers_, [this](const std::string& what, const std::string& blamed) {
        end_all(std::make_exception_ptr(NodeError(Exit::kHang, what, blamed)));
      });
  lookout_->meet();
  given_cores_ = allowed_cores().numbers;
  count_sharers();
}

namespace {

/// Returns the neighbours of every host, by ranks' "host:cores"; -1 if hosts have others.
int even_ranks(const std::vector<std::string>& ranks) {
  const auto host = [&](size_t rank) { return ranks[rank].substr(0, ranks[rank].find(':')); };
  size_t each = 0, begin = 0;
  std::set<std::string> seen;
  for (size_t rank = 1; rank <= ranks.size(); ++rank) {
    if (rank < ranks.size() && host(rank) == host(begin)) continue;
    if (each == 0) each = rank;
    if (rank - begin != each || !seen.insert(host(begin)).second) return -1;
    begin = rank;
  }
  return int(each);
}

}  // namespace

void Session::count_sharers() {
  const Cores cores = allowed_cores();
  std::string mine = host_ + ":";
  for (const int core : cores.numbers) mine += text(core, ",");
  const std::vector<std::string> all = peers_->share(mine);
  const auto is_here = [&](const std::string& other) { return other.starts_with(host_ + ":"); };
  sharers_ = int(std::count(all.begin(), all.end(), mine));
  node_ranks_ = int(std::count_if(all.begin(), all.end(), is_here));
  even_node_ranks_ = even_ranks(all);
  leads_node_ = std::none_of(all.begin(), all.begin() + rank(), is_here);
  threads_ = std::max(1, cores.count() / sharers_);
}

Session::~Session() {
  kernel_threads_.reset();
  peers_.reset();
  finalizes_ = true;
  comm::warn_mpi(MPI_Finalize(), "MPI_Finalize");
  lookout_->leave();
}

void Session::require_whole_launch() {
  const Launch launch = current_launch();
  // If every task became a job of its own, the first reports for all.
  if (launch.tasks > ranks() && launch.task > 0 && ranks() == 1) throw Ended{Exit::kUsage};
  on_every_rank([&] {
    require_all_tasks();
    require_threads();
  });
}

void Session::require_all_tasks() const {
  const Launch launch = current_launch();
  if (launch.tasks <= ranks()) return;
  refuse(Exit::kUsage, "started as ", launch.tasks, " tasks, but MPI sees ",
         counted(ranks(), "rank"), " - ", launch.hint);
}

void Session::require_threads() const {
  if (threaded_) return;
  refuse(Exit::kUsage,
         "this MPI lacks MPI_THREAD_MULTIPLE, which lanes need to communicate - "
         "use one that was built with it, as Debian's libopenmpi-dev");
}

std::pair<NodeDevices, int> Session::node_devices(bool share) {
  std::string mine = host_;
  for (const DeviceInfo& device : usable_devices()) mine += "\t" + device.id;
  NodeDevices node{.host = host_,
                   .of_rank = {},
                   .trouble = device_trouble(),
                   .exit = exit_of_device_trouble(),
                   .share = share};
  int node_rank = 0;
  const std::vector<std::string> all = peers_->share(mine);
  for (size_t r = 0; r < all.size(); ++r) {
    std::vector<std::string> words = split(all[r], '\t');
    if (words.front() != host_) continue;
    if (int(r) == rank()) node_rank = int(node.of_rank.size());
    words.erase(words.begin());
    node.of_rank.push_back(std::move(words));
  }
  return {std::move(node), node_rank};
}

void Session::take_device(bool share) {
  if (!drives_devices()) return;
  const std::pair<NodeDevices, int> seen = node_devices(share);
  const NodeDevices& node = seen.first;
  const int node_rank = seen.second;
  on_every_rank([&] {
    const int device = choose_device(node, node_rank);
    use_device(device);
    stay_near(node.of_rank[size_t(node_rank)][size_t(device)]);
  });
  const std::string hidden = hidden_devices_warning(node);
  if (leads_node_ && !hidden.empty()) warn(hidden);
  shares_devices_ = peers_->largest(zero::shares_devices(node)) != 0;
  shares_cards_ = peers_->largest(zero::shares_cards(node)) != 0;
  count_sharers();
}

/// Moves this thread, threads that it starts later, and so the memory that they touch first, near
/// the device. Threads of a host optimizer are among them.
void Session::stay_near(const std::string& device) {
  const NodeParts node;
  device_ = device.substr(0, device.find(' '));
  const CoreChoice choice = choose_cores(given_cores_, node.cores_of(node.numa_node_of(device_)));
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : choice.cores) CPU_SET(core, &set);
  const bool taken = sched_setaffinity(0, sizeof set, &set) == 0;
  cores_text_ = taken ? choice.words : counted(allowed_cores().count(), "core");
}

std::vector<RankPlace> Session::places() {
  const RankPlace mine = place_of(NodeParts(), {.host = host_,
                                                .device = device_,
                                                .allowed = given_cores_,
                                                .cores = allowed_cores().numbers});
  std::vector<RankPlace> all;
  for (const std::string& packed : peers_->share(pack_place(mine))) {
    all.push_back(unpack_place(packed));
  }
  return all;
}

void Session::start_threads(int64_t wanted, bool share_device) {
  take_device(share_device);
  on_every_rank([&] {
    if (wanted == 0) wanted = threads_asked(std::getenv);
    if (wanted == 0) wanted = std::min<int64_t>(threads_, kMostThreads);
  });
  threads_ = int(peers_->smallest(wanted));
  // OpenMP would end the program if the system refused it a thread.
  std::optional<ThreadTrial> trial;
  on_every_rank([&] { trial.emplace(threads_); });
  trial.reset();
  on_every_rank([&] { kernel_threads_.emplace(threads_); });
}

void Session::record_failures_in(const std::string& folder) {
  folder_ = folder;
  Placement placement{.hosts = {}, .launch = {}, .host = host_};
  std::string mine = host_;
  if (leads_node_) {
    for (const OwnAddress& own : own_addresses()) mine += " " + own.address;
  }
  for (const std::string& line : peers_->share(mine)) {
    const std::vector<std::string> words = split(line, ' ');
    placement.hosts.push_back(words[0]);
    for (size_t i = 1; i < words.size() && words[0] != host_; ++i) {
      placement.addresses.emplace(words[i], words[0]);
    }
  }
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  placement.launch = peers_->share(text(host_, " ", getpid(), " ", now)).front();
  lookout_->leave_notes_in(folder, placement);
}

Failure Session::complete(Failure failure) const {
  failure.rank = rank_;
  failure.host = host_;
  if (failure.exit == Exit::kDevice && !failure.knows_node) failure.blamed = host_;
  failure.step = step_;
  const size_t first_line = std::min(failure.what.find('\n'), failure.what.size());
  if (lookout_->milestone() == Milestone::end) failure.what.insert(first_line, kAllIsThere);
  return failure;
}

bool Session::report(const Failure& failure) const {
  // If all results are on disk, the folder says so and may belong to another run already.
  const std::string& folder = lookout_->milestone() == Milestone::end ? kNoFolder : folder_;
  if (!claim_error_record(folder, failure)) return false;
  std::fputs(error_line(failure).c_str(), stderr);
  if (folder.empty()) return true;
  std::string how = "error " + error_id(failure);
  if (failure.step > 0) how += text(" in step ", failure.step);
  if (!end_launch(folder, how)) {
    warn("launches.jsonl could not be written");
  }
  return true;
}

void Session::on_every_rank(const std::function<void()>& work) {
  std::exception_ptr error;
  try {
    const Lookout::Busy busy(*lookout_);
    work();
  } catch (...) {
    error = std::current_exception();
  }
  const int first = int(peers_->smallest(error ? rank() : ranks()));
  if (first == ranks()) return;
  int64_t status = 0;
  if (first == rank()) {
    const Failure failure = complete(failure_of(error));
    report(failure);
    status = int64_t(failure.exit);
  }
  throw Ended{Exit(peers_->largest(status))};
}

void Session::end_all_on_error(const std::function<void()>& work) {
  try {
    work();
  } catch (const Ended&) {
    throw;
  } catch (...) {
    let_cause_speak(std::current_exception());
    end_all(std::current_exception());
  }
}

void Session::let_cause_speak(const std::exception_ptr& error) const noexcept {
  if (!folder_.empty() || ranks() == 1 || failure_of(error).exit != Exit::kHang) return;
  if (lookout_->another_ends()) lookout_->follow_end();
}

void Session::end_all(const std::exception_ptr& error) noexcept {
  const Failure failure = complete(failure_of(error));
  lookout_->announce_end();
  // Without a folder there is no record to claim. The lowest of the ranks that fail together
  // speaks.
  if (folder_.empty() && ranks() > 1 && lookout_->lower_rank_ends()) lookout_->follow_end();
  // The rank that was first ends this rank too, with its own status.
  if (!report(failure)) lookout_->follow_end();
  std::fflush(nullptr);
  leave(failure.exit);
}

/// Ends this process after kAbortPatience at most. A launcher that already ends the others may not
/// listen, or may end this rank only after its kill delay.
void Session::leave(Exit exit) const noexcept {
  try {
    std::thread([exit] {
      std::this_thread::sleep_for(kAbortPatience);
      _exit(int(exit));
    }).detach();
    // MPI may not be called after MPI_Finalize has begun.
    if (!finalizes_) MPI_Abort(MPI_COMM_WORLD, int(exit));
  } catch (...) {
    // Without a second thread nothing would end an unanswered call, so MPI is not called.
  }
  _exit(int(exit));
}

void require_same(Session& session, const std::string& what, const std::string& mine) {
  const std::vector<int> differ = others(session.peers().share(mine));
  session.on_every_rank([&] {
    if (!differ.empty()) refuse(Exit::kRanksDisagree, sentence(what, differ), kAdvice);
  });
}

void require_same_settings(Session& session, const std::string& mine) {
  const std::vector<std::string> all = session.peers().share(mine);
  std::vector<int> differ = others(all);
  // Equal values may come from files of different names.
  std::erase_if(differ,
                [&](int rank) { return differing_settings(all[0], all[size_t(rank)]).empty(); });
  session.on_every_rank([&] {
    if (differ.empty()) return;
    refuse(Exit::kRanksDisagree, sentence("the configuration", differ), ": ",
           differing_settings(all[0], all[size_t(differ[0])]), kAdvice);
  });
}

}  // namespace zero::launch
