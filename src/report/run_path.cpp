#include "src/report/run_path.hpp"

#include "zero/base/error.hpp"
#include "zero/base/path.hpp"

namespace zero::report {

void require_run(const std::string& folder) {
  if (const std::string why = why_no_folder(folder); !why.empty())
    refuse(Exit::kInput, folder, ": ", why, "; name the folder of a run, as run.output does");
  for (const char* name : {"/metrics.jsonl", "/launches.jsonl", "/effective.toml", "/error.json"}) {
    if (is_there(folder + name)) return;
  }
  refuse(Exit::kInput, folder,
         ": is the folder of no run, because it holds no metrics.jsonl; name the one that "
         "run.output names");
}

}  // namespace zero::report
