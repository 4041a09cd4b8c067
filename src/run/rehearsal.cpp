#include "src/run/rehearsal.hpp"

#include <algorithm>
#include <cstring>

#include "zero/device/copy.hpp"
#include "zero/graph/operation.hpp"
#include "zero/kernels/initialise.hpp"

namespace zero::run {
namespace {

/// Elements after which inputs repeat.
constexpr int64_t kNoiseNumel = int64_t(1) << 20;
/// Keeps products of two such inputs small in fp16.
constexpr float kNoiseSize = 0.1f;

bool is_real(Dtype dtype) {
  return dtype == Dtype::f32 || dtype == Dtype::bf16 || dtype == Dtype::f16;
}

bool is_rehearsed(const graph::OpCall& call) {
  const graph::Operation& kind = *call.op->kind;
  return kind.rehearsed && kind.flops(*call.graph, *call.op) > 0;
}

graph::TensorId tensor_of(const graph::Op& op, size_t operand) {
  const size_t inputs = op.inputs.size();
  return operand < inputs ? op.inputs[operand] : op.outputs[operand - inputs];
}

/// Returns the alignment that libraries look at: 1 to 16 bytes.
uint64_t alignment_of(const void* array) {
  const auto bits = reinterpret_cast<uintptr_t>(array) | 16;
  return bits & (~bits + 1);
}

template <class T>
std::vector<std::byte> noise_in() {
  std::vector<float> values(static_cast<size_t>(kNoiseNumel));
  kernels::initial_normals(1, 0, 0, values);
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    const T value(kNoiseSize * values[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
  return bytes;
}

}  // namespace

Rehearsal::Key Rehearsal::key_of(const graph::OpCall& call) {
  Key key{reinterpret_cast<uintptr_t>(call.op->kind), call.sums, call.add};
  const std::span<const uint64_t> attributes = call.op->attributes.words();
  key.insert(key.end(), attributes.begin(), attributes.end());
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const graph::TensorId id = tensor_of(*call.op, i);
    if (id == graph::kNone) {
      key.push_back(0);
      continue;
    }
    const graph::Tensor& tensor = (*call.graph)[id];
    key.push_back(alignment_of(call.operands[i]));
    key.push_back(uint64_t(tensor.dtype));
    for (int e = 0; e < tensor.shape.rank(); ++e) key.push_back(uint64_t(tensor.shape[e]));
  }
  return key;
}

void Rehearsal::run(const BoundOp& op) {
  if (op.op->kind != plan::Kind::compute) return;
  const auto number = int32_t(op.graph - op.plan->graphs.data());
  for (size_t form = 0; form < op.plan->forms(number); ++form) {
    const graph::OpCall call = call_of(op, op.plan->form(number, form));
    if (!is_rehearsed(call) || !seen_.insert(key_of(call)).second) continue;
    fill_inputs(call);
    graph::call(stream_, call);
  }
}

void Rehearsal::fill_inputs(const graph::OpCall& call) {
  for (size_t i = 0; i < call.op->inputs.size(); ++i) {
    const graph::TensorId id = call.op->inputs[i];
    if (id == graph::kNone || call.operands[i] == nullptr) continue;
    const graph::Tensor& tensor = (*call.graph)[id];
    auto* const array = static_cast<std::byte*>(call.operands[i]);
    if (is_real(tensor.dtype)) fill(tensor.dtype, {array, size_t(tensor.bytes())});
  }
}

void Rehearsal::fill(Dtype dtype, std::span<std::byte> array) {
  const Arena& noise = noise_of(dtype);
  while (!array.empty()) {
    const size_t bytes = std::min(array.size(), size_t(noise.bytes()));
    copy_bytes(stream_, {noise.data(), bytes}, array.data());
    array = array.subspan(bytes);
  }
}

const Arena& Rehearsal::noise_of(Dtype dtype) {
  Arena& noise = noise_[dtype];
  if (noise.bytes() > 0) return noise;
  with_type(dtype, [&](auto t) {
    const std::vector<std::byte> values = noise_in<typename decltype(t)::type>();
    noise = Arena(int64_t(values.size()), Place::device);
    copy_bytes(stream_, values, noise.data());
    stream_.wait();
  });
  return noise;
}

}  // namespace zero::run
