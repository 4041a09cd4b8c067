#pragma once
/// Models for other rooms: an Architecture, plain data, and its Family, a row of functions.
/// src/model/families.cpp lists the rows.

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zero/config/model_keys.hpp"
#include "zero/graph/graph.hpp"
#include "zero/graph/graph_builder.hpp"
#include "zero/graph/stored_form.hpp"
#include "zero/io/data/data_kind.hpp"
#include "zero/io/interop/json.hpp"

namespace zero::model {

using graph::StoredForm;

struct AlterationKind;
struct Family;
struct Objective;

/// A model as plain data: its family and its numbers. Rates are rounded to fp32.
struct Architecture {
  const Family* family = nullptr;
  ModelNumbers numbers = {};

  bool operator==(const Architecture&) const = default;
};

struct ForwardOptions {
  graph::MicroBatch micro;
  Dtype compute;
  bool training;           ///< false: evaluation, no dropout
  int64_t chunk_rows = 0;  ///< most rows of the classifier at a time; 0: chosen by the shape
  bool own_head = true;    ///< false: an objective's head follows the trunk
  /// True: samples hold several texts. The input kFirstInput, i32 with an element for each token,
  /// has the place in its sample where its text begins, for attention and positions.
  bool packed = false;
};
inline constexpr const char* kFirstInput = "first";

/// The tensors of a forward graph that a head reads.
struct Trunk {
  graph::TensorId last = graph::kNone;   ///< final hidden rows, [samples x length, width]
  graph::TensorId table = graph::kNone;  ///< rows of tokens
  graph::TensorId bias = graph::kNone;   ///< of the own head, made with the trunk; or none
};

/// The limits of a model's data.
struct DataForm {
  int64_t vocabulary;  ///< a number above every token id
  int64_t positions;   ///< maximum tokens of one text
  ModelIds ids = {};
  int64_t cached = 0;  ///< maximum tokens of a text that a cache continues; 0: `positions`

  /// Returns the maximum tokens of a text that a cache continues.
  int64_t context() const { return cached > 0 ? cached : positions; }
};

/// The scalars of a config.json of Hugging Face, by their keys joined by dots, and its lists. The
/// readers throw Error(kInput), with the file, the key and a value that works, if a value is
/// missing or out of range. They remember the keys that were asked for.
class HubConfig {
 public:
  /// Parses `content`; `name` is for messages. Throws Error(kInput) if it is not a JSON object.
  HubConfig(std::string_view content, std::string name);

  const std::string& name() const { return name_; }
  /// Sets the class that messages compare the file with: "GPT2LMHeadModel".
  void compare_with(std::string_view hub_class) { class_ = hub_class; }

  /// Returns the integer from 1 to `most` under `key`; count_or() returns `otherwise` if the key is
  /// missing.
  int64_t count(const std::string& key, int64_t most) const;
  int64_t count_or(const std::string& key, int64_t most, int64_t otherwise) const;
  /// Returns the integer under `key`, which may be negative, or `otherwise` if the key is missing.
  int64_t whole_or(const std::string& key, int64_t otherwise) const;
  /// Returns the string under `key`, or `otherwise` if the key is missing.
  std::string word_or(const std::string& key, const std::string& otherwise) const;
  /// Returns the strings of the list under `key`, or the single one; none if the key is missing.
  std::vector<std::string> words(const std::string& key) const;
  /// Returns the strings of the object under `key` whose keys are 0, 1, 2, ..., in their order, all
  /// different; none if the key is missing.
  std::vector<std::string> numbered_words(const std::string& key) const;
  /// Returns the number under `key`, above 0 in fp32 and at most 1, or `otherwise` if it is
  /// missing.
  float epsilon_or(const std::string& key, double otherwise) const;
  /// Returns the number under `key`, from 0 to below 1, or `otherwise` if it is missing.
  float share_or(const std::string& key, double otherwise) const;
  /// Returns the number under `key`, from `low` to `high`, or `otherwise` if it is missing.
  double number_or(const std::string& key, double low, double high, double otherwise) const;
  /// Returns the boolean under `key`, or `otherwise` if the key is missing.
  bool flag_or(const std::string& key, bool otherwise) const;
  /// Returns the numbers of the list under `key`, or the single one; none if the key is missing.
  std::vector<double> numbers(const std::string& key) const;
  /// Returns numbers(key) as integers from 0 to `most`.
  std::vector<int64_t> wholes(const std::string& key, int64_t most) const;
  /// True if the file has the key, even with null.
  bool names(const std::string& key) const;
  /// True if the key has a value other than null.
  bool has(const std::string& key) const;
  /// True if the value under `key` is a string.
  bool is_word(const std::string& key) const { return find<std::string>(key); }
  /// True if the value under `key` is an object that is not empty.
  bool opens(const std::string& key) const;
  /// Throws if the boolean under `key` is there and not `wanted`, which means another network.
  void require(const std::string& key, bool wanted) const;
  /// Throws if the id of a special token under `key` differs from `wanted`. The key may be missing.
  void require_id(const std::string& key, int64_t wanted) const;
  /// Throws if `key` has a value, except null or an empty one, because another network or form of
  /// weights needs it. The error has `fault_and_advice`.
  void require_none(const std::string& key, const std::string& fault_and_advice) const;
  /// Throws Error(kInput) with the first key that nobody has asked for, unless its value is null,
  /// false or empty. `is_harmless` knows the keys, without those inside, that may have any value.
  void require_all_asked(const std::function<bool(std::string_view key)>& is_harmless) const;
  /// Throws Error(kInput) with the value under `key`, or that it is missing, and `advice`.
  [[noreturn]] void fail(const std::string& key, const std::string& advice) const;

 private:
  template <class T>
  const T* find(const std::string& key) const;
  double real_or(const std::string& key, double otherwise) const;

  std::string name_, class_;
  std::map<std::string, JsonScalar> values_;
  std::map<std::string, std::vector<JsonScalar>> lists_;
  mutable std::set<std::string> asked_;
};

/// The size of a probe. Host and device probes fill such a machine. A narrow probe's steps show the
/// time outside of products, a brief probe's the time of an op outside of its work.
enum class ProbeSize : uint8_t { brief, narrow, host, device };

/// A small model whose steps show the share of its rates that a machine reaches.
struct Probe {
  Architecture model;
  graph::MicroBatch micro;
};

/// A key of config.json and its value as JSON.
struct HubEntry {
  std::string key;
  std::string json;
  /// True: also written to a file whose model came from a config.json without the key.
  bool always = false;
};

/// A dropout rate of config.json.
struct HubDropout {
  std::string_view key;
  double usual = 0;      ///< value in files without the key
  bool acts = true;      ///< true: forward() drops here, at model.dropout; false: nothing
  bool follows = false;  ///< true: files without the key mean the first rate, and not `usual`
};

/// A tensor that Hugging Face may store twice, or under either name.
struct StoredCopy {
  std::string_view copy, original;
  std::string_view why;  ///< reason for which both must be equal
};

/// A predicate, true for the names, without the family's prefix, of a folder's tensors.
using Stores = std::function<bool(std::string_view name)>;

/// The names in Hugging Face's files, where they differ from parameters' names.
struct StoredNames {
  std::string_view prefix;             ///< written before every name; may be missing when read
  std::vector<StoredCopy> copies;      ///< may be in files; not written unless parameters
  std::vector<std::string_view> ends;  ///< endings of buffers' names, which readers ignore
  /// Returns the form in files of a model's parameter. nullptr: each is one tensor under its own
  /// name.
  StoredForm (*form)(const Architecture&, std::string_view parameter) = nullptr;
  /// Beginnings of names of heads for other tasks, "score.". Readers pass over these tensors unless
  /// they are parameters.
  std::vector<std::string_view> other_heads = {};
  /// Beginnings of names that files have without the prefix.
  std::vector<std::string_view> unprefixed = {};

  /// Returns the name that files have for a tensor of a StoredForm.
  std::string written(std::string_view name) const;
};

/// The texts that frame a dialogue for a conversational model.
struct TalkForm {
  std::string_view persona = "";  ///< begins what the model is told of itself
  std::string_view said = "";     ///< begins each turn of the other speaker
  std::string_view between = "  ";
};

struct Family {
  ModelFamily settings;  ///< the family's part of [model], whose numbers have the keys' names
  std::map<std::string, double, std::less<>> constants;  ///< rates that no key sets
  std::string_view title;                                ///< for sentences: "a GPT-2"
  std::string_view hub_type;                             ///< model_type in config.json
  std::string_view hub_class;                            ///< class in Transformers
  StoredNames stored;
  std::vector<HubDropout> dropouts;          ///< rates of the class; model.dropout is the first
  std::vector<std::string_view> objectives;  ///< names of those that its own head learns
  std::string_view class_weight = {};  ///< parameter with a column for each class; "": no classes
  TalkForm talk = {};
  /// True: a text that fills the context goes on behind its newer half, whose positions count anew.
  /// False: it ends there.
  bool slides = true;
  bool packs = false;  ///< true: trunk() knows ForwardOptions::packed
  /// True: a config.json that a model comes from is written again, except for what has changed.
  bool keeps_config = false;

  /// Adds a model's forward graph, up to the final hidden rows, to the builder. Parameters have
  /// Hugging Face's names without the prefix. Throws Error(kUsage) if the numbers do not fit
  /// together or to the length.
  Trunk (*trunk)(graph::GraphBuilder&, const Architecture&, const ForwardOptions&);
  /// Adds the family's own head, with the loss, to the builder, behind its trunk.
  void (*head)(graph::GraphBuilder&, const Architecture&, const Trunk&, const ForwardOptions&);
  /// Returns a model's graph in dtype `compute` for a chunk's rows: tokens of texts to continue, or
  /// of their sources for an encoder. Has forward's parameters in their order, with caches and
  /// logits after rows of texts. Throws as forward. nullptr: the family writes no texts.
  graph::Graph (*decode)(const Architecture&, const graph::Chunk&, Dtype compute);
  /// See the functions of the same names below and in recipe.hpp.
  int64_t (*parameter_count)(const Architecture&);
  double (*flops_per_token)(const Architecture&, const graph::MicroBatch&);
  DataForm (*data_form)(const Architecture&);
  std::string (*fact)(const Architecture&);
  std::string (*words)(const Architecture&);
  /// Returns the numbers in a config.json. Throws Error(kInput) by HubConfig::fail() for a network
  /// that forward() does not build.
  ModelNumbers (*from_hub)(const HubConfig&);
  /// Adds lists that a model's numbers lack, because no key sets them. nullptr: the family has
  /// none.
  void (*complete)(Architecture&) = nullptr;
  /// Sets numbers of which config.json is ambiguous, by a folder's tensors. nullptr: it never is.
  void (*settle)(ModelNumbers&, const Stores&) = nullptr;
  /// Returns the entries of the model's config.json in their order, with `dtype` as torch_dtype
  /// among them.
  std::vector<HubEntry> (*to_hub)(const Architecture&, std::string_view dtype);
  /// Returns the family's small model and micro-batch of this size.
  Probe (*probe)(ProbeSize size);
};

/// Returns the table of all kinds of alterations of a model that a key of the input file can ask
/// for, in the order of their application.
std::vector<const AlterationKind*> alteration_kinds();

/// The families, objectives and kinds of alterations of the program, which main hands in.
struct Catalogue {
  /// Lists the families `rows`, and gives each its objectives: first those whose heads fit, then
  /// those that it names. Throws Error(kInternal) if one that it names is not in `objectives`. All
  /// have `alterations`.
  Catalogue(std::vector<const Family*> rows, const std::vector<const Objective*>& objectives,
            const std::vector<const AlterationKind*>& alterations = alteration_kinds());

  std::vector<const Family*> families;  ///< the default comes first
  ModelTable models;  ///< settings and objectives of the families, for read_config()

  /// Returns "GPT-2, T5 or BlenderBot".
  std::string titles() const;
};

/// Returns all families with all objectives().
Catalogue catalogue();

/// Returns the form in files of a model's parameter. `parameter` is its name in forward().
StoredForm stored_form(const Architecture& model, std::string_view parameter);

/// Returns the limits of a model's data.
DataForm data_form(const Architecture& model);

/// Returns the model that a checked configuration asks for.
Architecture architecture_of(const RunConfig& config);

/// Returns the model in a config.json. Throws Error(kInput) if no family of the catalogue has its
/// model_type.
Architecture architecture_in(const Catalogue& catalogue, HubConfig& config);

/// Returns the dropout rates in the config.json of a family's model, "embd_pdrop 0.1, attn_pdrop
/// 0", or "" if one model.dropout expresses them.
std::string mixed_dropout(const Family& family, const HubConfig& config);

}  // namespace zero::model
