#include "src/save/checkpoint_agreement.hpp"

#include <algorithm>
#include <cstdlib>

#include "zero/base/process_limits.hpp"

namespace zero::save {

Problem first_problem(const launch::Peers& peers, const launch::DiskWork& disk,
                      const std::function<void()>& work) {
  std::string mine = host_name();
  launch::SignOfLife sign(peers, disk);
  try {
    work();
  } catch (const Error& error) {
    if (error.exit() == Exit::kInternal) throw;
    mine += text(" ", int(error.exit()), " ", error.what());
    sign.fail();
  }
  sign.finish();
  return first_problem(peers.share(mine));
}

Problem first_problem(const std::vector<std::string>& told) {
  const auto host_of = [](const std::string& word) { return word.substr(0, word.find(' ')); };
  const std::string first_host = host_of(told[0]);
  const bool several = std::ranges::any_of(
      told, [&](const std::string& word) { return host_of(word) != first_host; });
  for (size_t rank = 0; rank < told.size(); ++rank) {
    const size_t status = told[rank].find(' ');
    if (status == told[rank].npos) continue;
    const size_t what = told[rank].find(' ', status + 1);
    const std::string host = several ? host_of(told[rank]) : "";
    return {.exit = Exit(std::atoi(told[rank].c_str() + status + 1)),
            .what = told[rank].substr(what + 1),
            .rank = int(rank),
            .host = host,
            .blamed = host == first_host ? "" : host};
  }
  return {};
}

}  // namespace zero::save
