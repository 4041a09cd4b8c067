#include "zero/model/objective.hpp"

namespace zero::model {

const Objective& document_objective() {
  static const Objective kDocuments{
      .settings = {.name = "documents",
                   .families = "that learns from documents",
                   .setting = "a data.train of documents (.jsonl, .csv, .tsv, a list of files)",
                   .setting_key = "data.train",
                   .acts = [](const RunConfig& config) { return takes_documents(config.data); },
                   .keys = scoring_keys(),
                   .metrics = token_metrics(),
                   .takes_lists = true},
      .data = &document_data()};
  return kDocuments;
}

}  // namespace zero::model
