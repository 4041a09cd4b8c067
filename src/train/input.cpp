#include <algorithm>
#include <iterator>

#include "src/train/chain.hpp"
#include "zero/base/error.hpp"
#include "zero/config/read_config.hpp"
#include "zero/device/device.hpp"
#include "zero/launch/session.hpp"

namespace zero::train {
namespace {

/// Warnings of keys that act on GPUs alone, where they ask for something.
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

}  // namespace

void Context::warn(const std::string& words) const {
  if (session.is_first()) zero::warn(words);
}

Input::Input(Context& context) {
  context.enter(launch::Milestone::input);
  launch::Session& session = context.session;
  const Order& order = context.order;
  session.on_every_rank([&] {
    settings = read_config_file(order.catalogue.models, order.input, order.overrides);
    const int64_t patience = settings.config.run.watchdog;  // of the wait after this work too
    if (patience > 0) session.lookout().set_patience(double(patience));
  });
  std::vector<std::string> warnings = settings.warnings;
  if (!drives_devices()) std::ranges::copy(idle_keys_of_devices(settings), back_inserter(warnings));
  const std::string unpinned = advise::vain_pin_memory(settings, drives_devices());
  if (!unpinned.empty()) warnings.push_back(unpinned);
  for (const std::string& words : warnings) context.warn(words);
  launch::require_same(session, "the program", order.version);
  launch::require_same_settings(session, effective_toml(settings));
  session.start_threads(settings.config.run.threads, settings.config.run.share_device);
}

}  // namespace zero::train
