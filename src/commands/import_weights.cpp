#include <cstdio>

#include "src/commands/commands.hpp"
#include "zero/base/error.hpp"
#include "zero/base/path.hpp"
#include "zero/launch/files.hpp"
#include "zero/models/model_folder.hpp"
#include "zero/save/stored_checkpoints.hpp"

namespace zero::commands {
namespace {

void require_model_folder(const model::Catalogue& catalogue, const std::string& folder) {
  if (is_there(folder + "/config.json")) return;
  if (!is_folder(folder)) refuse(Exit::kInput, launch::no_folder_text(folder));
  const bool stored = save::holds_checkpoints(folder);
  refuse(Exit::kInput, folder, ": holds no config.json; ",
         stored ? text("what it holds are checkpoints: begin with them by model.init_from=", folder)
                : text("name a folder with a ", catalogue.titles(),
                       "'s config.json and model.safetensors"));
}

}  // namespace

int import_weights(const CommandLine& line) {
  require_model_folder(*line.catalogue, line.input);
  const models::ModelFolder model(*line.catalogue, line.input);
  models::import_model(model, line.second, version());
  std::printf("%s in %s: begin a training with model.init_from=%s\n", model.path().c_str(),
              line.second.c_str(), line.second.c_str());
  return 0;
}

}  // namespace zero::commands
