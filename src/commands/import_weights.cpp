#include "zero/commands/import_weights.hpp"

#include <cstdio>

#include "zero/commands/version.hpp"
#include "zero/train/model_folder.hpp"
#include "zero/train/model_import.hpp"

namespace zero::commands {

int import_weights(const CommandLine& line) {
  const train::ModelFolder model(line.input);
  train::import_model(model, line.second, version());
  std::printf("%s in %s: begin a training with model.init_from=%s\n", model.path().c_str(),
              line.second.c_str(), line.second.c_str());
  return 0;
}

}  // namespace zero::commands
