#include "zero/text/decoding_ranks.hpp"

#include <exception>

#include "zero/launch/lookout.hpp"

namespace zero::writing {

std::optional<DecodingRanks> decoding_ranks(const plan::Request& training) {
  const bool is_apart = training.ranks > 1 || training.weight_home != plan::Tier::device;
  if (training.stage != 3 || !is_apart) return std::nullopt;
  plan::Request request;
  request.stage = training.stage;
  request.ranks = training.ranks;
  request.group_ranks = training.group_ranks;
  request.overlap = training.overlap;
  request.gather_bucket_numel = training.gather_bucket_numel;
  request.prefetch_numel = training.prefetch_numel;
  request.keep_below_numel = training.keep_below_numel;
  request.keep_distance_numel = training.keep_distance_numel;
  request.live_numel = training.live_numel;
  request.pinned_host = training.pinned_host;
  // A second file on the disk for the time of an evaluation is not worth its waits.
  const bool leaves = training.weight_home != plan::Tier::device;
  request.weight_home = leaves ? plan::Tier::host : plan::Tier::device;
  return DecodingRanks{.request = request};
}

std::optional<DecodingRanks> decoding_ranks(launch::Session& session, const plan::Request& training,
                                            const run::LaneComms& comms) {
  std::optional<DecodingRanks> made = decoding_ranks(training);
  if (!made) return made;
  made->rank = session.rank();
  made->comms = comms;
  for (const plan::Team team : plan::kAllTeams) {
    const comm::Communicator* const gathers = comms[size_t(plan::Lane::gather)].at(team);
    if (gathers != nullptr) made->borders[size_t(team)] = gathers->border();
  }
  made->largest = [&peers = session.peers()](int64_t value) { return peers.largest(value); };
  made->watch = [&session](const plan::Plan& plan, run::Executor& executor) {
    executor.set_error_hook([&session] { session.end_all(std::current_exception()); });
    const double patience = session.peers().patience_seconds();
    const auto progress = executor.progress();
    return launch::make_watchdog(
        session, patience > 0 ? patience : launch::Lookout::kPatienceSeconds,
        [progress] { return launch::finished_ops(progress); },
        [&plan, &executor, progress] {
          return launch::describe_progress(plan, executor.body(), progress);
        });
  };
  return made;
}

}  // namespace zero::writing
