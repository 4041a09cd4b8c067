#include <cmath>
#include <cstdio>

#include "src/commands/commands.hpp"
#include "zero/base/error.hpp"
#include "zero/base/path.hpp"
#include "zero/save/missing_checkpoint.hpp"
#include "zero/save/stored_checkpoints.hpp"
#include "zero/stored/model_folder.hpp"
#include "zero/stored/stored_model.hpp"

namespace zero::commands {
namespace {

using stored::CheckpointModel;
using stored::ModelWriter;

Dtype dtype_of(const CommandLine& line, const stored::ModelDescription& description) {
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
    if (line.dtype == name_of(dtype)) return dtype;
  }
  return description.compute;
}

ModelWriter::Options options_of(const CommandLine& line, const CheckpointModel& model) {
  ModelWriter::Options options{.folder = line.second, .description = model.description()};
  options.description.compute = dtype_of(line, model.description());
  if (line.format == "hdf5") options.format = ModelWriter::Format::hdf5;
  options.file_bytes = line.shard_bytes;
  return options;
}

/// Refuses finite weights that fp16 makes infinite.
void require_range(const std::string& parameter, std::span<const float> values, Dtype dtype) {
  if (dtype != Dtype::f16) return;
  for (const float value : values) {
    if (!std::isfinite(value) || std::isfinite(float(f16(value)))) continue;
    refuse(Exit::kInput, parameter, ": holds ", value, ", and fp16 ends at 65504 - write --dtype ",
           "bf16 or fp32");
  }
}

void write(const CheckpointModel& model, const ModelWriter::Options& options) {
  ModelWriter writer(options);
  const graph::Graph graph = stored::stored_graph(options.description.recipe());
  for (const graph::Parameter& parameter : graph.parameters) {
    if (parameter.borrowed) continue;
    const std::string& name = graph[parameter.tensor].name;
    stored::read_pieces(model, name, 0, parameter.real_numel,
                        [&](int64_t, std::span<const float> piece) {
                          require_range(name, piece, options.description.compute);
                          writer.add(piece);
                        });
  }
  writer.publish();
}

void require_model_folder(const model::Catalogue& catalogue, const std::string& folder) {
  if (is_there(folder + "/config.json")) return;
  if (!is_folder(folder)) refuse(Exit::kInput, save::no_folder_text(folder));
  const bool stored = save::holds_checkpoints(folder);
  refuse(Exit::kInput, folder, ": holds no config.json; ",
         stored ? text("what it holds are checkpoints: begin with them by model.init_from=", folder)
                : text("name a folder with a ", catalogue.titles(),
                       "'s config.json and model.safetensors or pytorch_model.bin"));
}

}  // namespace

int export_model(const CommandLine& line) {
  const CheckpointModel model(*line.catalogue, line.input);
  const ModelWriter::Options options = options_of(line, model);
  write(model, options);
  std::printf("step %lld of %s in %s, %s\n", (long long)model.checkpoint().manifest().step,
              model.path().c_str(), options.folder.c_str(),
              std::string(name_of(options.description.compute)).c_str());
  const std::string left_out =
      stored::tokenizer_left_out(options.description.tokenizer, options.folder);
  if (!left_out.empty()) warn(options.folder, ": lacks files of its tokenizer; ", left_out);
  return 0;
}

int import_weights(const CommandLine& line) {
  require_model_folder(*line.catalogue, line.input);
  const stored::ModelFolder model(*line.catalogue, line.input);
  const std::string& mixed = model.description().mixed_dropout;
  if (!mixed.empty()) {
    warn(model.path(), ": says ", mixed, ", of which the checkpoint keeps the first; write ",
         "model.dropout in a training that begins with it");
  }
  stored::import_model(model, line.second, version());
  const std::string& tokenizer = model.description().tokenizer;
  const bool is_named = !tokenizer.empty() && tokenizer != "bytes";
  std::printf("%s in %s: begin a training with model.init_from=%s%s\n", model.path().c_str(),
              line.second.c_str(), line.second.c_str(),
              is_named ? (" data.tokenizer=" + tokenizer).c_str() : "");
  return 0;
}

}  // namespace zero::commands
