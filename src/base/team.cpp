#include "zero/base/team.hpp"

#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace zero {

void in_team(int threads, const std::function<void(int member)>& work) {
  std::mutex mutex;
  std::exception_ptr first;
  const auto member = [&](int number) {
    try {
      work(number);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!first) first = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    for (int number = 1; number < threads; ++number) others.emplace_back(member, number);
    member(0);
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace zero
