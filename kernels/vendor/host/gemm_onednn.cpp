// oneDNN 2 and 3. Where their interfaces differ, a template takes the one that its type has.

#include <omp.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/vendor/host/gemm.hpp"
#include "zero/base/align.hpp"
#include "zero/base/error.hpp"
#include "zero/base/process_limits.hpp"
#include "zero/base/text.hpp"

namespace zero::kernels::vendor {
namespace {

using dnnl::memory;

/// More distinct products than any model here has. Beyond it a thread starts its cache afresh.
constexpr size_t kPreparedMax = 1024;
/// The most memory that one product may want beside its operands, which no plan knows of. If an
/// implementation wants a copy of all of c in fp32, the product goes in blocks of rows.
constexpr size_t kScratchBytesMost = size_t(16) << 20;
/// From this k on the packing implementation ("gemm") beats the batch-reduce one ("brg"), because
/// that reads all of k for each block of c.
constexpr int64_t kLongK = 4096;

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

memory::data_type type_of(Dtype dtype) {
  return dtype == Dtype::bf16 ? memory::data_type::bf16 : memory::data_type::f32;
}

memory::desc matrix(int64_t rows, int64_t columns, int64_t ld, bool transposed, Dtype dtype) {
  const memory::dims strides = transposed ? memory::dims{1, ld} : memory::dims{ld, 1};
  return memory::desc({rows, columns}, type_of(dtype), strides);
}

/// Returns the description of a product of `arrays`: a, b, perhaps a bias, and c. oneDNN 3 has no
/// descriptor of an operation.
template <class Matmul, class... Arrays>
typename Matmul::primitive_desc description_of(const dnnl::primitive_attr& attr,
                                               const Arrays&... arrays) {
  if constexpr (requires { typename Matmul::desc; }) {
    return {typename Matmul::desc(arrays...), attr, engine()};
  } else {
    return {engine(), arrays..., attr};
  }
}

/// Returns the rows of a matrix.
template <class Desc>
int64_t rows_of(const Desc& matrix) {
  if constexpr (requires { matrix.get_dims(); }) {
    return matrix.get_dims()[0];
  } else {
    return matrix.dims()[0];
  }
}

dnnl::matmul::primitive_desc describe(const GemmSpec& spec) {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (spec.accumulate) {
    dnnl::post_ops sum;
    sum.append_sum(1.0f);
    attr.set_post_ops(sum);
  }
  const memory::desc a = matrix(spec.m, spec.k, spec.lda, spec.transpose_a, spec.in);
  const memory::desc b = matrix(spec.k, spec.n, spec.ldb, spec.transpose_b, spec.in);
  const memory::desc c = matrix(spec.m, spec.n, spec.ldc, false, spec.out);
  const memory::desc bias = matrix(1, spec.n, spec.n, false, spec.in);
  const dnnl::matmul::primitive_desc best = spec.bias
                                                ? description_of<dnnl::matmul>(attr, a, b, bias, c)
                                                : description_of<dnnl::matmul>(attr, a, b, c);
  if (spec.k <= kLongK) return best;
  dnnl::matmul::primitive_desc other = best;
  do {
    if (std::string_view(other.impl_info_str()).starts_with("gemm")) return other;
  } while (other.next_impl());
  return best;
}

/// Returns the product of a block of rows of c: the largest of equal ones that wants little
/// scratch.
dnnl::matmul::primitive_desc describe_block(GemmSpec spec) {
  constexpr int64_t kRows = 64;
  dnnl::matmul::primitive_desc block = describe(spec);
  while (spec.m > kRows && block.scratchpad_desc().get_size() > kScratchBytesMost) {
    spec.m = round_up(ceil_div<int64_t>(spec.m, 2), kRows);
    block = describe(spec);
  }
  return block;
}

constexpr const char* kRoomAdvice =
    " - it wants memory for its code: raise the limits of this process (ulimit -v, ulimit -d), or "
    "take a smaller train_micro_batch_size_per_gpu";

/// Throws Error(kDoesNotFit) unless the system has room for the code of one product. oneDNN writes
/// to address 0 if it is refused the memory for a kernel, 256 KiB each.
void require_room_for_code(const GemmSpec& spec) {
  constexpr int64_t kCodeBytes = int64_t(12) << 20;
  if (would_get(kCodeBytes)) return;
  refuse(Exit::kDoesNotFit, "the system refuses oneDNN the ", bytes_text(double(kCodeBytes)),
         " that the code of a product of ", spec.m, " x ", spec.n, " x ", spec.k, " may take",
         kRoomAdvice);
}

/// A primitive with memory objects whose addresses are set before each call.
struct Prepared {
  GemmSpec spec;  ///< the product asked for
  int threads;
  dnnl::matmul::primitive_desc description;  ///< product of a block of its rows, often of all
  int64_t rows;                              ///< rows of such a block
  size_t scratch_bytes;                      ///< kept, because oneDNN 3 allocates to tell it
  dnnl::matmul primitive;
  memory a, b, c, bias, scratch;

  Prepared(const GemmSpec& wanted, int wanted_threads)
      : spec(wanted),
        threads(wanted_threads),
        description(describe_block(wanted)),
        rows(rows_of(description.dst_desc())),
        scratch_bytes(description.scratchpad_desc().get_size()),
        primitive(description),
        a(description.src_desc(), engine(), nullptr),
        b(description.weights_desc(), engine(), nullptr),
        c(description.dst_desc(), engine(), nullptr),
        scratch(description.scratchpad_desc(), engine(), nullptr) {
    if (spec.bias) bias = memory(description.bias_desc(), engine(), nullptr);
  }
};

struct ThreadState {
  dnnl::stream stream{engine()};
  std::vector<std::unique_ptr<Prepared>> prepared;
  HostBuffer scratch, column;
  int64_t made = 0;
};

ThreadState& thread_state() {
  thread_local ThreadState state;
  return state;
}

Prepared& prepare(ThreadState& state, const GemmSpec& spec, int threads) {
  for (const auto& known : state.prepared)
    if (known->threads == threads && known->spec == spec) return *known;
  if (state.prepared.size() == kPreparedMax) state.prepared.clear();
  require_room_for_code(spec);
  state.prepared.push_back(std::make_unique<Prepared>(spec, threads));
  ++state.made;
  return *state.prepared.back();
}

/// Returns the product of the rows that are left after whole blocks.
GemmSpec remainder_of(const GemmSpec& spec, int64_t rows) {
  GemmSpec remainder = spec;
  remainder.m = spec.m % rows;
  return remainder;
}

/// A setting of the calling thread's OpenMP team, which oneDNN takes when a primitive is made and
/// again when it runs.
class TeamSize {
 public:
  explicit TeamSize(int threads) : before_(omp_get_max_threads()) {
    if (before_ != threads) omp_set_num_threads(threads);
  }
  ~TeamSize() { omp_set_num_threads(before_); }
  TeamSize(const TeamSize&) = delete;
  TeamSize& operator=(const TeamSize&) = delete;

 private:
  int before_;
};

void execute(ThreadState& state, Prepared& ready, const GemmOperands& operands) {
  // oneDNN's interface has one pointer type for what it reads and what it writes.
  ready.a.set_data_handle(const_cast<void*>(operands.a));
  ready.b.set_data_handle(const_cast<void*>(operands.b));
  ready.c.set_data_handle(operands.c);
  ready.scratch.set_data_handle(state.scratch.reserve(ready.scratch_bytes));
  // The C call, because the C++ one builds a map of arguments first.
  dnnl_exec_arg_t args[5] = {{DNNL_ARG_SRC, ready.a.get()},
                             {DNNL_ARG_WEIGHTS, ready.b.get()},
                             {DNNL_ARG_DST, ready.c.get()},
                             {DNNL_ARG_SCRATCHPAD, ready.scratch.get()},
                             {}};
  if (ready.spec.bias) {
    ready.bias.set_data_handle(const_cast<void*>(operands.bias));
    args[4] = {DNNL_ARG_BIAS, ready.bias.get()};
  }
  const dnnl_status_t status = dnnl_primitive_execute(ready.primitive.get(), state.stream.get(),
                                                      ready.spec.bias ? 5 : 4, args);
  ZERO_REQUIRE(status == dnnl_success, "oneDNN ended a product with status ", int(status));
}

const void* advanced(const void* array, int64_t elements, Dtype dtype) {
  return static_cast<const std::byte*>(array) + elements * int64_t(bytes_of(dtype));
}

/// Returns the operands of the rows from `row` on.
GemmOperands from_row(const GemmSpec& spec, const GemmOperands& all, int64_t row) {
  GemmOperands block = all;
  block.a = advanced(all.a, spec.transpose_a ? row : row * spec.lda, spec.in);
  block.c = const_cast<void*>(advanced(all.c, row * spec.ldc, spec.out));
  return block;
}

void multiply(ThreadState& state, const GemmSpec& spec, const GemmOperands& operands, int threads) {
  Prepared& ready = prepare(state, spec, threads);
  const int64_t rows = ready.rows;
  const int64_t whole = spec.m / rows * rows;
  for (int64_t row = 0; row < whole; row += rows) {
    execute(state, ready, from_row(spec, operands, row));
  }
  if (whole == spec.m) return;
  execute(state, prepare(state, remainder_of(spec, rows), threads),
          from_row(spec, operands, whole));
}

/// True for a column of c whose elements lie apart. With AVX-512 oneDNN 3.7 and 3.8 write them side
/// by side; 3.9 does not.
bool is_misplaced(const GemmSpec& spec) {
  return spec.n == 1 && spec.m > 1 && spec.ldc > 1 && dnnl_version()->major == 3;
}

GemmSpec side_by_side(GemmSpec spec) {
  spec.ldc = 1;
  return spec;
}

/// Copies `count` elements of `bytes` each. The distances from one to the next are in bytes.
void copy_apart(int64_t count, size_t bytes, const std::byte* from, size_t from_next, std::byte* to,
                size_t to_next) {
  for (int64_t i = 0; i < count; ++i, from += from_next, to += to_next)
    std::memcpy(to, from, bytes);
}

/// Multiplies into a column of this thread's, and copies that to c.
void multiply_column(ThreadState& state, const GemmSpec& spec, const GemmOperands& operands,
                     int threads) {
  const size_t bytes = bytes_of(spec.out), apart = size_t(spec.ldc) * bytes;
  auto* const c = static_cast<std::byte*>(operands.c);
  std::byte* const column = state.column.reserve(size_t(spec.m) * bytes);
  if (spec.accumulate) copy_apart(spec.m, bytes, c, apart, column, bytes);
  GemmOperands beside = operands;
  beside.c = column;
  multiply(state, side_by_side(spec), beside, threads);
  copy_apart(spec.m, bytes, column, bytes, c, apart);
}

/// Makes all that multiply() makes.
void make_ready(ThreadState& state, const GemmSpec& spec, int threads) {
  const auto with_scratch = [&](const Prepared& ready) {
    state.scratch.reserve(ready.scratch_bytes);
    return ready.rows;
  };
  const GemmSpec remainder = remainder_of(spec, with_scratch(prepare(state, spec, threads)));
  if (remainder.m > 0) with_scratch(prepare(state, remainder, threads));
}

/// Makes all that multiply_column() makes.
void make_column_ready(ThreadState& state, const GemmSpec& spec, int threads) {
  state.column.reserve(size_t(spec.m) * bytes_of(spec.out));
  make_ready(state, side_by_side(spec), threads);
}

/// Throws Error(kDoesNotFit) if oneDNN was refused memory for code, else Error(kInternal).
[[noreturn]] void refuse_product(const GemmSpec& spec, const dnnl::error& error) {
  const bool refused = error.status == dnnl_out_of_memory || error.status == dnnl_runtime_error;
  refuse(refused ? Exit::kDoesNotFit : Exit::kInternal, "oneDNN refused a product of ", spec.m,
         " x ", spec.n, " x ", spec.k, " in ", name_of(spec.in), ": ", error.what(),
         refused ? kRoomAdvice : "");
}

}  // namespace

bool multiplies(Dtype in) {
  static const bool bf16_units = (int(dnnl_get_effective_cpu_isa()) &
                                  dnnl_cpu_isa_avx512_core_bf16) == dnnl_cpu_isa_avx512_core_bf16;
  return in == Dtype::f32 || (in == Dtype::bf16 && bf16_units);
}

void host_gemm(const GemmSpec& spec, const GemmOperands& operands, int threads) {
  const TeamSize team(threads);
  try {
    const auto of_kind = is_misplaced(spec) ? multiply_column : multiply;
    of_kind(thread_state(), spec, operands, threads);
  } catch (const dnnl::error& error) {
    refuse_product(spec, error);
  }
}

void prepare_host_gemm(const GemmSpec& spec, int threads) {
  const TeamSize team(threads);
  try {
    const auto of_kind = is_misplaced(spec) ? make_column_ready : make_ready;
    of_kind(thread_state(), spec, threads);
  } catch (const dnnl::error& error) {
    refuse_product(spec, error);
  }
}

int64_t gemms_made() { return thread_state().made; }

const char* gemm_library() {
  static const std::string name = text("oneDNN ", dnnl_version()->major, ".", dnnl_version()->minor,
                                       ".", dnnl_version()->patch);
  return name.c_str();
}

const char* gemm_isa() {
  // A newer set of instructions has the bits of those that it contains.
  const int bits = int(dnnl_get_effective_cpu_isa());
  const auto has = [bits](dnnl_cpu_isa_t isa) { return (bits & int(isa)) == int(isa); };
  if (has(dnnl_cpu_isa_avx512_core_amx)) return "avx512_core_amx";
  if (has(dnnl_cpu_isa_avx512_core_bf16)) return "avx512_core_bf16";
  if (has(dnnl_cpu_isa_avx512_core_vnni)) return "avx512_core_vnni";
  if (has(dnnl_cpu_isa_avx512_core)) return "avx512_core";
  if (has(dnnl_cpu_isa_avx2_vnni)) return "avx2_vnni";
  return has(dnnl_cpu_isa_avx2) ? "avx2" : "less than avx2";
}

}  // namespace zero::kernels::vendor
