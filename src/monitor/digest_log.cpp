#include "zero/monitor/digest_log.hpp"

#include "zero/base/text.hpp"

namespace zero::monitor {

void append_digests(std::string& lines, int64_t step, const plan::Plan& plan,
                    const state::UnitDigests& digests) {
  const plan::Unit* unit = nullptr;
  for (const state::UnitDigests::Row& row : digests.rows()) {
    if (row.unit != unit) {
      append(lines, unit ? "}\n{\"step\": %lld, \"unit\": \"" : "{\"step\": %lld, \"unit\": \"",
             (long long)step);
      lines += row.unit->name;
      lines += '"';
      unit = row.unit;
    }
    const std::string_view name = state::state_name(plan, row.kind);
    append(lines, ", \"%.*s\": \"%016llx\"", int(name.size()), name.data(),
           (unsigned long long)row.digest);
  }
  lines += "}\n";
}

DigestLog::DigestLog(const std::string& folder, int64_t done) : file_(folder, kDigestsName, done) {
  if (!file_.is_empty()) return;
  file_.add(text("{\"step\": 0, \"digests\": \"", state::kDigestForm, "\"}\n"));
}

void DigestLog::add(int64_t step, const plan::Plan& plan, const state::UnitDigests& digests) {
  lines_.clear();
  append_digests(lines_, step, plan, digests);
  file_.add(lines_);
}

}  // namespace zero::monitor
