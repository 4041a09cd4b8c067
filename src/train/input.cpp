#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

#include "src/commands/train/run.hpp"
#include "src/commands/version.hpp"
#include "zero/advise/homes.hpp"
#include "zero/config/effective.hpp"
#include "zero/device/device.hpp"
#include "zero/launch/agreement.hpp"

namespace zero::commands {
namespace {

/// Of keys that act on GPUs alone, where they ask for something.
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

void Run::read_input() {
  enter(launch::Stage::input);
  session_.together([&] {
    input_ = read_config_file(line_.catalogue->models, line_.input, line_.overrides);
    const int64_t patience = input_.config.run.watchdog;  // of the wait behind this work too
    if (patience > 0) session_.lookout().set_patience(double(patience));
  });
  if (session_.is_first()) {
    std::vector<std::string> warnings = input_.warnings;
    if (!drives_devices()) std::ranges::copy(idle_keys_of_devices(input_), back_inserter(warnings));
    const std::string unpinned = advise::vain_pin_memory(input_, drives_devices());
    if (!unpinned.empty()) warnings.push_back(unpinned);
    for (const std::string& words : warnings) {
      std::fprintf(stderr, "zeroapp: warning: %s\n", words.c_str());
    }
  }
  launch::require_same(session_, "the program", version());
  launch::require_same_settings(session_, effective_toml(input_));
  config_ = input_.config;
  session_.start_threads(config_.run.threads, config_.run.share_device);
}

}  // namespace zero::commands
