#pragma once
/// The section [data] of an input file.

#include <cstdint>
#include <string>
#include <vector>

namespace zero {

enum class TooLong { cut, refuse };

/// The way in which documents fill samples. stream: documents stand one behind the other, and
/// samples are windows of that text. documents: a sample holds whole documents that do not see each
/// other. none: a sample holds one document. automatic: chosen by files and model, see packing_of()
/// in data_kind.hpp.
enum class Packing { automatic, documents, stream, none };

/// A file, or a pattern of files, and its share of the samples.
struct DataPart {
  std::string path;
  double weight = 0;  ///< share relative to the other parts'; 0 of all parts: as many as they have

  bool operator==(const DataPart&) const = default;
};

/// The section [data]. Paths are relative to the working folder.
struct DataConfig {
  std::string train;               ///< required: a text or token file, or "synthetic"
  std::string validation;          ///< file of the same kind; "" = none
  double validation_fraction = 0;  ///< share held out from the end of `train`; 0 <= f < 1
  /// "bytes", or a folder with tokenizer.json, vocab.json and merges.txt, or a SentencePiece model.
  std::string tokenizer = "bytes";
  int64_t sequence_length = 1024;      ///< tokens that a sample predicts
  int64_t max_train_samples = 0;       ///< samples used, from the first; 0 = all
  int64_t max_validation_samples = 0;  ///< samples used; 0 = all
  bool changed = false;                ///< allows a resume with other data than the checkpoint's

  // Keys for models that learn from pairs of texts, a source and a target.
  std::string source_field = "source";  ///< record field; "translation.en" is en inside translation
  std::string target_field = "target";
  std::string source_prefix;        ///< in front of every source
  int64_t source_length = 0;        ///< most tokens, end included; auto = sequence_length
  TooLong too_long = TooLong::cut;  ///< treatment of longer texts
  /// Pairs of lengths that micro-batches are padded to. "none": one pair. "auto": chosen from the
  /// data. Or up to four pairs of source x target, "32x16, 128x64": form_lengths() in
  /// batch_keys.hpp. Texts with a label have one length: "64, 128".
  std::string length_buckets = "none";
  int64_t pad_id = -1;                  ///< token that fills short samples; -1: the tokenizer's
  int64_t eos_id = -1;                  ///< token that ends a text; -1: the tokenizer's
  int64_t decoder_start_id = -1;        ///< first token that a decoder reads; -1: the tokenizer's
  double noise_density = 0;             ///< share of masked tokens; 0 = files hold pairs
  double mean_noise_span_length = 3.0;  ///< mean tokens of a masked span
  int64_t sentinel_id = -1;  ///< token of the first span; -1: <extra_id_0>, or the last id

  // Keys for models that learn labels of texts.
  /// Names of classes in the order of scores; empty: in that of model.init_from, else sorted.
  std::vector<std::string> labels = {};
  std::vector<std::string> text_fields = {};  ///< fields of one or two texts; empty: known names
  std::string label_field;                    ///< field of the label; "": a known name

  // Keys for models that learn from documents.
  std::vector<DataPart> train_parts = {};  ///< of `train`, if it is a list, which it then shows
  Packing packing = Packing::automatic;
  std::string text_field = "text";  ///< record field of a document; "": records have none
  std::string prompt_field = "prompt", completion_field = "completion";
  /// True: names of special tokens in texts become these tokens. False: they are plain text.
  bool special_tokens = true;

  bool operator==(const DataConfig&) const = default;
};

}  // namespace zero
