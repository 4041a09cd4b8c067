#pragma once
/// What the rest of the house sees of models: an Architecture, plain data, and what its family does
/// with it. A family is one row of functions; src/model/families.cpp lists the rows.

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zero/config/model_table.hpp"
#include "zero/graph/builder.hpp"
#include "zero/graph/graph.hpp"
#include "zero/io/data/dataset.hpp"
#include "zero/io/interop/json.hpp"

namespace zero::model {

struct Family;

/// A model as plain data: its numbers, and whose they are. Rates are as fp32 holds them.
struct Architecture {
  const Family* family = nullptr;
  ModelNumbers numbers = {};

  bool operator==(const Architecture&) const = default;
};

struct ForwardOptions {
  graph::MicroBatch micro;
  Dtype compute;
  bool training;           ///< false: evaluation, no dropout
  int64_t chunk_rows = 0;  ///< classifier, at most; 0: chosen from the shape alone
};

/// What the samples and texts of a model may hold.
struct DataForm {
  int64_t vocabulary;  ///< ids of tokens lie below
  int64_t positions;   ///< tokens of one text, at most
  /// Ids that pairs of texts are made with: what fills up a short one, ends each, and what a
  /// decoder reads first. -1: the model does not say.
  int64_t pad = -1, end = -1, start = -1;
};

/// The scalars of a config.json as Hugging Face writes it, by their keys joined by dots. A list
/// keeps its last value, which nobody asks for. What is asked for and is missing or not as it must
/// be is Error(kInput) with the file, the key, and what would work.
class HubConfig {
 public:
  /// `name` is for messages. Throws Error(kInput) for what is no JSON object.
  HubConfig(std::string_view content, std::string name);

  /// What messages compare it with: "GPT2LMHeadModel".
  void compare_with(std::string_view hub_class) { class_ = hub_class; }

  int64_t count(const std::string& key, int64_t most) const;
  int64_t count_or(const std::string& key, int64_t most, int64_t otherwise) const;
  std::string word_or(const std::string& key, const std::string& otherwise) const;
  /// An fp32 number that can be added to a variance.
  float epsilon_or(const std::string& key, double otherwise) const;
  float share_or(const std::string& key, double otherwise) const;
  bool flag_or(const std::string& key, bool otherwise) const;
  /// A switch whose other value would be another network.
  void require(const std::string& key, bool wanted) const;
  /// An id that texts are made with; it may be missing.
  void require_id(const std::string& key, int64_t wanted) const;
  /// A setting of another network, or of weights of another form, which may be null or empty.
  void require_none(const std::string& key, const std::string& fault_and_advice) const;
  /// Says what was read of the key, or that it is missing, and what would work.
  [[noreturn]] void fail(const std::string& key, const std::string& advice) const;

 private:
  /// Null is as good as absent.
  bool has(const std::string& key) const;
  template <class T>
  const T* find(const std::string& key) const;
  double real_or(const std::string& key, double otherwise) const;

  std::string name_, class_;
  std::map<std::string, JsonScalar> values_;
};

/// How Hugging Face's files hold a parameter of [rows, columns], or a vector, which is one row:
/// tensors of equal extents, whose columns stand side by side in the parameter.
struct StoredForm {
  std::vector<std::string> names;  ///< without the family's prefix, from the first column on
  bool transposed = false;  ///< a tensor is [its columns, rows], as torch.nn.Linear has its weight
  bool one_row = false;     ///< a vector is [1, columns]

  /// One tensor of the parameter's extents.
  bool is_plain() const { return names.size() == 1 && !transposed; }
  bool operator==(const StoredForm&) const = default;
};

/// Extents of each tensor of a parameter of `shape`.
std::vector<int64_t> stored_extents(const StoredForm& form, std::span<const int64_t> shape);

/// The elements of all tensors, one tensor after the other, from a whole parameter of `shape`.
/// Both hold as many elements as `shape` says; they do not overlap.
void to_stored(const StoredForm& form, std::span<const int64_t> shape,
               std::span<const float> parameter, std::span<float> tensors);

/// The way back.
void from_stored(const StoredForm& form, std::span<const int64_t> shape,
                 std::span<const float> tensors, std::span<float> parameter);

/// The size of a probe. It fills a GPU or a host; or it is narrow, and its steps show the time
/// beside products; or it is brief, and its steps show the time of an op beside its work.
enum class ProbeSize : uint8_t { brief, narrow, host, device };

/// A small model whose steps show what share of its rates a machine reaches.
struct Probe {
  Architecture model;
  graph::MicroBatch micro;
};

/// A key of config.json, and its value as JSON.
struct HubEntry {
  std::string key;
  std::string json;
};

/// A rate of config.json that acts in training alone.
struct HubDropout {
  std::string_view key;
  double usual;      ///< of a file that lacks the key
  bool acts = true;  ///< as model.dropout; else forward() drops nothing in this place
};

/// A tensor that Hugging Face may store twice, or under either name.
struct StoredCopy {
  std::string_view copy, original;
  std::string_view why;  ///< both must hold the same
};

/// True of the names, without the family's prefix, of tensors that a folder holds.
using Stores = std::function<bool(std::string_view name)>;

/// How Hugging Face names what it stores, where that is not a parameter's name alone.
struct StoredNames {
  std::string_view prefix;             ///< may stand before every name; is written
  std::vector<StoredCopy> copies;      ///< may be there; are not written, but as a parameter
  std::vector<std::string_view> ends;  ///< of names of buffers that are passed over
  /// nullptr: every parameter is one tensor under its own name.
  StoredForm (*form)(const Architecture&, std::string_view parameter) = nullptr;
};

/// How what is said in turn stands in the text that a model which answers reads of a talk.
struct TalkForm {
  std::string_view persona = "";  ///< begins what it is told of itself
  std::string_view said = "";     ///< begins each turn that is not its own
  std::string_view between = "  ";
};

struct Family {
  ModelFamily settings;  ///< what [model] may say of it; its numbers' names are the keys'
  std::map<std::string, double, std::less<>> constants;  ///< rates that no key sets
  std::string_view title;                                ///< in sentences: "a GPT-2"
  std::string_view hub_type;                             ///< model_type in config.json
  std::string_view hub_class;                            ///< its class in Transformers
  StoredNames stored;
  std::vector<HubDropout> dropouts;  ///< of its class; the first one says model.dropout
  std::string_view data;             ///< the DataKind whose columns its graphs' inputs take
  TalkForm talk = {};

  /// Returns the forward graph with its loss. Parameters have Hugging Face's names without the
  /// prefix. Throws Error(kUsage) where the numbers do not fit together or to the length.
  graph::Graph (*forward)(const Architecture&, const ForwardOptions&);
  /// Returns the graph for the rows of a chunk, which are tokens of texts that are continued, or of
  /// the sources that an encoder reads for them: the same parameters in the same order, with
  /// caches, and logits after rows of texts. Throws as forward. nullptr: it writes no texts.
  graph::Graph (*decode)(const Architecture&, const graph::Chunk&, Dtype compute);
  /// See the functions of the same names below.
  int64_t (*parameter_count)(const Architecture&);
  double (*flops_per_token)(const Architecture&, const graph::MicroBatch&);
  DataForm (*data_form)(const Architecture&);
  std::string (*fact)(const Architecture&);
  std::string (*words)(const Architecture&);
  /// Throws Error(kInput) by HubConfig::fail() for a network that forward() does not build.
  ModelNumbers (*from_hub)(const HubConfig&);
  /// Settles by its tensors what a folder's config.json leaves open. nullptr: it leaves nothing.
  void (*settle)(ModelNumbers&, const Stores&) = nullptr;
  /// In their order; `dtype` is torch_dtype, which stands among them.
  std::vector<HubEntry> (*to_hub)(const Architecture&, std::string_view dtype);
  Probe (*probe)(ProbeSize size);
};

/// What the program knows, as main hands it in.
struct Catalogue {
  /// Throws Error(kInternal) where a family's kind of data is none of `kinds`.
  Catalogue(std::vector<const Family*> rows, const std::vector<const DataKind*>& kinds);

  std::vector<const Family*> families;  ///< the one that is meant where nothing is said comes first
  ModelTable models;                    ///< their settings and data, for read_config()

  /// "GPT-2, T5 or BlenderBot"
  std::string titles() const;
};

/// Every family, the list, with all data_kinds().
Catalogue catalogue();

/// Throws Error(kUsage) with what works instead, where the family writes no texts.
void require_decode(const Architecture& model);

/// The tensors that hold a parameter, which is named as in forward().
StoredForm stored_form(const Architecture& model, std::string_view parameter);

/// Parameters without padding.
int64_t parameter_count(const Architecture& model);

/// Floating-point operations of the forward and backward pass of one of `micro.length` tokens, its
/// share of a source included; recompute is not counted.
double flops_per_token(const Architecture& model, const graph::MicroBatch& micro);

DataForm data_form(const Architecture& model);

/// What a checkpoint says of it: "gpt2 of 2 layers of 64 with 2 heads, 256 tokens, 32 positions".
/// Rates of dropout are no part of it.
std::string fact(const Architecture& model);

/// The same in a sentence, with what else makes two models of the same parameters differ.
std::string words(const Architecture& model);

/// The model that a checked configuration asks for.
Architecture architecture_of(const RunConfig& config);

/// The model that a config.json describes. Throws Error(kInput) where no family is so.
Architecture architecture_in(const Catalogue& catalogue, HubConfig& config);

/// The rates of a config.json that no single model.dropout says: "embd_pdrop 0.1, attn_pdrop 0";
/// "" where one does.
std::string mixed_dropout(const Family& family, const HubConfig& config);

}  // namespace zero::model
