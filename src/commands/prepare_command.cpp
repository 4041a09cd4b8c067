#include "src/commands/prepare_command.hpp"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "src/commands/command_settings.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/io/data/prepare.hpp"
#include "zero/launch/session.hpp"
#include "zero/setup/build.hpp"
#include "zero/setup/prepare_data.hpp"

namespace zero::commands {
namespace {

using Json = nlohmann::ordered_json;

void tell(const CommandLine& line, const Preparation& done) {
  if (line.json) {
    const Json json = {{"set", line.prepare},  {"documents", done.documents}, {"ids", done.tokens},
                       {"parts", done.parts},  {"kept", done.kept},           {"empty", done.empty},
                       {"merged", done.merged}};
    std::puts(json.dump(2).c_str());
    return;
  }
  std::printf("%s: %s of %s, %s\n", line.prepare.c_str(), counted(done.tokens, "token").c_str(),
              counted(done.documents, "document").c_str(), counted(done.parts, "part").c_str());
  if (done.kept > 0) std::printf("%s kept from before\n", counted(done.kept, "part").c_str());
  if (done.empty > 0) std::printf("%s without a token\n", counted(done.empty, "document").c_str());
  if (done.merged > 0) {
    std::printf("%s learnt with the prompt's last token, which reaches into it\n",
                counted(done.merged, "completion").c_str());
  }
  if (done.fewer_threads > 0) {
    std::printf("%s of a rank at once, as parts are large\n",
                counted(done.fewer_threads, "thread").c_str());
  }
}

}  // namespace

int prepare(const CommandLine& line, int& argc, char**& argv) {
  if (!line.steps.empty() || !line.from.empty() || line.decode) {
    refuse(Exit::kUsage, "command line: --prepare: shows no samples; remove --steps, --from and ",
           "--decode, and look at the set afterwards");
  }
  launch::Session session(argc, argv);
  session.require_whole_launch();
  session.end_all_on_error([&] {
    std::unique_ptr<SetMaker> maker;
    session.on_every_rank([&] {
      train::StartModel start;
      const ConfigInput input = read_settings(line, start, session.is_first());
      input.locate([&] {
        const DataOptions options = setup::data_options(input.config);
        maker = std::make_unique<SetMaker>(
            SetOrder{.options = options, .folder = line.prepare, .files = files_of_set(options)});
      });
    });
    const std::optional<Preparation> done = setup::make_set(session, *maker);
    session.on_every_rank([&] {
      if (!session.is_first() || !done) return;
      tell(line, *done);
      if (std::fflush(stdout) != 0) refuse(Exit::kIo, "the console: could not be written");
    });
  });
  return int(Exit::kFinished);
}

}  // namespace zero::commands
