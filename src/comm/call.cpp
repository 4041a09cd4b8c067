#include "src/comm/call.hpp"

#include <cstring>

#include "zero/base/error.hpp"

namespace zero::comm {
namespace {

// No padding, so memcmp compares values only.
static_assert(std::has_unique_object_representations_v<Call>);

bool same(const Call& a, const Call& b) { return std::memcmp(&a, &b, sizeof(Call)) == 0; }

std::string piece_text(const Call& call) {
  return text("elements [", call.begin, ", ", call.begin + call.numel, ") of shards of ",
              call.shard_numel);
}

}  // namespace

std::string to_text(const Call& call) {
  switch (call.verb) {
    case Verb::all_gather:
      return text("all_gather of ", name_of(call.in), ", ", piece_text(call));
    case Verb::reduce_scatter:
      return text("reduce_scatter of ", name_of(call.in), " into ", name_of(call.out),
                  call.store == Communicator::Store::add ? " (added), " : ", ", piece_text(call));
    case Verb::all_reduce:
      return text("all_reduce of ", call.numel, " words");
    case Verb::broadcast:
      return text("broadcast of ", call.numel, " bytes from rank ", call.root);
    case Verb::barrier:
      return "barrier";
  }
  return text("verb ", int(call.verb));
}

void require_same(std::span<const Call> calls) {
  for (size_t r = 1; r < calls.size(); ++r) {
    if (same(calls[0], calls[r])) continue;
    refuse(Exit::kRanksDisagree, "ranks disagree: rank 0 calls ", to_text(calls[0]), " while rank ",
           r, " calls ", to_text(calls[r]),
           " - run one binary with one configuration on all ranks");
  }
}

}  // namespace zero::comm
