#include "zero/commands/train.hpp"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <optional>

#include "zero/commands/plan.hpp"
#include "zero/commands/version.hpp"
#include "zero/config/read_config.hpp"
#include "zero/train/banner.hpp"
#include "zero/train/product_peak.hpp"
#include "zero/train/region_table.hpp"
#include "zero/train/run_folder.hpp"
#include "zero/train/run_log.hpp"
#include "zero/train/sampler.hpp"
#include "zero/train/summary.hpp"

namespace zero::commands {
namespace {

using Clock = std::chrono::steady_clock;
using train::Session;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Ends all ranks unless all that have a text have the same, naming those that differ from rank 0.
void require_same(Session& session, const std::string& what, const std::string& mine) {
  const std::vector<std::string> all = session.peers().share(mine);
  std::string others;
  for (size_t rank = 1; rank < all.size(); ++rank) {
    if (!all[rank].empty() && all[rank] != all[0]) others += text(others.empty() ? "" : ", ", rank);
  }
  session.together([&] {
    if (others.empty()) return;
    refuse(Exit::kRanksDisagree, what, " differs between rank 0 and rank ", others,
           " - start the same program with the same files on all ranks");
  });
}

std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// One run of the program on one rank, from the input file to the summary.
class Run {
 public:
  Run(Session& session, const CommandLine& line, Clock::time_point start)
      : session_(session), line_(line), start_(start) {}

  void read_input();
  void compile_plan();
  void open_data_sets();
  void open_folder();
  void make_engine();
  void introduce();
  void train_steps();
  void report();

 private:
  train::LogContext log_context(double peak_flops) const;
  void write_file(const std::string& name, const std::string& content) const;
  void write_samples();
  void say(const std::string& text) const {
    if (session_.is_first()) std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
  }

  Session& session_;
  const CommandLine& line_;
  const Clock::time_point start_;
  RunConfig config_;
  train::Build build_;
  train::PlanReport plan_;
  DataSets data_;
  std::optional<train::RunFolder> folder_;
  std::vector<float> rates_;
  std::optional<train::Engine> engine_;
  std::optional<train::RunLog> log_;
  train::Outcome outcome_;
  int64_t peak_pss_ = 0;
  double start_seconds_ = 0, evaluation_seconds_ = 0;
};

void Run::read_input() {
  ConfigInput input;
  session_.together([&] { input = read_config_file(line_.input, line_.overrides); });
  if (session_.is_first()) {
    for (const std::string& warning : input.warnings) {
      std::fprintf(stderr, "zeroapp: warning: %s\n", warning.c_str());
    }
  }
  std::string settings = file_text(line_.input);
  for (const std::string& setting : line_.overrides) settings += "\n" + setting;
  require_same(session_, "the program", version());
  require_same(session_, "the configuration", settings);
  config_ = input.config;
  session_.start_threads(config_.run.threads);
}

void Run::compile_plan() {
  const train::Team team{.ranks = session_.ranks(), .threads = session_.threads()};
  const int64_t nodes_most = session_.peers().largest(session_.node_ranks());
  session_.together([&] {
    build_ = train::build(config_, team);
    rates_ = train::learning_rates(config_);
    const plan::Machine machine = plan::machine_profile("host", train::compute_dtype(config_));
    plan_ = train::report_plan(build_, machine, train::host_limit(config_, int(nodes_most)));
  });
  // Free memory differs by moments and nodes; the least counts for all.
  plan_.limit.bytes = session_.peers().smallest(plan_.limit.bytes);
  session_.together([&] { refuse_unless_fits(plan_, config_, team, {.most = team.ranks}); });
  require_same(session_, "the plan", text(build_.plan.hash()));
}

void Run::open_data_sets() {
  std::string digest;
  session_.together([&] {
    data_ = open_data({.train = config_.data.train,
                       .validation = config_.data.validation,
                       .validation_fraction = config_.data.validation_fraction,
                       .sequence_length = config_.data.sequence_length,
                       .max_train_samples = config_.data.max_train_samples,
                       .max_validation_samples = config_.data.max_validation_samples,
                       .vocab_size = build_.model.vocabulary,
                       .seed = uint64_t(config_.run.seed)});
    // It reads everything, which ranks of one node would find to be the same.
    if (session_.leads_node()) digest = text(data_.fingerprint());
  });
  require_same(session_, "the data", digest);
}

void Run::open_folder() {
  session_.together([&] {
    if (session_.is_first()) folder_.emplace(config_.run.output);
  });
  session_.record_failures_in(config_.run.output);
  if (folder_ && !folder_->moved_to().empty()) {
    say("files of an earlier run moved to " + folder_->moved_to() + "\n");
  }
}

void Run::make_engine() {
  // A plan of large products is slow long before it hangs.
  const double patience = std::max(30.0, 20 * plan_.forecast.step_seconds);
  const double seconds = config_.run.watchdog ? double(config_.run.watchdog) : patience;
  engine_.emplace(
      session_, build_, train::rules_of(config_, rates_),
      train::Engine::Options{.seed = uint64_t(config_.run.seed), .watchdog_seconds = seconds});
}

train::LogContext Run::log_context(double peak_flops) const {
  const int64_t length = config_.data.sequence_length;
  return {.steps = config_.run.steps,
          .last = train::last_step(config_),
          .flops_per_token = model::flops_per_token(build_.model, length),
          .peak_flops = peak_flops,
          .shows_scale = config_.fp16.enabled,
          .synthetic = data_.synthetic};
}

void Run::introduce() {
  say(train::banner(version(), session_, build_, engine_->backend()));
  say(train::memory_table(plan_));
  const double own = train::measure_product_peak(session_.threads(), build_.plan.request.compute);
  const double peak = session_.peers().sum(own);
  if (peak > 0) say(text("product peak of all ranks ", int64_t(peak / 1e9), " GFLOP/s\n"));
  session_.together([&] {
    if (folder_) log_.emplace(folder_->path(), log_context(peak), config_.run.log_interval);
  });
}

void Run::train_steps() {
  start_seconds_ = seconds_since(start_);
  const auto on_step = [this](const train::StepRecord& record) {
    if (log_) log_->step(record);
    // The second step has touched all that a step touches.
    if (record.report.step == 2) peak_pss_ = train::proportional_set_bytes();
  };
  const auto on_evaluation = [this](const train::Evaluation& evaluation) {
    evaluation_seconds_ += evaluation.seconds;
    if (log_) log_->evaluation(evaluation);
  };
  outcome_ = train::Trainer({.session = session_,
                             .config = config_,
                             .build = build_,
                             .data = data_,
                             .engine = *engine_,
                             .on_step = on_step,
                             .on_evaluation = on_evaluation})
                 .run();
  peak_pss_ = std::max(peak_pss_, train::proportional_set_bytes());
}

void Run::report() {
  const std::string summary = train::summary_json({.session = session_,
                                                   .engine = *engine_,
                                                   .plan = plan_,
                                                   .outcome = outcome_,
                                                   .version = version(),
                                                   .peak_pss_bytes = peak_pss_,
                                                   .start_seconds = start_seconds_,
                                                   .evaluation_seconds = evaluation_seconds_});
  if (folder_) write_file("summary.json", summary);
  if (config_.evaluation.show_samples > 0 && !outcome_.stopped) write_samples();
  if (config_.wall_clock_breakdown) {
    say(train::region_table(engine_->executor().profile(), outcome_.steps));
  }
  const char* how = outcome_.stopped ? "stopped by a signal after step " : "finished step ";
  say(text(how, outcome_.steps, " of ", config_.run.steps, "; ", config_.run.output,
           "/summary.json\n"));
}

void Run::write_samples() {
  const std::string reason = train::why_no_samples(build_.model);
  if (!reason.empty()) return say("no sampled text from this model: " + reason + "\n");
  const std::string samples = train::sample_text(engine_->view(), session_.peers(), build_.model,
                                                 {.samples = config_.evaluation.show_samples,
                                                  .seed = uint64_t(config_.run.seed),
                                                  .threads = session_.threads()});
  if (folder_) write_file("sample.txt", samples + "\n");
}

void Run::write_file(const std::string& name, const std::string& content) const {
  const std::string path = folder_->path() + "/" + name;
  std::ofstream file(path, std::ios::binary);
  file << content;
  file.close();
  if (!file) refuse(Exit::kIo, path, ": could not be written");
}

}  // namespace

int train(const CommandLine& line, int& argc, char**& argv) {
  const Clock::time_point start = Clock::now();
  // A closed console must not end a run.
  std::signal(SIGPIPE, SIG_IGN);

  // 1. The ranks, and how they end together.
  Session session(argc, argv);
  session.require_whole_launch();
  Run run(session, line, start);

  // An error that only this rank has seen must not leave its peers waiting.
  session.alone([&] {
    // 2. What is wanted, read alike by every rank; threads.
    run.read_input();
    // 3. The plan, which every rank compiles to the same bytes; whether it fits.
    run.compile_plan();
    // 4. Data, and the folder of the run.
    run.open_data_sets();
    run.open_folder();
    // 5. Memory, communicators, initial weights.
    run.make_engine();
    run.introduce();
    // 6. The steps.
    run.train_steps();
    // 7. What came of it.
    run.report();
  });
  return int(Exit::kFinished);
}

int dry_run(CommandLine line) {
  const train::Launch launch = train::current_launch();
  if (launch.task > 0) return int(Exit::kFinished);
  line.ranks = std::max<int64_t>(1, launch.tasks);
  line.command = Command::plan;
  return plan(line);
}

}  // namespace zero::commands
