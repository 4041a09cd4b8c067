#include "src/save/checkpoint_background.hpp"

namespace zero::save {

Checkpointer::Background::Background(launch::Session& session, const plan::Plan& plan,
                                     std::span<const state::SavedPart> parts)
    : session_(session) {
  peers_.wait_asleep();
  session_.together([&] {
    disk_.emplace(plan, parts);
    copy_.emplace(plan, parts, session_.threads());
  });
}

Checkpointer::Background::~Background() {
  if (thread_.joinable()) thread_.join();
  peers_.watch_with(nullptr);
}

void Checkpointer::Background::begin(const LivePayload& live, SaveOrder order,
                                     const state::Engine& engine) {
  session_.together([&] {
    disk_->freeze(engine.disk());
    copy_->copy(live, disk_->view(session_.rank(), [this](const std::exception_ptr& error) {
      session_.end_all(error);
    }));
  });
  if (!watchdog_) {
    watchdog_ = engine.make_watchdog([this] { return pieces_.load(); },
                                     [] { return std::string("a checkpoint in the background"); });
    peers_.watch_with(watchdog_.get());
  }
  ended_ = false;
  thread_ = std::thread([this, order = std::move(order)] {
    try {
      problem_ = save_checkpoint(order, peers_, *copy_, pieces_);
    } catch (...) {
      session_.end_all(std::current_exception());
    }
    ended_ = true;
  });
}

std::string Checkpointer::Background::end() {
  thread_.join();
  disk_->thaw();
  return std::exchange(problem_, "");
}

}  // namespace zero::save
