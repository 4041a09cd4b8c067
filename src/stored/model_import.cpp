#include <filesystem>
#include <vector>

#include "zero/base/error.hpp"
#include "zero/base/path.hpp"
#include "zero/config/generation_keys.hpp"
#include "zero/config/toml.hpp"
#include "zero/io/checkpoint/shard_file.hpp"
#include "zero/io/checkpoint/store.hpp"
#include "zero/io/files/new_folder.hpp"
#include "zero/io/files/open_file.hpp"
#include "zero/save/checkpoint_facts.hpp"
#include "zero/stored/model_folder.hpp"

namespace zero::stored {
namespace {

namespace fs = std::filesystem;
using checkpoint::SlicePlan;
using checkpoint::Store;

save::Facts facts_of(const StoredModel& model, const std::string& program) {
  if (!is_line_of_text(model.path())) {
    refuse(Exit::kInput, model.path(), ": the name is no UTF-8 text, as which the new checkpoint ",
           "keeps it; rename the folder, or name a link to it");
  }
  const ModelDescription& description = model.description();
  save::Facts facts = {{"architecture", model::fact(description.recipe())},
                       {"compute", std::string(name_of(description.compute))},
                       {save::kTokenizerFact, description.tokenizer},
                       {save::kDescriptionFact, description_json(description)},
                       {save::kWeightsOnlyFact, "true"},
                       {"imported_from", model.path()},
                       {checkpoint::kHdf5Fact, checkpoint::hdf5_version()},
                       {"build", program}};
  const bool has_file = !description.generation_text.empty();
  if (has_file || !generation_values(description.generation).empty())
    facts[save::kGenerationFact] = generation_json(description);
  return facts;
}

std::vector<SlicePlan> slices_of(const StoredModel& model) {
  std::vector<SlicePlan> slices;
  const std::string prefix = saved_weights_prefix(model.description().model);
  for (const auto& [name, shape] : stored_tensors(stored_graph(model.description().recipe()))) {
    int64_t numel = 1;
    for (const int64_t extent : shape) numel *= extent;
    slices.push_back(
        {.tensor = {.name = prefix + name, .dtype = model.dtype_of(name), .shape = shape},
         .begin = 0,
         .numel = numel});
  }
  return slices;
}

/// Narrows values that T holds exactly.
template <class T>
std::span<const std::byte> narrowed(std::span<const float> values, std::vector<std::byte>& room) {
  room.resize(values.size() * sizeof(T));
  T* out = reinterpret_cast<T*>(room.data());
  for (size_t i = 0; i < values.size(); ++i) out[i] = T(values[i]);
  return room;
}

checkpoint::ShardWriter::Written write_shard(const StoredModel& model, int folder,
                                             const std::vector<SlicePlan>& slices,
                                             const checkpoint::DigestForm& digests) {
  const Arena staging(checkpoint::kStagingBytes);
  checkpoint::ShardWriter file(folder, checkpoint::rank_file_name(0),
                               checkpoint::ShardStructure(slices), staging, digests);
  std::vector<std::byte> room;
  const size_t prefix = saved_weights_prefix(model.description().model).size();
  for (const SlicePlan& slice : slices) {
    const auto append = [&](int64_t, std::span<const float> piece) {
      const Dtype dtype = slice.tensor.dtype;
      file.append(dtype == Dtype::bf16  ? narrowed<bf16>(piece, room)
                  : dtype == Dtype::f16 ? narrowed<f16>(piece, room)
                                        : std::as_bytes(piece));
    };
    read_pieces(model, slice.tensor.name.substr(prefix), 0, slice.numel, append);
  }
  return file.finish();
}

checkpoint::Manifest write_files(const StoredModel& model, int folder, const save::Facts& facts) {
  const std::vector<SlicePlan> slices = slices_of(model);
  checkpoint::Manifest manifest{
      .step = 0, .ranks = 1, .facts = facts, .tensors = {}, .slices = {}, .files = {}};
  for (const SlicePlan& slice : slices) manifest.tensors.push_back(slice.tensor);
  const checkpoint::ShardWriter::Written written =
      write_shard(model, folder, slices, digest_form(manifest));
  manifest.files.push_back(written.file);
  for (size_t i = 0; i < slices.size(); ++i) {
    manifest.slices.push_back({.tensor = int32_t(i),
                               .file = 0,
                               .begin = 0,
                               .numel = slices[i].numel,
                               .offset = written.offsets[i]});
  }
  manifest.files.push_back(checkpoint::IndexStructure(manifest).write(folder, manifest));
  return manifest;
}

void make_place(const std::string& root) {
  std::error_code error;
  const fs::path place = fs::path(root + "/").lexically_normal().parent_path().parent_path();
  if (!place.empty()) fs::create_directories(place, error);
  if (error) refuse(Exit::kIo, place.string(), ": cannot be made: ", path_advice(error.value()));
}

}  // namespace

void import_model(const StoredModel& model, const std::string& root, const std::string& program) {
  make_place(root);
  // Two imports at a time must not share a folder.
  NewFolder made(root);
  {
    Store store({.root = made.temporary(), .writes = true});
    const std::string temporary = store.begin(0);
    {
      const OpenFile folder(store.open_folder(temporary));
      store.write_manifest(temporary,
                           write_files(model, folder.descriptor(), facts_of(model, program)));
    }
    store.publish(temporary, 0);
  }
  made.publish();
}

}  // namespace zero::stored
