#include <algorithm>
#include <map>

#include "zero/config/toml.hpp"
#include "zero/launch/session.hpp"

namespace zero::launch {
namespace {

constexpr size_t kNamedKeys = 5;
constexpr const char* kAdvice = " - start the same program with the same files on all ranks";

/// Ranks with another text than rank 0, of those that have one.
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

std::map<std::string, std::string> values_of(const std::string& settings) {
  std::map<std::string, std::string> values;
  for (const TomlEntry& entry : parse_toml(settings).entries) {
    values[entry.key] = to_text(entry.value);
  }
  return values;
}

}  // namespace

void require_same(Session& session, const std::string& what, const std::string& mine) {
  const std::vector<int> differ = others(session.peers().share(mine));
  session.on_every_rank([&] {
    if (!differ.empty()) refuse(Exit::kRanksDisagree, sentence(what, differ), kAdvice);
  });
}

void require_same_settings(Session& session, const std::string& mine) {
  const std::vector<std::string> all = session.peers().share(mine);
  std::vector<int> differ = others(all);
  // The same values may come from files of different names.
  std::erase_if(differ,
                [&](int rank) { return differing_settings(all[0], all[size_t(rank)]).empty(); });
  session.on_every_rank([&] {
    if (differ.empty()) return;
    refuse(Exit::kRanksDisagree, sentence("the configuration", differ), ": ",
           differing_settings(all[0], all[size_t(differ[0])]), kAdvice);
  });
}

std::vector<Difference> differences(const std::string& one, const std::string& other) {
  const auto ours = values_of(one), theirs = values_of(other);
  std::vector<Difference> found;
  for (const auto& [key, value] : ours) {
    const auto their = theirs.find(key);
    if (their != theirs.end() && their->second != value)
      found.push_back({key, value, their->second});
  }
  return found;
}

std::string differing_settings(const std::string& one, const std::string& other) {
  const std::vector<Difference> all = differences(one, other);
  std::string out;
  for (size_t i = 0; i < std::min(all.size(), kNamedKeys); ++i) {
    out += text(i == 0 ? "" : ", ", all[i].key, " = ", all[i].one, " and ", all[i].other);
  }
  return all.size() > kNamedKeys ? out + text(", and ", all.size() - kNamedKeys, " more") : out;
}

}  // namespace zero::launch
