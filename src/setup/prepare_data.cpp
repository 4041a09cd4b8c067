#include "zero/setup/prepare_data.hpp"

#include <algorithm>
#include <utility>

#include "zero/base/text.hpp"
#include "zero/launch/peers.hpp"
#include "zero/launch/stop.hpp"
#include "zero/model/objective.hpp"
#include "zero/setup/build.hpp"

namespace zero::setup {
namespace {

bool is_over() { return launch::StopSignal::received() != 0; }

/// Works on a share for as long as it takes, and waits for the other ranks. Unlike
/// Session::on_every_rank(), a failure ends ranks that work.
template <class Work>
void work_together(launch::Session& session, const Work& work) {
  {
    const launch::Lookout::Busy busy(session.lookout());
    work();
  }
  // Ranks that wait leave the cores to those that work.
  const launch::Asleep asleep(session.peers());
  session.peers().smallest(0);
}

/// Returns the first line about a set, "" for one that is there.
std::string words_of(SetState state, const SetOrder& order) {
  const std::string& file = order.files.front().path;
  const std::string into = text(", on all ranks, into ", order.folder, "\n");
  switch (state) {
    case SetState::whole:
      return "";
    case SetState::missing:
      return text("data        ", file, " is encoded once", into);
    case SetState::of_other_files:
      return text("data        ", file, " has changed, so it is encoded anew", into);
    case SetState::of_other_rules:
      return text("data        ", file, " is encoded anew, as tokenizer or settings have changed",
                  into);
  }
  return "";
}

std::string words_of(const Preparation& done) {
  std::string words =
      text("data        ", counted(done.tokens, "token"), " of ",
           counted(done.documents, "document"), " in ", counted(done.parts, "part"));
  if (done.kept > 0) words += text(", of which ", done.kept, " were there");
  if (done.empty > 0) words += text("; ", counted(done.empty, "document"), " without a token");
  if (done.merged > 0) {
    words += text("; ", counted(done.merged, "completion"),
                  " learnt with the prompt's last token, which reaches into it");
  }
  if (done.fewer_threads > 0) {
    words +=
        text("; ", counted(done.fewer_threads, "thread"), " of a rank at once, as parts are large");
  }
  return words + "\n";
}

const DataKind& kind_of(const RunConfig& config) { return *model::objective_for(config).data; }

RunSets sets_of(const RunConfig& config) {
  return sets_of_run(kind_of(config), data_options(config), config.run.output + "/prepared");
}

/// Makes a set unless it is there. False if a signal came meanwhile.
bool make_once(launch::Session& session, const DataOrder& data, const SetOrder& order,
               const std::shared_ptr<const Tokenizer>& tokenizer, int64_t& found) {
  std::unique_ptr<SetMaker> maker;
  SetState state = SetState::missing;
  session.on_every_rank([&] {
    data.settings.locate([&] { maker = std::make_unique<SetMaker>(order, tokenizer); });
    if (session.is_first()) state = maker->state();
  });
  state = SetState(session.peers().largest(session.is_first() ? int64_t(state) : 0));
  found += state == SetState::whole;
  if (state == SetState::whole) return true;
  session.on_every_rank([&] {
    if (session.is_first()) data.hold();
  });
  data.say(words_of(state, order));
  const std::optional<Preparation> done = make_set(session, *maker);
  if (done) data.say(words_of(*done));
  return done.has_value();
}

}  // namespace

std::optional<Preparation> make_set(launch::Session& session, SetMaker& maker) {
  const SetShare share{.rank = session.rank(),
                       .ranks = session.ranks(),
                       .threads = session.threads(),
                       .is_over = is_over};
  session.on_every_rank([&] {
    if (session.is_first()) maker.begin();
  });
  int64_t kept = 0;
  work_together(session, [&] { maker.unpack(share); });
  if (session.peers().largest(is_over()) == 0)
    work_together(session, [&] { kept = maker.make(share); });
  if (session.peers().largest(is_over()) != 0) return std::nullopt;
  Preparation done;
  session.on_every_rank([&] {
    if (session.is_first()) done = maker.finish();
  });
  done.kept = int64_t(session.peers().sum(double(kept)));
  return done;
}

DataOptions prepare_data(launch::Session& session, const DataOrder& data) {
  RunSets sets;
  std::shared_ptr<const Tokenizer> tokenizer;  // of all sets
  session.on_every_rank([&] {
    data.settings.locate([&] {
      sets = sets_of(data.config);
      if (!sets.orders.empty()) tokenizer = open_tokenizer(data.config.data.tokenizer);
    });
  });
  int64_t found = 0;
  for (const SetOrder& order : sets.orders)
    if (!make_once(session, data, order, tokenizer, found)) break;
  if (found > 0) {
    data.say(text("data        ", counted(found, "prepared set"), " of an earlier launch in ",
                  data.config.run.output, "/prepared\n"));
  }
  return sets.options;
}

DataSets open_as_run(const RunConfig& config) {
  const RunSets sets = sets_of(config);
  std::shared_ptr<const Tokenizer> tokenizer;  // of all sets
  if (!sets.orders.empty()) tokenizer = open_tokenizer(config.data.tokenizer);
  const auto is_whole = [&](const SetOrder& order) {
    return SetMaker(order, tokenizer).state() == SetState::whole;
  };
  const bool are_whole = std::ranges::all_of(sets.orders, is_whole);
  return are_whole ? kind_of(config).open(sets.options) : open_data(config);
}

}  // namespace zero::setup
