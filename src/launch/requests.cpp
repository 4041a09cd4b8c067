#include <unistd.h>

#include "zero/launch/stop.hpp"

namespace zero::launch {
namespace {

constexpr std::chrono::milliseconds kPause(500);

}  // namespace

std::string name_of(Request request) {
  constexpr const char* kNames[] = {"", "checkpoint_now", "stop_now"};
  return kNames[size_t(request)];
}

Requests::Requests(const std::string& folder) {
  for (const Request request : {Request::save, Request::stop}) {
    paths_[size_t(request)] = folder + "/" + name_of(request);
  }
}

bool Requests::remove(Request request) const {
  return unlink(paths_[size_t(request)].c_str()) == 0;
}

Request Requests::take(Clock::time_point now) {
  if (paths_.back().empty() || now - looked_ < kPause) return Request::none;
  looked_ = now;
  const bool saves = remove(Request::save);
  if (remove(Request::stop)) return Request::stop;
  return saves ? Request::save : Request::none;
}

std::vector<std::string> Requests::forget() const {
  std::vector<std::string> gone;
  for (const Request request : {Request::save, Request::stop}) {
    if (remove(request)) gone.push_back(name_of(request));
  }
  return gone;
}

}  // namespace zero::launch
