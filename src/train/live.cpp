#include "src/commands/train/run.hpp"
#include "zero/base/counted.hpp"
#include "zero/config/effective.hpp"

namespace zero::commands {

void Run::introduce_start() {
  session_.together([&] {
    if (!folder_) return;
    if (start_from_) folder_->go_on();
    say(start_text());
    write_file("effective.toml", effective_toml(input_));
  });
}

std::string Run::start_text() const {
  std::string words;
  const std::string& moved_to = folder_->moved_to();
  if (start_from_) {
    words += text("going on from step ", done(), ", ", start_from_->folder(), "\n");
    if (!start_from_->note.empty()) words += start_from_->note + "\n";
    for (const std::string& change : checkpointer_->changes(*start_from_)) {
      words += text("changed since: ", change, "\n");
    }
    const std::string bytes = checkpointer_->bytes_note(*start_from_);
    if (!bytes.empty()) words += bytes + "\n";
    if (!is_of_this_batch(cursor_)) {
      words +=
          text("the data go on behind the ", counted(cursor_.samples, "sample"), " of its steps\n");
    }
    if (!moved_to.empty()) words += text("what the earlier end left moved to ", moved_to, "\n");
    return words;
  }
  if (initial_) words += text("beginning with the weights of ", initial_->path(), "\n");
  if (moved_to.empty()) return words;
  const std::string& ended = folder_->earlier_end();
  const bool unwanted = config_.checkpoint.resume == Resume::never;
  return words + text("earlier run here: ", ended, ended.empty() ? "" : ", ",
                      unwanted ? "not to go on" : "no checkpoint to go on from",
                      "; its files moved to ", moved_to, "\n");
}

}  // namespace zero::commands
