#include "src/advise/memory_needs.hpp"

#include <algorithm>
#include <numeric>

#include "zero/advise/plan_report.hpp"
#include "zero/base/text.hpp"

namespace zero::advise {
namespace {

using plan::Tier;

int64_t room_on_disk(const setup::Build& build, const MemoryLimit& limit) {
  const plan::Request& made = build.plan.request;
  if (made.weight_home != Tier::nvme) return limit.disk.optimizer;
  return made.optimizer_home == Tier::nvme ? limit.disk.both : limit.disk.parameters;
}

const Need* unmet(const std::vector<Need>& needs) {
  const auto found = std::ranges::find_if_not(needs, &Need::is_met);
  return found == needs.end() ? nullptr : &*found;
}

/// Returns ", 1.00 GiB of it for checkpoint.async".
std::string part_text(int64_t bytes, const std::string& what) {
  return bytes == 0 ? "" : text(", ", bytes_text(double(bytes)), " of it for ", what);
}

std::string text_of(const Shortage& shortage) {
  const auto& [need, key] = shortage;
  const std::string parts = part_text(need.saves, "checkpoint.async") +
                            part_text(need.texts, key == nullptr ? "" : text("the texts of ", key));
  return text(bytes_text(double(need.bytes)), need.memory, parts, parts.empty() ? "" : ",",
              " a rank of ", bytes_text(double(need.most)), " (", need.source, ")");
}

}  // namespace

std::vector<Need> needs_of(const setup::Build& build, const MemoryLimit& limit,
                           const plan::TierBytes& texts) {
  const int64_t device_texts = texts[size_t(Tier::device)], host_texts = texts[size_t(Tier::host)];
  const int64_t all_texts = device_texts + host_texts;
  const int64_t device = limit.of_host ? all_texts : device_texts;
  std::vector<Need> needs;
  const auto add = [&](const Need& need) {
    if (need.most > 0) needs.push_back(need);
  };
  add({"limit", "", counted_bytes(build, limit) + device,
       device_room(limit, build.plan.request.ranks), limit.source, limit.key,
       limit.of_host ? build.copy_bytes : 0, device});
  if (host_bytes(build) + host_texts > 0) {
    add({"limit of host", " of host memory", host_bytes(build) + host_texts, limit.host_bytes,
         limit.host_source, limit.host_key, build.copy_bytes, host_texts});
  }
  add({"limit of both", "", all_bytes(build) + all_texts, limit.process_bytes, limit.process_source,
       "", build.copy_bytes, all_texts});
  const int64_t disk = room_on_disk(build, limit);
  if (build.disk_bytes() > 0 && disk != DiskRoom::kUnknown) {
    needs.push_back({"limit of disk", " on disk", build.disk_bytes(), disk, limit.disk.source, "",
                     tiers::SlotTable::bytes_for(build.slotted)});
  }
  return needs;
}

std::vector<Need> needs_of(const setup::Build& build, const MemoryLimit& limit,
                           const setup::Texts& texts) {
  return needs_of(build, limit, beside(build, texts.bytes));
}

bool are_met(const std::vector<Need>& needs) { return unmet(needs) == nullptr; }

int64_t counted_bytes(const setup::Build& build, const MemoryLimit& limit) {
  return build.plan.arena_bytes[size_t(Tier::device)] + (limit.of_host ? host_bytes(build) : 0);
}

int64_t all_bytes(const setup::Build& build) {
  return build.plan.arena_bytes[size_t(Tier::device)] + host_bytes(build);
}

int64_t host_bytes(const setup::Build& build) {
  return build.plan.arena_bytes[size_t(Tier::host)] + build.copy_bytes;
}

bool fits(const setup::Build& build, const MemoryLimit& limit) {
  return are_met(needs_of(build, limit)) &&
         std::ranges::all_of(build.texts, [&](const setup::Texts& texts) {
           return are_met(needs_of(build, limit, texts));
         });
}

std::optional<Shortage> shortage_of(const setup::Build& build, const MemoryLimit& limit) {
  const std::vector<Need> own = needs_of(build, limit);
  if (const Need* need = unmet(own)) return Shortage{*need};
  for (const setup::Texts& texts : build.texts) {
    const std::vector<Need> needs = needs_of(build, limit, texts);
    if (const Need* need = unmet(needs)) return Shortage{*need, texts.key};
  }
  return std::nullopt;
}

std::string shortage_text(const setup::Build& build, const MemoryLimit& limit) {
  const std::optional<Shortage> shortage = shortage_of(build, limit);
  return shortage ? text_of(*shortage) : "";
}

MemoryLimit of_device(MemoryLimit limit) {
  limit.host_bytes = limit.process_bytes = 0;
  limit.disk = {};
  return limit;
}

plan::TierBytes beside(const setup::Build& build, plan::TierBytes texts) {
  const plan::Stretch free = plan::free_between_bodies(build.plan);
  int64_t& device = texts[size_t(Tier::device)];
  if (device <= free.end - free.begin) device = 0;
  return texts;
}

std::string beside_text(const setup::Build& build, const setup::Texts& texts) {
  return bytes_text(double(sum(beside(build, texts.bytes)))) + " of it beside the plan";
}

int64_t sum(const plan::TierBytes& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), int64_t(0));
}

}  // namespace zero::advise
