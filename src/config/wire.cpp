#include "src/config/rules.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

bool sends_bf16(const RunConfig& c) {
  return c.communication_data_type == CommunicationDtype::bf16;
}

std::string other_type(const RunConfig& c) {
  if (!sends_bf16(c) || c.bf16.enabled) return "";
  return text("gradients travel in ", c.fp16.enabled ? "fp16" : "fp32",
              " here; write communication_data_type = \"auto\", or bf16.enabled = true");
}

std::string other_sums_on_more_ranks(const RunConfig& c) {
  if (!sends_bf16(c) || !c.numerics.reproducible) return "";
  return "sums that are rounded for their way depend on the number of ranks; write "
         "communication_data_type = \"auto\", or numerics.reproducible = false";
}

std::string rounded_and_unrounded(const RunConfig& c) {
  if (!sends_bf16(c) || c.numerics.gradient_dtype != GradientDtype::fp32) return "";
  return "sums of gradients are either rounded for their way or kept in fp32; write "
         "communication_data_type = \"auto\", or numerics.gradient_dtype = \"compute\"";
}

}  // namespace

std::vector<Rule> wire_rules() {
  return {
      {.keys = {"communication_data_type", "bf16.enabled", "fp16.enabled"},
       .broken = other_type,
       .example = {"communication_data_type = \"bf16\""}},
      {.keys = {"communication_data_type", "numerics.reproducible"},
       .broken = other_sums_on_more_ranks,
       .example = {"bf16.enabled = true", "communication_data_type = \"bf16\"",
                   "numerics.reproducible = true"}},
      {.keys = {"communication_data_type", "numerics.gradient_dtype"},
       .broken = rounded_and_unrounded,
       .example = {"bf16.enabled = true", "communication_data_type = \"bf16\"",
                   "numerics.gradient_dtype = \"fp32\""}},
  };
}

// A gradient of one micro-batch is a 16-bit number already.
void warn_of_the_wire(const RunConfig& config, Report& report) {
  const bool halves = config.bf16.enabled || config.fp16.enabled;
  if (config.communication_data_type != CommunicationDtype::fp32 || !halves) return;
  report.warning("communication_data_type",
                 text("\"fp32\" is done as \"auto\": gradients of one micro-batch travel in ",
                      config.bf16.enabled ? "bf16" : "fp16",
                      ", as they are, and sums of several in fp32, so that nothing is lost; "
                      "write \"auto\""));
}

}  // namespace zero
