#include "zero/model/family.hpp"

#include "zero/base/error.hpp"

namespace zero::model {
namespace {

const Family& row(const Architecture& model) {
  ZERO_REQUIRE(model.family, "a model of no family");
  return *model.family;
}

std::string joined(std::string_view Family::*member, const char* quote) {
  std::string all;
  for (const Family* family : families()) {
    all += text(all.empty() ? "" : " or ", quote, family->*member, quote);
  }
  return all;
}

}  // namespace

graph::Graph forward(const Architecture& model, const ForwardOptions& options) {
  return row(model).forward(model, options);
}

graph::Graph decode(const Architecture& model, const graph::Chunk& chunk, Dtype compute) {
  return row(model).decode(model, chunk, compute);
}

int64_t parameter_count(const Architecture& model) { return row(model).parameter_count(model); }

double flops_per_token(const Architecture& model, int64_t length) {
  return row(model).flops_per_token(model, length);
}

DataForm data_form(const Architecture& model) { return row(model).data_form(model); }

std::string fact(const Architecture& model) { return row(model).fact(model); }

std::string words(const Architecture& model) { return row(model).words(model); }

Architecture architecture_in(HubConfig& config) {
  config.compare_with(joined(&Family::hub_class, ""));
  const std::string type = config.word_or("model_type", std::string(families().front()->hub_type));
  for (const Family* family : families()) {
    if (family->hub_type != type) continue;
    config.compare_with(family->hub_class);
    return family->from_hub(config);
  }
  config.fail("model_type", "only " + joined(&Family::hub_type, "\""));
}

}  // namespace zero::model
