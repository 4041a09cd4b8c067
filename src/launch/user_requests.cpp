#include <unistd.h>

#include "zero/launch/stop.hpp"

namespace zero::launch {
namespace {

constexpr std::chrono::milliseconds kPause(500);

}  // namespace

std::string name_of(UserRequest request) {
  constexpr const char* kNames[] = {"", "checkpoint_now", "stop_now"};
  return kNames[size_t(request)];
}

UserRequests::UserRequests(const std::string& folder) {
  for (const UserRequest request : {UserRequest::save, UserRequest::stop}) {
    paths_[size_t(request)] = folder + "/" + name_of(request);
  }
}

bool UserRequests::remove(UserRequest request) const {
  return unlink(paths_[size_t(request)].c_str()) == 0;
}

UserRequest UserRequests::take(Clock::time_point now) {
  if (paths_.back().empty() || now - looked_ < kPause) return UserRequest::none;
  looked_ = now;
  const bool saves = remove(UserRequest::save);
  if (remove(UserRequest::stop)) return UserRequest::stop;
  return saves ? UserRequest::save : UserRequest::none;
}

std::vector<std::string> UserRequests::forget() const {
  std::vector<std::string> gone;
  for (const UserRequest request : {UserRequest::save, UserRequest::stop}) {
    if (remove(request)) gone.push_back(name_of(request));
  }
  return gone;
}

}  // namespace zero::launch
