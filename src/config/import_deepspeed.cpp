#include "zero/config/import_deepspeed.hpp"

#include <algorithm>

#include "src/config/import/files.hpp"
#include "zero/base/error.hpp"
#include "zero/config/read_config.hpp"
#include "zero/config/toml.hpp"

namespace zero {
namespace {

constexpr int64_t kMostRanks = 1'000'000;

/// Reads the counts of ranks and nodes of a launch, and warns of a value that is no count.
class Counts {
 public:
  explicit Counts(Translation& translation) : translation_(translation) {}

  /// Returns the count at the first of the keys that the source has; 0 if it has none.
  int64_t find(const Source& source, std::initializer_list<std::string_view> keys) {
    for (const std::string_view key : keys) {
      const SourceEntry* entry = find_entry(source, key);
      if (!entry || !entry->value) continue;
      const auto* count = std::get_if<int64_t>(&*entry->value);
      if (count && *count > 0 && *count <= kMostRanks) return *count;
      translation_.warn(*entry,
                        "needs the number of ranks: write it for RANKS in the last line, which "
                        "begins with launch");
      all_known_ = false;
    }
    return 0;
  }

  /// False if the launch has a value that is no count, such as "gpu".
  bool all_known() const { return all_known_; }

 private:
  Translation& translation_;
  bool all_known_ = true;
};

/// Accelerate's processes are those of all machines together, other launchers' those of one. "" if
/// nobody says how many there are.
std::string launch_command(Translation& translation, const Source& flags, const ImportFiles& files,
                           const std::string& name) {
  Counts counts(translation);
  const int64_t machines = counts.find(flags, {"--num_nodes", "--nnodes"});
  const int64_t nodes =
      std::max<int64_t>(machines ? machines : counts.find(files.accelerate, {"num_machines"}), 1);
  const int64_t each = counts.find(flags, {"--num_gpus", "--num_accelerators", "--nproc_per_node"});
  const int64_t said = each ? each * nodes : counts.find(files.accelerate, {"num_processes"});
  const std::string begin = "launch: mpirun --mca odls_base_sigkill_timeout 2 -n ";
  if (!counts.all_known()) return begin + "RANKS ./zeroapp " + name;
  if (said == 0 && !files.of_accelerate) return "";
  const int64_t ranks = std::max<int64_t>(said, 1);
  std::string line = text(begin, ranks);
  if (nodes > 1) line += text(" --map-by ppr:", (ranks + nodes - 1) / nodes, ":node");
  return line + " ./zeroapp " + name;
}

void translate_files(Translation& translation, ImportFiles& files) {
  if (files.framework == Translation::Framework::fsdp) {
    Source fsdp = files.accelerate;
    const auto is_fsdps = [](const SourceEntry& e) { return lies_in(e.key, "fsdp_config"); };
    std::erase_if(fsdp, [&](const SourceEntry& entry) { return !is_fsdps(entry); });
    std::erase_if(files.accelerate, is_fsdps);
    translation.translate(fsdp, fsdp_rules(), false);
  }
  translation.translate(files.accelerate, accelerate_rules(), false);
  translation.translate(files.deepspeed, deepspeed_rules(), true);
}

/// What a run would say to the result, so that it is known here.
void check(const ModelTable& models, DeepSpeedImport& result, const ImportOptions& options) {
  try {
    const ConfigInput input =
        read_config(models, result.toml, options.name, {}, Writer::user, options.start);
    for (const std::string& warning : input.warnings)
      result.report.push_back("warning: " + warning);
  } catch (const Error& error) {
    result.report.push_back(text("a run of it is refused for now: ", error.what()));
  }
}

}  // namespace

DeepSpeedImport import_deepspeed(const ModelTable& models, const std::string& path,
                                 const ImportOptions& options) {
  if (!is_line_of_text(path)) refuse(Exit::kUsage, "the file's name is no line of text");
  const LaunchLine line = read_launch_line(options.launch_line);
  Translation translation(models, options);
  translation.give(options.overrides);
  translation.begin_with(options.start);
  ImportFiles files = read_files(translation, path, line);
  translation.follow_launch_line(line);
  const std::string command = launch_command(translation, line.flags, files, options.name);
  translate_files(translation, files);
  translation.complete(files.framework);
  DeepSpeedImport result = translation.take();
  if (result.refused.empty() && result.needs.empty()) check(models, result, options);
  if (!command.empty()) result.report.push_back(command);
  return result;
}

}  // namespace zero
