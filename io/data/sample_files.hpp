#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "zero/base/text.hpp"
#include "zero/io/data/data_kind.hpp"

namespace zero {

/// Opens the sets of a kind whose files are lists of samples: data.train, and data.validation or
/// the last share of data.train. An Opener has three functions, of a Source that is a DataSource:
///   unique_ptr<Source> opened(path)
///   unique_ptr<Dataset> samples(Source&, first, count, optional seed of the shuffle)
///   string remark(const Source&)    words for people on the samples so far, or ""
template <class Opener>
DataSets open_sample_files(const DataOptions& options, const Opener& opener) {
  DataSets sets;
  auto source = opener.opened(options.data.train);
  const int64_t trained = trained_samples(options, source->items());
  const auto add_remark = [&](const char* set, const auto& of) {
    const std::string words = opener.remark(of);
    if (!words.empty())
      sets.remark += text(sets.remark.empty() ? "" : "; ", "in ", set, " ", words);
  };
  sets.train = opener.samples(*source, 0, limited(trained, options.data.max_train_samples),
                              std::optional<uint64_t>(options.seed));
  const int64_t most = options.data.max_validation_samples;
  if (options.data.validation.empty() && trained < source->items()) {
    const int64_t held_out = limited(source->items() - trained, most);
    sets.validation = opener.samples(*source, trained, held_out, std::nullopt);
    add_remark("training and validation", *source);
  } else {
    add_remark("training", *source);
  }
  if (!options.data.validation.empty()) {
    auto held_out = opener.opened(options.data.validation);
    sets.validation = opener.samples(*held_out, 0, limited(held_out->items(), most), std::nullopt);
    add_remark("validation", *held_out);
    sets.validation_source = std::move(held_out);
  }
  sets.train_source = std::move(source);
  return sets;
}

}  // namespace zero
