#include "zero/config/import_deepspeed.hpp"

#include <filesystem>
#include <utility>

#include "src/config/import/translation.hpp"
#include "zero/base/error.hpp"
#include "zero/base/path.hpp"
#include "zero/config/read_config.hpp"
#include "zero/config/toml.hpp"

namespace zero {
namespace {

/// At most one byte more than a reader accepts.
std::string read_source(const std::string& path) {
  FileStart file = read_start(path, kSourceMaxBytes + 1);
  if (file.reason != 0) {
    refuse(Exit::kUsage, path, ": ", path_advice(file.reason),
           "; the argument is a DeepSpeed JSON file or an Accelerate YAML file");
  }
  return std::move(file.bytes);
}

const SourceEntry* find_entry(const Source& source, std::string_view key) {
  for (const SourceEntry& entry : source) {
    if (entry.key == key && entry.value) return &entry;
  }
  return nullptr;
}

/// The path of the DeepSpeed file that an Accelerate file names; "" if it names none.
std::string named_file(const Source& accelerate, const std::string& path) {
  const SourceEntry* entry = find_entry(accelerate, "deepspeed_config.deepspeed_config_file");
  if (!entry) return "";
  const auto* name = std::get_if<std::string>(&*entry->value);
  if (!name || !is_line_of_text(*name)) {
    refuse(Exit::kUsage, entry->place, ": ", entry->key, ": is no file name");
  }
  return (std::filesystem::path(path).parent_path() / *name).string();
}

int64_t count_of(const Source& accelerate, std::string_view key) {
  const SourceEntry* entry = find_entry(accelerate, key);
  const auto* count = entry ? std::get_if<int64_t>(&*entry->value) : nullptr;
  return count && *count > 0 ? *count : 1;
}

/// Accelerate's processes are those of all machines together.
std::string launch_line(const Source& accelerate, const std::string& name) {
  const int64_t ranks = count_of(accelerate, "num_processes");
  const int64_t nodes = count_of(accelerate, "num_machines");
  std::string line = text("launch: mpirun --mca odls_base_sigkill_timeout 2 -n ", ranks);
  if (nodes > 1) line += text(" --map-by ppr:", (ranks + nodes - 1) / nodes, ":node");
  return line + " ./zeroapp " + name;
}

using Framework = Translation::Framework;

Framework framework_of(const Source& accelerate) {
  const SourceEntry* type = find_entry(accelerate, "distributed_type");
  if (type && *type->value == TomlValue("FSDP")) return Framework::fsdp;
  const bool deepspeed = !type || *type->value == TomlValue("DEEPSPEED");
  return deepspeed ? Framework::deepspeed : Framework::plain;
}

/// Keys of fsdp_config had no prefix once.
Source take_fsdp(Source& accelerate) {
  constexpr std::string_view kSection = "fsdp_config.", kPrefix = "fsdp_";
  Source fsdp;
  for (const SourceEntry& entry : accelerate) {
    if (!entry.key.starts_with(kSection)) continue;
    std::string name = entry.key.substr(kSection.size());
    if (!name.starts_with(kPrefix)) name.insert(0, kPrefix);
    fsdp.push_back({std::string(kSection) + name, entry.value, entry.place});
  }
  std::erase_if(accelerate, [&](const SourceEntry& e) { return e.key.starts_with(kSection); });
  return fsdp;
}

Framework translate_accelerate(Translation& translation, const std::string& path,
                               const std::string& name) {
  Source accelerate = read_yaml(read_source(path), path);
  const Framework framework = framework_of(accelerate);
  if (framework == Framework::fsdp)
    translation.translate(take_fsdp(accelerate), fsdp_rules(), false);
  translation.translate(accelerate, accelerate_rules(), false);
  const std::string json = named_file(accelerate, path);
  if (!json.empty()) {
    translation.translate(read_json(read_source(json), json), deepspeed_rules(), true);
  }
  translation.say(launch_line(accelerate, name));
  return framework;
}

/// What a run would say to the result, so that it is known here.
void check(const ModelTable& models, DeepSpeedImport& result, const std::string& name) {
  try {
    for (const std::string& warning : read_config(models, result.toml, name).warnings) {
      result.report.push_back("warning: " + warning);
    }
  } catch (const Error& error) {
    result.report.push_back(text("a run of it is refused for now: ", error.what()));
  }
}

}  // namespace

DeepSpeedImport import_deepspeed(const ModelTable& models, const std::string& path,
                                 const ImportOptions& options) {
  if (!is_line_of_text(path)) refuse(Exit::kUsage, "the file's name is no line of text");
  Translation translation(models, options);
  translation.give(options.overrides);
  translation.follow_launch_line(options.launch_line);
  Framework framework = Framework::deepspeed;
  if (path.ends_with(".yaml") || path.ends_with(".yml")) {
    framework = translate_accelerate(translation, path, options.name);
  } else {
    translation.translate(read_json(read_source(path), path), deepspeed_rules(), true);
  }
  translation.complete(framework);
  DeepSpeedImport result = translation.take();
  if (result.refused.empty() && result.needs.empty()) check(models, result, options.name);
  return result;
}

}  // namespace zero
