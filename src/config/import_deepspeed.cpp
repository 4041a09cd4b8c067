#include "zero/config/import_deepspeed.hpp"

#include <algorithm>

#include "src/config/import/files.hpp"
#include "src/config/import/import_secrets.hpp"
#include "src/config/import/launch_command.hpp"
#include "zero/base/error.hpp"
#include "zero/config/read_config.hpp"
#include "zero/config/toml.hpp"

namespace zero {
namespace {

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

/// Adds the warnings and errors that a run would report for the result.
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
  result.launch_line = hide_secrets(options.launch_line);
  return result;
}

}  // namespace zero
