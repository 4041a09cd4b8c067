#include <cstdio>
#include <utility>

#include "src/commands/train/run.hpp"
#include "zero/state/build.hpp"

namespace zero::commands {
namespace {

/// Of the files as they are now; a sentence where they are no data.
std::string fingerprint_now(const RunConfig& config) {
  try {
    return text(state::open_data(config).fingerprint());
  } catch (const Error& error) {
    if (error.exit() != Exit::kInput) throw;
    return error.what();
  }
}

}  // namespace

/// A checkpoint says of which data it has consumed so many samples. What was trained since files
/// were written to or replaced may be of either, so no checkpoint may say so; that files have other
/// times alone changes nothing.
void Run::require_same_data() {
  const std::string changed = session_.leads_node() ? watch_->changed() : "";
  if (session_.peers().largest(!changed.empty()) == 0) return;
  engine_->together_at_disk("the data, which have changed", watch_->bytes(), [&] {
    if (changed.empty()) return;
    watch_->renew();
    const std::string now = fingerprint_now(config_);
    if (now != fingerprint_) {
      refuse(Exit::kInput, changed, ": was replaced or written to while the run read from it: the ",
             "data had fingerprint ", fingerprint_, ", now ", now,
             "; this step is not saved - put back what was there and start again, or go on with ",
             "the new data by data.changed = true");
    }
    if (std::exchange(has_warned_of_data_, true)) return;
    std::fprintf(stderr,
                 "zeroapp: warning: %s: was touched or replaced while the run reads from it; it "
                 "holds what it held\n",
                 changed.c_str());
  });
}

}  // namespace zero::commands
