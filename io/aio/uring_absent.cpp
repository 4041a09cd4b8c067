#include "zero/io/aio/queue.hpp"

namespace zero::aio {

std::unique_ptr<Engine> make_uring_engine(const EngineOptions&, std::string& why) {
  why = "this program was built without liburing (Debian: liburing-dev)";
  return nullptr;
}

}  // namespace zero::aio
