#include "zero/state/batch_loader.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "zero/base/error.hpp"

namespace zero::state {
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
  ZERO_REQUIRE(own == forms || own == 0, "samples of ", own, " forms for a plan of ", forms);
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

/// Lets a micro-batch run in a form of its rows. Samples of one length take the longest form.
void choose_form(Engine& engine, int32_t graph, int64_t micro, const Dataset& data, size_t form) {
  const size_t forms = engine.plan().forms(graph);
  const bool is_grouped = !data.form_lengths().empty();
  if (forms > 1) engine.executor().choose_form(graph, micro, is_grouped ? form : forms - 1);
}

/// Calls fill_all() once all inputs of the engine's rows can be written in full.
template <class Fill>
void fill(Engine& engine, Rows& rows, size_t columns, const Fill& fill_all, size_t column = 0) {
  if (column == columns) return fill_all();
  const plan::InputBuffer& input = *rows.inputs[column];
  engine.executor().buffers().fill<std::byte>(input.buffer, bytes_of(engine.plan(), input),
                                              [&](std::span<std::byte> all) {
                                                rows.memory[column] = all;
                                                fill(engine, rows, columns, fill_all, column + 1);
                                              });
}

}  // namespace

int64_t first_position(const BatchSizes& batch, const plan::Request& request, int64_t consumed,
                       int64_t micro_batch, int rank) {
  return consumed + request.number_of(micro_batch, rank) * batch.micro;
}

void load_samples(Engine& engine, int32_t graph, const Dataset& data, int64_t first,
                  int64_t samples) {
  Rows rows = rows_of(engine.plan(), graph, data);
  fill(engine, rows, data.columns().size(),
       [&] { choose_form(engine, graph, 0, data, read_rows(data, rows, 0, first, samples)); });
}

kernels::StepInputs BatchLoader::inputs(int64_t step) const {
  const int64_t first = before(step).samples;
  return {.seed = seed,
          .step = step,
          .first_sample = first,
          .counted_tokens = data.counted(first, batch.train),
          .pending = 0,
          .rejected = 0,
          .audited = int16_t(audits(step)),
          .pending_step = 0,
          .pending_tokens = 0};
}

void BatchLoader::load(Engine& engine, int rank, int64_t step) const {
  StepLoader(*this, engine, rank).load(step);
}

struct StepLoader::Room {
  Rows rows;
  EachColumn<std::vector<std::byte>> memory{};
  std::vector<size_t> forms;  ///< [micro-batches, then the audited one if the plan audits]
};

StepLoader::StepLoader(const BatchLoader& loader, Engine& engine, int rank)
    : loader_(loader),
      engine_(engine),
      rank_(rank),
      room_(std::make_unique<Room>()),
      ahead_([this](int64_t step) { read(step); }) {
  const plan::Plan& plan = engine.plan();
  room_->rows = rows_of(plan, 0, loader.data);
  for (size_t i = 0; i < loader.data.columns().size(); ++i) {
    room_->memory[i].resize(size_t(bytes_of(plan, *room_->rows.inputs[i])));
    room_->rows.memory[i] = room_->memory[i];
  }
  room_->forms.resize(size_t(plan.request.micro_batches + plan.request.audits));
}

StepLoader::~StepLoader() = default;

void StepLoader::read(int64_t step) {
  const plan::Request& request = engine_.plan().request;
  const int64_t consumed = loader_.before(step).samples;
  for (int64_t j = 0; j < request.micro_batches; ++j) {
    const int64_t first = first_position(loader_.batch, request, consumed, j, rank_);
    room_->forms[size_t(j)] = read_rows(loader_.data, room_->rows, j, first, loader_.batch.micro);
  }
  if (loader_.audits(step)) read_audit(step, 1);
}

void StepLoader::read_audit(int64_t step, int distance) {
  const plan::Request& request = engine_.plan().request;
  ZERO_REQUIRE(request.audits, "an audit by a plan without one");
  const int64_t first = first_position(loader_.batch, request, loader_.before(step).samples, 0,
                                       (rank_ + distance) % request.ranks);
  room_->forms.back() =
      read_rows(loader_.data, room_->rows, request.micro_batches, first, loader_.batch.micro);
}

void StepLoader::load(int64_t step) {
  if (!ahead_.finish(step)) read(step);
  send();
}

void StepLoader::load_audit(int64_t step, int distance) {
  ahead_.finish(0);  // the memory is its own again; what was read ahead is read anew
  read_audit(step, distance);
  send();
}

void StepLoader::send() {
  const size_t columns = loader_.data.columns().size();
  Rows rows = room_->rows;
  fill(engine_, rows, columns, [&] {
    for (size_t i = 0; i < columns; ++i)
      std::ranges::copy(room_->memory[i], rows.memory[i].begin());
  });
  for (size_t j = 0; j < room_->forms.size(); ++j)
    choose_form(engine_, 0, int64_t(j), loader_.data, room_->forms[j]);
}

}  // namespace zero::state
