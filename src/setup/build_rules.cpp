#include "src/setup/build_rules.hpp"

#include "zero/base/error.hpp"
#include "zero/graph/graph_passes.hpp"

namespace zero::setup {

bool has_validation(const RunConfig& config) {
  return !config.data.validation.empty() || config.data.validation_fraction > 0;
}

void refuse_unless_activations_leave(const RunConfig& config, const plan::Plan& plan) {
  if (plan.request.activation_home == plan::Tier::device) return;
  for (const plan::Buffer& buffer : plan.buffers) {
    if (buffer.use == plan::Use::activations && buffer.tier != plan::Tier::device) return;
  }
  const int64_t ahead = config.offload_activations.buffer_count;
  refuse_settings({"activation_checkpointing.offload", "activation_checkpointing.cpu_checkpointing",
                   "activation_checkpointing.buffer_count", "activation_checkpointing.recompute"},
                  "with buffer_count = ", ahead, " the backward pass would bring back at once all ",
                  "that could leave the device; write ",
                  ahead > 1 ? "buffer_count = 1" : "offload = \"none\", or recompute more blocks");
}

void require_lengths_stay(const RunConfig& config) {
  if (config.data.length_buckets == "none" || config.offload_activations.home() == Home::none) {
    return;
  }
  refuse_settings({"data.length_buckets", "activation_checkpointing.offload",
                   "activation_checkpointing.cpu_checkpointing"},
                  "activations of samples of several lengths stay on the device; write ",
                  "length_buckets = \"none\", or offload = \"none\"");
}

void require_same_products(const RunConfig& config, const World& world) {
  const bool audits = config.run.audit_interval > 0 && world.ranks > 1;
  if (!audits || !world.gpus || config.numerics.reproducible) return;
  refuse_settings({"run.audit_interval", "numerics.reproducible"},
                  "each GPU measures which product is fastest, so ranks may have other bits, and ",
                  "an audit compares them; write numerics.reproducible = true, or ",
                  "run.audit_interval = 0");
}

void require_validation(const RunConfig& config) {
  if (!config.evaluation.scores_texts() || has_validation(config)) return;
  refuse_settings({"evaluation.choices", "evaluation.documents"},
                  "a training scores texts whenever it evaluates its validation set, and has ",
                  "none; write data.validation or data.validation_fraction, or score the trained ",
                  "model by zeroapp eval");
}

void require_lender(const RunConfig& config, const plan::Plan& plan) {
  if (!graph::borrows(plan.graphs[0]) || !config.model.init_from.empty()) return;
  refuse_settings({"model.init_from"},
                  "the frozen weights of this training stay in the folder that ",
                  "it begins with, and none is named; write model.init_from = \"FOLDER\"");
}

}  // namespace zero::setup
