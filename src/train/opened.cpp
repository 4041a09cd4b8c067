#include <memory>
#include <utility>

#include "src/train/chain.hpp"
#include "zero/config/read_config.hpp"
#include "zero/save/checkpoint_facts.hpp"
#include "zero/stored/model_folder.hpp"

namespace zero::train {

bool begins_anew(const Planned& planned) {
  return !planned.is_saved() || planned.config.checkpoint.resume == Resume::never;
}

save::Facts facts_of(const Context& context, const Sized& sized, const Kept& kept) {
  auto described = stored::describe_model(sized.config, sized.build(), sized.sets);
  described.origin = kept.origin;
  return save::launch_facts({.config = sized.config,
                             .build = sized.build(),
                             .configuration = effective_toml(sized.settings),
                             .description = stored::description_json(described),
                             .generation = kept.generation,
                             .classes = sized.sets.classes,
                             .lent = kept.lent,
                             .data = sized.fingerprint,
                             .program = context.order.version,
                             .threads = context.session.threads()});
}

Opened::Opened(Context& context, const Sized& sized, std::unique_ptr<RunFolder> taken)
    : folder(std::move(taken)) {
  context.enter(launch::Milestone::folder);
  context.session.on_every_rank([&] {
    if (!context.session.is_first()) return;
    if (!folder) folder = std::make_unique<RunFolder>(sized.config.run.output);
    if (begins_anew(sized)) folder->make_way(true);
  });
  if (!sized.is_saved()) return;
  if (folder) folder->will_make(save::checkpoint_root(sized.config), "LOCK");
  checkpointer.emplace(context.session, sized.config, sized.build().plan, facts_of(context, sized));
}

Opened::Opened(Context& context, const Sized& sized, save::Checkpointer::ReadsOnly reads) {
  context.enter(launch::Milestone::folder);
  checkpointer.emplace(context.session, sized.config, sized.build().plan, facts_of(context, sized),
                       reads);
}

}  // namespace zero::train
