#include "src/config/import/files.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "src/config/import/import_secrets.hpp"
#include "zero/base/error.hpp"
#include "zero/base/path.hpp"

namespace zero {
namespace {

using Framework = Translation::Framework;

constexpr std::string_view kType = "distributed_type", kPlugin = "deepspeed_config",
                           kFsdpConfig = "fsdp_config",
                           kNamed = "deepspeed_config.deepspeed_config_file";

bool is_yaml(const std::string& path) { return path.ends_with(".yaml") || path.ends_with(".yml"); }

/// Reads at most one byte more than a reader accepts.
Source read_source(const std::string& path) {
  const FileStart file = read_start(path, kSourceMaxBytes + 1);
  if (file.reason != 0) {
    refuse(Exit::kUsage, path, ": ", path_advice(file.reason),
           "; the argument is a DeepSpeed JSON file or an Accelerate YAML or JSON file");
  }
  Source source = is_yaml(path) ? read_yaml(file.bytes, path) : read_json(file.bytes, path);
  hide_secrets(source);
  return source;
}

/// True for a configuration of Accelerate, which may be JSON too.
bool is_accelerates(const std::string& path, const Source& source) {
  const auto own = [](const SourceEntry& entry) {
    for (const auto section :
         {kType, kPlugin, kFsdpConfig, std::string_view("compute_environment")}) {
      if (lies_in(entry.key, section)) return true;
    }
    return false;
  };
  return is_yaml(path) || std::ranges::any_of(source, own);
}

const std::string* word_of(const SourceEntry& entry) {
  return entry.value ? std::get_if<std::string>(&*entry.value) : nullptr;
}

/// Returns the path of the file that an entry names: in the working folder, as for Accelerate, or
/// beside `from`.
std::string named_path(const SourceEntry& entry, const std::string& from) {
  const std::string* name = word_of(entry);
  if (!name || !is_line_of_text(*name)) {
    refuse(Exit::kUsage, entry.place, ": ", entry.key, ": is no file name");
  }
  const auto beside = std::filesystem::path(from).parent_path() / *name;
  for (const std::filesystem::path& path : {std::filesystem::path(*name), beside}) {
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored)) return path.string();
  }
  refuse(Exit::kUsage, entry.place, ": ", said(entry), ": ", *name,
         " is neither in the working folder nor beside ", from,
         "; start where the training is started, or remove it");
}

/// Returns the entry that names DeepSpeed's file: a flag of the training, otherwise one of
/// `accelerate`. nullptr if none.
const SourceEntry* naming_entry(const Source& flags, const Source& accelerate) {
  const std::pair<const Source*, std::string_view> places[] = {
      {&flags, "--deepspeed"}, {&flags, "--deepspeed_config"}, {&accelerate, kNamed}};
  for (const auto& [source, key] : places) {
    const SourceEntry* entry = find_entry(*source, key);
    const std::string* word = entry ? word_of(*entry) : nullptr;
    if (word && *word != "none") return entry;
  }
  return nullptr;
}

Framework framework_of(const Source& accelerate) {
  const TomlValue* type = value_in(accelerate, kType);
  if (type && *type == TomlValue("FSDP")) return Framework::fsdp;
  const bool deepspeed = !type || *type == TomlValue("DEEPSPEED");
  return deepspeed ? Framework::deepspeed : Framework::plain;
}

/// Adds the prefix that keys of fsdp_config lack in older files.
void add_prefixes(Source& accelerate) {
  constexpr std::string_view kSection = "fsdp_config.", kPrefix = "fsdp_";
  for (SourceEntry& entry : accelerate) {
    if (!entry.key.starts_with(kSection)) continue;
    const std::string name = entry.key.substr(kSection.size());
    if (!name.starts_with(kPrefix)) entry.key = text(kSection, kPrefix, name);
  }
}

/// Returns a configuration merged with its launcher's flags, which win.
Source merged(Translation& translation, Source file, const Source& flags) {
  add_prefixes(file);
  for (const SourceEntry& flag : flags) {
    translation.pass_over(file, flag.key, text("left out: ", flag.called, " wins"));
  }
  file.insert(file.end(), flags.begin(), flags.end());
  return file;
}

/// Warns if a flag names another file than the imported one.
void compare_names(Translation& translation, const SourceEntry* entry, const std::string& path) {
  const auto name_of = [](const std::string& file) {
    return std::filesystem::path(file).filename();
  };
  const std::string* name = entry ? word_of(*entry) : nullptr;
  if (!name || name_of(*name) == name_of(path)) return;
  translation.warn(*entry, text("another name than that of ", path, ", which is imported for it"));
}

/// Drops the older of two keys for a half type, before flags win over the rest.
void drop_unread(Translation& translation, const Source& flags, ImportFiles& files) {
  if (value_in(files.accelerate, "mixed_precision")) {
    translation.pass_over(files.accelerate, "fp16", "left out: mixed_precision stands beside it");
  }
  for (const char* flag : {"--fp16", "--bf16"}) {
    const TomlValue* on = value_in(flags, flag);
    if (!on || *on != TomlValue(true)) continue;
    for (const char* key : {"mixed_precision", "fp16"}) {
      translation.pass_over(files.accelerate, key,
                            text("left out: ", flag, " wins, as in Transformers"));
    }
  }
  if (files.framework == Framework::deepspeed) return;
  translation.pass_over(files.accelerate, kPlugin,
                        "nothing to set: Accelerate reads it with distributed_type: DEEPSPEED");
}

/// Selects DeepSpeed, which a flag of the training requests, over any type in the configuration.
void take_deepspeed(Translation& translation, ImportFiles& files, const std::string& why) {
  translation.pass_over(files.accelerate, kType, why);
  translation.pass_over(files.accelerate, kNamed, why);
  files.framework = Framework::deepspeed;
}

ImportFiles of_configuration(Translation& translation, Source source, const std::string& path,
                             const LaunchLine& line) {
  compare_names(translation, find_entry(line.flags, "--config_file"), path);
  ImportFiles files = {.accelerate = merged(translation, std::move(source), line.accelerate),
                       .of_accelerate = true};
  files.framework = framework_of(files.accelerate);
  const SourceEntry* flag = naming_entry(line.flags, {});
  const SourceEntry* named = naming_entry(line.flags, files.accelerate);
  if (named && (flag || files.framework == Framework::deepspeed)) {
    files.deepspeed = read_source(named_path(*named, path));
  }
  if (flag) take_deepspeed(translation, files, "left out: " + flag->key + " wins");
  return files;
}

ImportFiles of_deepspeed(Translation& translation, Source source, const std::string& path,
                         const LaunchLine& line) {
  compare_names(translation, naming_entry(line.flags, line.accelerate), path);
  const SourceEntry* config = find_entry(line.flags, "--config_file");
  Source configuration;
  if (config && line.by_accelerate) {
    const std::string name = named_path(*config, path);
    configuration = read_source(name);
    if (!is_accelerates(name, configuration)) {
      refuse(Exit::kUsage, name, ": is no configuration of Accelerate; remove --config_file");
    }
  }
  ImportFiles files = {.accelerate = merged(translation, std::move(configuration), line.accelerate),
                       .deepspeed = std::move(source)};
  take_deepspeed(translation, files, "nothing to set: the file that is imported is DeepSpeed's");
  return files;
}

}  // namespace

ImportFiles read_files(Translation& translation, const std::string& path, const LaunchLine& line) {
  Source source = read_source(path);
  ImportFiles files = is_accelerates(path, source)
                          ? of_configuration(translation, std::move(source), path, line)
                          : of_deepspeed(translation, std::move(source), path, line);
  drop_unread(translation, line.flags, files);
  return files;
}

}  // namespace zero
