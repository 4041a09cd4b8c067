#include "zero/state/batch_loader.hpp"

#include <array>
#include <span>

#include "zero/base/error.hpp"

namespace zero::state {
namespace {

/// An array for each column of a data set.
template <class T>
using EachColumn = std::array<T, Dataset::kMostColumns>;

/// The buffers of a graph's inputs that take a data set's columns, while they are filled.
class Columns {
 public:
  Columns(Engine& engine, int32_t graph, const Dataset& data)
      : engine_(engine), graph_(graph), data_(data) {
    const size_t own = data.form_lengths().size(), forms = engine.plan().forms(graph);
    ZERO_REQUIRE(own == forms || own == 0, "samples of ", own, " forms for a plan of ", forms);
    for (size_t i = 0; i < data.columns().size(); ++i) {
      inputs_[i] = &engine.plan().input(graph, data.columns()[i].name);
    }
  }

  /// Calls fill_all() once every buffer can be written in full.
  template <class Fill>
  void fill(const Fill& fill_all, size_t column = 0) {
    if (column == data_.columns().size()) return fill_all();
    const int32_t buffer = inputs_[column]->buffer;
    const int64_t bytes = engine_.plan().buffers[size_t(buffer)].bytes;
    engine_.executor().buffers().fill<std::byte>(buffer, bytes, [&](std::span<std::byte> all) {
      buffers_[column] = all;
      fill(fill_all, column + 1);
    });
  }

  /// Reads samples into the rows of a micro-batch, in the shortest form that covers them. Samples
  /// of one length take the longest form.
  void read(int64_t micro, int64_t first, int64_t samples) const {
    const size_t form = data_.form_of(first, samples), forms = engine_.plan().forms(graph_);
    const bool is_grouped = !data_.form_lengths().empty();
    if (forms > 1) engine_.executor().choose_form(graph_, micro, is_grouped ? form : forms - 1);
    const std::vector<DataColumn>& columns = data_.columns_of(form);
    const size_t count = columns.size();
    EachColumn<std::span<std::byte>> places;
    for (int64_t sample = 0; sample < samples; ++sample) {
      for (size_t i = 0; i < count; ++i) {
        const int64_t bytes = columns[i].bytes();
        places[i] =
            buffers_[i].subspan(size_t(micro * inputs_[i]->stride + sample * bytes), size_t(bytes));
      }
      data_.read(first + sample, form, ColumnSpans(places).first(count));
    }
  }

 private:
  Engine& engine_;
  int32_t graph_;
  const Dataset& data_;
  EachColumn<const plan::InputBuffer*> inputs_{};
  EachColumn<std::span<std::byte>> buffers_;
};

}  // namespace

int64_t first_position(const BatchSizes& batch, int ranks, int64_t consumed, int64_t micro_batch,
                       int rank) {
  return consumed + (micro_batch * ranks + rank) * batch.micro;
}

void load_samples(Engine& engine, int32_t graph, const Dataset& data, int64_t first,
                  int64_t samples) {
  Columns columns(engine, graph, data);
  columns.fill([&] { columns.read(0, first, samples); });
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

void BatchLoader::load(Engine& engine, int rank, int64_t step) const {
  const plan::Request& request = engine.plan().request;
  const int64_t consumed = before(step).samples;
  Columns columns(engine, 0, data);
  columns.fill([&] {
    for (int64_t j = 0; j < request.micro_batches; ++j) {
      columns.read(j, first_position(batch, request.ranks, consumed, j, rank), batch.micro);
    }
  });
}

}  // namespace zero::state
