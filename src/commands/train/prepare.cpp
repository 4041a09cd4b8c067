#include <algorithm>
#include <cstdio>

#include "src/commands/train/run.hpp"
#include "zero/commands/plan.hpp"
#include "zero/commands/version.hpp"
#include "zero/config/effective.hpp"
#include "zero/config/steps.hpp"
#include "zero/train/agreement.hpp"
#include "zero/train/cheapest_change.hpp"
#include "zero/train/launches.hpp"
#include "zero/train/trace.hpp"

namespace zero::commands {

void Run::read_input() {
  session_.together([&] { input_ = read_config_file(line_.input, line_.overrides); });
  if (session_.is_first()) {
    for (const std::string& warning : input_.warnings) {
      std::fprintf(stderr, "zeroapp: warning: %s\n", warning.c_str());
    }
  }
  train::require_same(session_, "the program", version());
  train::require_same_settings(session_, effective_toml(input_));
  config_ = input_.config;
  session_.start_threads(config_.run.threads);
}

void Run::compile_plan() {
  const train::Team team{.ranks = session_.ranks(), .threads = session_.threads()};
  const int64_t nodes_most = session_.peers().largest(session_.node_ranks());
  train::MemoryLimit limit = train::host_limit(config_, int(nodes_most));
  // Free memory differs by moments and nodes; the least counts for all.
  limit.bytes = session_.peers().smallest(limit.bytes);
  session_.together([&] {
    train::resolve_largest(config_, team, limit);
    build_ = train::build(config_, team);
    const plan::Machine machine = plan::machine_profile("host", train::compute_dtype(config_));
    plan_ = train::report_plan(build_, machine, limit);
  });
  largest_ = largest_text(input_.config, build_.batch.micro, limit);
  session_.together([&] { refuse_unless_fits(plan_, config_, team, {.most = team.ranks}); });
  train::require_same(session_, "the plan", text(build_.plan.hash()));
}

void Run::open_data_sets() {
  std::string digest, warning;
  session_.together([&] {
    data_ = open_data(train::data_options(config_));
    warning = resolve_steps(config_, data_.train->samples(), build_.batch.train);
    rates_ = train::learning_rates(config_);
    // It reads everything, which ranks of one node would find to be the same.
    if (session_.leads_node()) digest = text(data_.fingerprint());
  });
  if (session_.is_first() && !warning.empty()) {
    std::fprintf(stderr, "zeroapp: warning: %s\n", warning.c_str());
  }
  train::require_same(session_, "the data", digest);
}

void Run::open_folder() {
  session_.together([&] {
    if (session_.is_first()) folder_.emplace(config_.run.output);
  });
  session_.record_failures_in(config_.run.output);
  session_.together([&] {
    if (folder_) begin_files();
  });
}

void Run::begin_files() {
  const std::string& ended = folder_->earlier_end();
  if (!folder_->moved_to().empty()) {
    say(text("earlier run here: ", ended, ended.empty() ? "" : ", ",
             "no checkpoint to go on from; its files moved to ", folder_->moved_to(), "\n"));
  }
  std::vector<std::string> command = {"zeroapp", line_.input};
  command.insert(command.end(), line_.overrides.begin(), line_.overrides.end());
  train::begin_launch(folder_->path(), {.host = session_.host(),
                                        .ranks = session_.ranks(),
                                        .threads = session_.threads(),
                                        .version = version(),
                                        .command = command});
  input_.config = config_;
  write_file("effective.toml", effective_toml(input_));
}

void Run::make_engine() {
  // A plan of large products is slow long before it hangs.
  const double patience = std::max(30.0, 20 * plan_.forecast.step_seconds);
  const double seconds = config_.run.watchdog ? double(config_.run.watchdog) : patience;
  engine_.emplace(
      session_, build_, train::rules_of(config_, rates_),
      train::Engine::Options{.seed = uint64_t(config_.run.seed), .watchdog_seconds = seconds});
  if (config_.profile.trace) engine_->executor().keep_trace(train::traced_bodies(build_.plan));
}

}  // namespace zero::commands
