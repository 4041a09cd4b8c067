#include <algorithm>
#include <iterator>
#include <utility>

#include "src/train/chain.hpp"
#include "zero/advise/batch_choice.hpp"
#include "zero/advise/cheapest_change.hpp"
#include "zero/advise/machine_file.hpp"
#include "zero/base/error.hpp"
#include "zero/config/read_config.hpp"
#include "zero/config/schedule.hpp"
#include "zero/device/device.hpp"
#include "zero/kernels/attention.hpp"
#include "zero/launch/session.hpp"
#include "zero/setup/groups.hpp"
#include "zero/train/evaluator.hpp"
#include "zero/train/start_model.hpp"

namespace zero::train {
namespace {

/// Returns warnings about keys that act only on GPUs, if they are set.
std::vector<std::string> idle_keys_of_devices(const ConfigInput& input) {
  std::vector<std::string> warnings;
  const auto tell = [&](const std::string& key, const char* value, const char* why) {
    warnings.push_back(text(input.written.at(key).place, ": ", key, ": ", value,
                            " changes nothing: this program is built for the host, ", why));
  };
  const SessionConfig& run = input.config.run;
  if (run.share_device) {
    tell("run.share_device", "true", "where ranks share the cores anyway; write false");
  }
  if (!run.record) tell("run.record", "false", "which records no kernels; write true");
  if (input.config.numerics.attention == AttentionOrder::fast) {
    tell("numerics.attention", "\"fast\"",
         "whose attention is deterministic; write \"deterministic\"");
  }
  return warnings;
}

/// Returns guessed rates, because nobody has measured the machine.
state::DiskRates expected_rates(const plan::Machine& machine, int node_ranks) {
  return {.read = machine.disk_read_bandwidth / node_ranks,
          .write = machine.disk_write_bandwidth / node_ranks,
          .slack = 10,
          .source = "a guess"};
}

/// Returns the least limits of all ranks, because free memory differs by moment and node.
advise::MemoryLimit least_limit(launch::Session& session, const RunConfig& config,
                                int64_t nodes_most) {
  advise::MemoryLimit limit =
      advise::rank_limit(config, int(nodes_most), session.shares_devices() ? int(nodes_most) : 1);
  session.on_every_rank([&] { limit.disk = advise::disk_room(config, int(nodes_most)); });
  for (int64_t* room : {&limit.bytes, &limit.host_bytes, &limit.process_bytes,
                        &limit.disk.optimizer, &limit.disk.parameters, &limit.disk.both}) {
    *room = session.peers().smallest(*room);
  }
  return limit;
}

}  // namespace

void Context::warn(const std::string& words) const {
  if (session.is_first()) zero::warn(words);
}

setup::World Context::world() const {
  return {.ranks = session.ranks(),
          .threads = session.threads(),
          .gpus = drives_devices(),
          .node_ranks = session.even_node_ranks()};
}

advise::ChangeOptions Context::change_options() const {
  return {.most_ranks = session.ranks(), .typed = order.overrides};
}

namespace {

/// Reads the settings from the input file's text. Once run.watchdog is known, this rank waits that
/// long for the rank that may look at the start model.
ConfigInput read_settings(launch::Session& session, const Order& order, const std::string& text,
                          const StartReader& look) {
  const StartReader patient = [&](const RunConfig& config) {
    const int64_t seconds = config.run.watchdog;
    if (seconds > 0) session.lookout().set_patience(double(seconds));
    return look(config);
  };
  return read_config(order.catalogue.models, text, order.input, order.overrides, Writer::user,
                     patient);
}

/// Learns run.watchdog before this rank waits for any other. The later reader of the settings
/// reports faults.
void learn_patience(launch::Session& session, const Order& order, const std::string& text) {
  if (session.ranks() == 1) return;
  const StartReader nothing = [](const RunConfig&) { return std::optional<StartNumbers>(); };
  try {
    read_settings(session, order, text, nothing);
  } catch (const Error&) {
  }
}

}  // namespace

Input::Input(Context& context) {
  context.enter(launch::Milestone::input);
  launch::Session& session = context.session;
  const Order& order = context.order;
  std::string text;
  session.on_every_rank([&] {
    text = read_input_text(order.catalogue.models, order.input);
    learn_patience(session, order, text);
  });
  StartModel found;
  const StartReader look = start_reader(order.catalogue, found);
  const auto read = [&] { settings = read_settings(session, order, text, look); };
  // A run that is still alive may save meanwhile, so only the first rank looks.
  session.on_every_rank([&] {
    if (session.is_first()) read();
  });
  found.own = session.peers().share(found.own)[0];
  found.other = session.peers().share(found.other)[0];
  found.is_found = true;
  session.on_every_rank([&] {
    if (!session.is_first()) read();
  });
  start = std::move(found.opened);
  std::vector<std::string> warnings = settings.warnings;
  if (!drives_devices()) std::ranges::copy(idle_keys_of_devices(settings), back_inserter(warnings));
  const std::string unpinned = advise::vain_pin_memory(settings, drives_devices());
  if (!unpinned.empty()) warnings.push_back(unpinned);
  for (const std::string& words : warnings) context.warn(words);
  launch::require_same(session, "the program", order.version);
  launch::require_same_settings(session, effective_toml(settings));
  session.start_threads(settings.config.run.threads, settings.config.run.share_device);
  launch::check_placement(session);
}

Planned::Planned(Context& context, Input input)
    : initial(std::move(input.start)),
      settings(std::move(input.settings)),
      config(settings.config) {
  context.enter(launch::Milestone::plan);
  launch::Session& session = context.session;
  setup::World world = context.world();
  const int64_t nodes_most = session.peers().largest(session.node_ranks());
  int group_ranks = 0;
  session.on_every_rank(
      [&] { settings.locate([&] { group_ranks = setup::group_ranks(config, world); }); });
  comms = std::make_shared<state::Communicators>(state::ready_communicators(session, group_ranks));
  limit = least_limit(session, config, nodes_most);
  limit.communicators = {.bytes = session.peers().largest(comms->device_bytes),
                         .ranks = session.ranks(),
                         .source = "measured"};
  RunConfig asked;
  plan::Machine machine = this->machine(context);
  machine.node_ranks = nodes_most;
  machine.borders = comms->borders();
  session.on_every_rank([&] {
    settings.locate([&] {
      counted_by = first_generation(config, initial.get());
      train::count_texts(config, counted_by, world);
      const advise::Choices batch = advise::choose_batch(config, world, limit, machine);
      asked = config;
      place(world, machine, batch);
    });
    disk = state::disk_homes(config);
    report = advise::report_plan(build(), machine, limit);
    outlook = {.folders = advise::disk_folders(disk, build().disk_bytes(), session.node_ranks()),
               .rates = expected_rates(machine, session.node_ranks()),
               .step = report.forecast.disk[plan::kStep]};
  });
  for (const std::string& words : advise::plan_warnings(settings, build().plan))
    context.warn(words);
  session.on_every_rank(
      [&] { advise::refuse_unless_fits(report, asked, world, context.change_options()); });
  launch::require_same(session, "the plan", text(build().plan.hash()));
  if (!drives_devices()) return;
  // A rank without the library would compute other attention and dropout masks.
  const std::string attention = kernels::attention_library();
  launch::require_same(session, "the library of attention", attention.empty() ? "none" : attention);
}

/// Returns the same machine on every rank: of run.machine's file, or of the first device's profile.
plan::Machine Planned::machine(Context& context) {
  launch::Session& session = context.session;
  if (config.run.machine.empty()) {
    const std::string profile = plan::profile_of(session.peers().share(device_text())[0]);
    return plan::machine_profile(profile, setup::compute_dtype(config));
  }
  advise::MachineRates found;
  session.on_every_rank(
      [&] { settings.locate([&] { found = advise::rates_of_key(config, session.ranks()); }); });
  launch::require_same(session, text("run.machine: ", config.run.machine), found.file);
  if (!found.warning.empty()) context.warn(found.warning);
  rates_text = text("rates       of ", found.machine.name, ", by which the plan is chosen\n");
  return found.machine;
}

void Planned::place(const setup::World& world, const plan::Machine& machine,
                    const advise::Choices& batch) {
  advise::Placement placement = advise::choose_placement(config, world, limit, machine);
  placement.choices.insert(placement.choices.begin(), batch.begin(), batch.end());
  choices = placement.text();
  advise::note_choices(placement.choices, settings);
  config = placement.config;
  made = std::make_shared<setup::Build>(std::move(placement.build));
}

bool Planned::exports_model() const {
  return config.export_model.at_end || config.zero.stage3_gather_16bit_weights_on_model_save;
}

writing::SampleOptions Planned::sample_options(int threads) const {
  return train::sample_options(config, settings.config.generation, build(), threads);
}

}  // namespace zero::train
