/// Flips bits of what a rank computes, by the list in the environment variable ZERO_FLIPS:
/// "kind:rank:call:place:bit ...". Linked in front of the kernels that it calls, whose symbols
/// CMake names. Kinds and calls:
///   digest    gradients of an audited step, as they are digested: step x 1000 + digests of the
///             step on that rank, those of its audit and of a second one included
///   gradient  gradients, before their squares are added: number of the unit's gradient in the run
///   weight    master weights, momentum and variance, behind an update that is applied: number of
///   momentum  the unit's update in the run
///   variance
///   sample    ids of a micro-batch, before they are embedded: number of the micro-batch in the run

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "zero/kernels/embedding.hpp"
#include "zero/kernels/gradients.hpp"
#include "zero/kernels/optimizer.hpp"

#define ZERO_STANDS_FOR(symbol) asm("__wrap_" symbol)
#define ZERO_IS(symbol) asm("__real_" symbol)

namespace zero::kernels {

using Segments = std::span<const OptimizerSegment>;
using Arrays = OptimizerArrays<float, float>;

void real_digest(Stream&, const StepInputs*, int64_t, const uint32_t*, int64_t, int64_t*)
    ZERO_IS(ZERO_DIGEST);
void faulty_digest(Stream&, const StepInputs*, int64_t, const uint32_t*, int64_t, int64_t*)
    ZERO_STANDS_FOR(ZERO_DIGEST);
void real_squares(Stream&, int64_t, const float*, bool, StepSums*) ZERO_IS(ZERO_SQUARES);
void faulty_squares(Stream&, int64_t, const float*, bool, StepSums*) ZERO_STANDS_FOR(ZERO_SQUARES);
void real_update(Stream&, const OptimizerRule&, Segments, const StepState*, const Arrays&)
    ZERO_IS(ZERO_UPDATE);
void faulty_update(Stream&, const OptimizerRule&, Segments, const StepState*, const Arrays&)
    ZERO_STANDS_FOR(ZERO_UPDATE);
void real_embedding(Stream&, const EmbeddingExtents&, const int32_t*, const float*, const float*,
                    float*) ZERO_IS(ZERO_EMBEDDING);
void faulty_embedding(Stream&, const EmbeddingExtents&, const int32_t*, const float*, const float*,
                      float*) ZERO_STANDS_FOR(ZERO_EMBEDDING);

namespace {

struct Flip {
  std::string kind;
  long long rank = 0, call = 0, place = 0, bit = 0;
};

int own_rank() {
  const char* const rank = std::getenv("OMPI_COMM_WORLD_RANK");
  return rank == nullptr ? 0 : std::atoi(rank);
}

std::vector<Flip> read_flips() {
  std::vector<Flip> flips;
  const char* text = std::getenv("ZERO_FLIPS");
  char kind[16];
  Flip flip;
  int read = 0;
  while (text != nullptr && std::sscanf(text, " %15[a-z]:%lld:%lld:%lld:%lld%n", kind, &flip.rank,
                                        &flip.call, &flip.place, &flip.bit, &read) == 5) {
    flip.kind = kind;
    if (flip.rank == own_rank()) flips.push_back(flip);
    text += read;
  }
  return flips;
}

/// Flips what is due in this call of a kind, in words that others take for constant.
void flip(std::string_view kind, int64_t call, const void* words, int64_t numel) {
  static const std::vector<Flip> flips = read_flips();
  for (const Flip& flip : flips) {
    if (flip.kind != kind || flip.call != call) continue;
    static_cast<uint32_t*>(const_cast<void*>(words))[flip.place % numel] ^= uint32_t(1) << flip.bit;
  }
}

}  // namespace

void faulty_digest(Stream& stream, const StepInputs* inputs, int64_t numel, const uint32_t* words,
                   int64_t first, int64_t* sum) {
  static int64_t step = 0, calls = 0;
  if (inputs->audited != 0) {
    if (inputs->step != step) step = inputs->step, calls = 0;
    flip("digest", 1000 * step + calls++, words, numel);
  }
  real_digest(stream, inputs, numel, words, first, sum);
}

void faulty_squares(Stream& stream, int64_t numel, const float* grad, bool round, StepSums* sums) {
  static int64_t calls = 0;
  flip("gradient", calls++, grad, numel);
  real_squares(stream, numel, grad, round, sums);
}

void faulty_update(Stream& stream, const OptimizerRule& rule, Segments segments,
                   const StepState* state, const Arrays& arrays) {
  static int64_t calls = 0;
  real_update(stream, rule, segments, state, arrays);
  if (state->apply == 0 || segments.empty()) return;
  const int64_t begin = segments.front().begin, numel = segments.front().end - begin;
  flip("weight", calls, arrays.weight + begin, numel);
  flip("momentum", calls, arrays.states[0] + begin, numel);
  flip("variance", calls, arrays.states[1] + begin, numel);
  ++calls;
}

void faulty_embedding(Stream& stream, const EmbeddingExtents& extents, const int32_t* tokens,
                      const float* table, const float* positions, float* x) {
  static int64_t calls = 0;
  flip("sample", calls++, tokens, extents.samples * extents.length);
  real_embedding(stream, extents, tokens, table, positions, x);
}

}  // namespace zero::kernels
