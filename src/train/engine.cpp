#include "zero/train/engine.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "zero/comm/mpi.hpp"
#include "zero/comm/shm.hpp"
#include "zero/train/initial_weights.hpp"
#include "zero/train/progress.hpp"

namespace zero::train {
namespace {

/// Lanes that communicate are all but compute.
constexpr int kChannels = plan::kLanes - 1;

bool wants_mpi() {
  const char* wanted = std::getenv("ZERO_COMM");
  return wanted && std::string(wanted) == "mpi";
}

void add(comm::Traffic& sum, const comm::Traffic& part) {
  sum.calls += part.calls;
  sum.elements_sent += part.elements_sent;
  sum.bytes_sent += part.bytes_sent;
}

}  // namespace

std::vector<std::unique_ptr<comm::Communicator>> make_communicators(int ranks) {
  const bool shared = ranks > 1 && !wants_mpi() && comm::all_ranks_share_a_node();
  std::vector<std::unique_ptr<comm::Communicator>> comms;
  for (int channel = 0; channel < kChannels; ++channel) {
    if (ranks == 1) {
      comms.push_back(comm::make_self());
    } else {
      comms.push_back(shared ? comm::make_shm({}) : comm::make_mpi({}));
    }
  }
  return comms;
}

Engine::Engine(Session& session, const Build& build, const run::Rules& rules,
               const Options& options)
    : session_(session), build_(build) {
  session_.alone([&] { comms_ = make_communicators(session_.ranks()); });
  run::LaneComms lanes{};
  for (size_t i = 0; i < comms_.size(); ++i) lanes[i + 1] = comms_[i].get();
  session_.together([&] {
    executor_ = std::make_unique<run::Executor>(build_.plan, rules, lanes);
    // Lanes may wait for peers that now never come, so the failing one ends all ranks itself.
    executor_->set_error_hook([this] { session_.end_all(std::current_exception()); });
    fill_initial_weights(view(), options.seed, session_.threads());
    state() = kernels::initial_step_state(rules.decide);
  });
  start_watchdog(options.watchdog_seconds);
}

void Engine::start_watchdog(double timeout_seconds) {
  const auto progress = executor_->progress();
  const auto running = [this, progress] {
    return describe_progress(build_.plan, plan::BodyId(body_.load()), progress);
  };
  const auto on_hang = [this, timeout_seconds](const std::string& what) {
    // Every rank that hangs says where, and has the time to do so before the first one ends all.
    std::fprintf(stderr, "zeroapp: rank %d hangs at %s\n", session_.rank(), what.c_str());
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    session_.end_all(std::make_exception_ptr(
        Error(Exit::kHang, text("nothing finished for ", timeout_seconds, " s - ", what))));
  };
  watchdog_ = std::make_unique<Watchdog>(
      Watchdog::Options{.timeout_seconds = timeout_seconds,
                        .finished = [progress] { return finished_ops(progress); },
                        .running = running,
                        .on_hang = on_hang});
  session_.peers().watch_with(watchdog_.get());
}

Engine::~Engine() { session_.peers().watch_with(nullptr); }

void Engine::run(plan::BodyId body, const kernels::StepInputs& inputs) {
  using Clock = std::chrono::steady_clock;
  body_ = body;
  const Clock::time_point start = Clock::now();
  {
    const Watchdog::Armed armed(watchdog_.get());
    executor_->run(body, inputs);
  }
  last_seconds_ = std::chrono::duration<double>(Clock::now() - start).count();
  seconds_[body] += last_seconds_;
  ++runs_[body];
}

kernels::StepState& Engine::state() {
  return executor_->values<kernels::StepState>(build_.plan.step_state)[0];
}

StateView Engine::view() {
  return {.plan = &build_.plan, .rank = session_.rank(), .bytes = [this](int32_t buffer) {
            return executor_->bytes(buffer);
          }};
}

double Engine::exposed_seconds() const {
  return executor_->times()[size_t(plan::Lane::compute)].wait_seconds;
}

comm::TrafficTable Engine::traffic() const {
  comm::TrafficTable sum;
  for (const auto& comm : comms_) {
    add(sum.all_gather, comm->traffic().all_gather);
    add(sum.reduce_scatter, comm->traffic().reduce_scatter);
    add(sum.all_reduce, comm->traffic().all_reduce);
    add(sum.broadcast, comm->traffic().broadcast);
  }
  return sum;
}

std::string Engine::backend() const { return std::string(comms_.front()->backend()); }

}  // namespace zero::train
