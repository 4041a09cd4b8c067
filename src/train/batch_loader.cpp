#include "zero/train/batch_loader.hpp"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "zero/base/error.hpp"

namespace zero::train {
namespace {

/// An array for each column of a data set.
template <class T>
using EachColumn = std::array<T, Dataset::kMostColumns>;

/// The inputs of a graph that take a data set's columns, and memory like theirs.
struct Rows {
  EachColumn<const plan::InputBuffer*> inputs{};
  EachColumn<std::span<std::byte>> memory{};
};

Rows rows_of(const plan::Plan& plan, int32_t graph, const Dataset& data) {
  const size_t own = data.form_lengths().size(), forms = plan.forms(graph);
  ZERO_REQUIRE(own == forms || (own == 0 && forms == 1), "samples of ", own,
               " forms for a plan of ", forms);
  Rows rows;
  for (size_t i = 0; i < data.columns().size(); ++i)
    rows.inputs[i] = &plan.input(graph, data.columns()[i].name);
  return rows;
}

/// Reads samples into the rows of a micro-batch. Returns the shortest form that covers them.
size_t read_rows(const Dataset& data, const Rows& rows, int64_t micro, int64_t first,
                 int64_t samples) {
  const size_t form = data.form_of(first, samples);
  const std::vector<DataColumn>& columns = data.columns_of(form);
  const size_t count = columns.size();
  EachColumn<std::span<std::byte>> places;
  for (int64_t sample = 0; sample < samples; ++sample) {
    for (size_t i = 0; i < count; ++i) {
      const int64_t bytes = columns[i].bytes();
      const int64_t place = micro * rows.inputs[i]->stride + sample * bytes;
      places[i] = rows.memory[i].subspan(size_t(place), size_t(bytes));
    }
    data.read(first + sample, form, ColumnSpans(places).first(count));
  }
  return form;
}

int64_t bytes_of(const plan::Plan& plan, const plan::InputBuffer& input) {
  return plan.buffers[size_t(input.buffer)].bytes;
}

/// Calls fill_all() once all inputs of the engine's rows can be written in full.
template <class Fill>
void fill(state::Engine& engine, Rows& rows, size_t columns, const Fill& fill_all,
          size_t column = 0) {
  if (column == columns) return fill_all();
  const plan::InputBuffer& input = *rows.inputs[column];
  engine.executor().buffers().fill<std::byte>(input.buffer, bytes_of(engine.plan(), input),
                                              [&](std::span<std::byte> all) {
                                                rows.memory[column] = all;
                                                fill(engine, rows, columns, fill_all, column + 1);
                                              });
}

}  // namespace

int64_t first_position(const BatchSizes& batch, int ranks, int64_t consumed, int64_t micro_batch,
                       int rank) {
  return consumed + (micro_batch * ranks + rank) * batch.micro;
}

void load_samples(state::Engine& engine, int32_t graph, const Dataset& data, int64_t first,
                  int64_t samples) {
  Rows rows = rows_of(engine.plan(), graph, data);
  fill(engine, rows, data.columns().size(), [&] {
    const size_t form = read_rows(data, rows, 0, first, samples);
    if (!data.form_lengths().empty()) engine.executor().choose_form(graph, 0, form);
  });
}

kernels::StepInputs BatchLoader::inputs(int64_t step) const {
  const int64_t first = before(step).samples;
  return {.seed = seed,
          .step = step,
          .first_sample = first,
          .counted_tokens = data.counted(first, batch.train),
          .pending = 0,
          .reserved = 0,
          .pending_step = 0,
          .pending_tokens = 0};
}

void BatchLoader::load(state::Engine& engine, int rank, int64_t step) const {
  ReadAhead(*this, engine, rank).load(step);
}

/// What the thread and its owner share.
struct ReadAhead::State {
  std::mutex mutex;
  std::condition_variable changed;
  int64_t wanted = 0;  ///< step that the thread reads or has read; 0 = none
  bool is_read = false, is_over = false;
  std::exception_ptr error = {};
  Rows rows;
  EachColumn<std::vector<std::byte>> memory{};
  std::vector<size_t> forms;  ///< [micro-batches]
};

ReadAhead::ReadAhead(const BatchLoader& loader, state::Engine& engine, int rank)
    : loader_(loader), engine_(engine), rank_(rank), state_(std::make_unique<State>()) {
  const plan::Plan& plan = engine.plan();
  state_->rows = rows_of(plan, 0, loader.data);
  for (size_t i = 0; i < loader.data.columns().size(); ++i) {
    state_->memory[i].resize(size_t(bytes_of(plan, *state_->rows.inputs[i])));
    state_->rows.memory[i] = state_->memory[i];
  }
  state_->forms.resize(size_t(plan.request.micro_batches));
}

ReadAhead::~ReadAhead() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(state_->mutex);
    state_->is_over = true;
  }
  state_->changed.notify_all();
  thread_.join();
}

void ReadAhead::begin(int64_t step) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->wanted = step;
    state_->is_read = false;
  }
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  state_->changed.notify_all();
}

void ReadAhead::work() {
  State& state = *state_;
  std::unique_lock lock(state.mutex);
  for (;;) {
    state.changed.wait(lock, [&] { return state.is_over || (state.wanted > 0 && !state.is_read); });
    if (state.is_over) return;
    const int64_t step = state.wanted;
    lock.unlock();
    std::exception_ptr error;
    try {
      read(step);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    state.error = error;
    state.is_read = true;
    state.changed.notify_all();
  }
}

void ReadAhead::read(int64_t step) {
  const plan::Request& request = engine_.plan().request;
  const int64_t consumed = loader_.before(step).samples;
  for (int64_t j = 0; j < request.micro_batches; ++j) {
    const int64_t first = first_position(loader_.batch, request.ranks, consumed, j, rank_);
    state_->forms[size_t(j)] = read_rows(loader_.data, state_->rows, j, first, loader_.batch.micro);
  }
}

/// Waits until the thread has read a step. False if it reads another one.
bool ReadAhead::wait_for(int64_t step) {
  std::unique_lock lock(state_->mutex);
  if (state_->wanted == 0) return false;
  state_->changed.wait(lock, [&] { return state_->is_read; });
  const bool is_wanted = state_->wanted == step;
  state_->wanted = 0;
  if (is_wanted && state_->error) std::rethrow_exception(std::exchange(state_->error, {}));
  return is_wanted;
}

void ReadAhead::load(int64_t step) {
  if (!wait_for(step)) read(step);
  const size_t columns = loader_.data.columns().size();
  Rows rows = state_->rows;
  fill(engine_, rows, columns, [&] {
    for (size_t i = 0; i < columns; ++i)
      std::ranges::copy(state_->memory[i], rows.memory[i].begin());
  });
  if (loader_.data.form_lengths().empty()) return;
  for (size_t j = 0; j < state_->forms.size(); ++j)
    engine_.executor().choose_form(0, int64_t(j), state_->forms[j]);
}

}  // namespace zero::train
