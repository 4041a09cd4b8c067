#pragma once
/// Rotary embeddings as config.json describes them. Source: Hugging Face modeling_rope_utils.py.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "zero/graph/operations.hpp"
#include "zero/model/family.hpp"

namespace zero::model {

/// Dynamic ropes are plain in texts of at most the model's positions, and longer ones are refused.
enum class RopeType : uint8_t { plain, linear, llama3, yarn, longrope, dynamic };

/// The numbers of a rotary embedding. Numbers that its type does not read have the values below.
struct Rope {
  RopeType type = RopeType::plain;
  double theta = 1e4;
  double factor = 1;
  double low = 1, high = 4;  ///< llama3: turns within `original` between which it blends
  double original = 0;       ///< positions before the scaling; 0: all of the model
  double beta_fast = 32, beta_slow = 1;  ///< yarn: turns between which it blends
  double attention_factor = 0;           ///< factor of cosines and sines; 0: derived
  double mscale = 0, mscale_all = 0;     ///< yarn: derive attention_factor; 0: absent
  bool truncates = true;                 ///< yarn: borders of blending are whole
  double alpha = 0;                      ///< dynamic: stretches theta; 0: does not
  double share = 1;                      ///< of the columns of a head that turn
  std::vector<double> short_factors = {}, long_factors = {};  ///< longrope: divide frequencies

  bool operator==(const Rope&) const = default;
};

/// The positions that a rope's table is for.
struct RopeExtent {
  int64_t head_width;
  int64_t positions;  ///< of the model
  int64_t length;     ///< positions of the table
};
/// Returns the table. Longrope has long_factors if the length exceeds `original`.
graph::RotaryTable rotary_of(const Rope& rope, const RopeExtent& extent);

/// Rates of ModelNumbers for a rope, except theta, with their usual values.
std::map<std::string, double, std::less<>> rope_constants();
Rope rope_of(const ModelNumbers& numbers);
void set_rope(const Rope& rope, ModelNumbers& numbers);

/// The parts of a rope that a family reads, and the meanings of absent keys.
struct RopeForm {
  double theta;
  double local_theta = 0;      ///< 0: one rope for all layers
  bool is_partial = false;     ///< may turn a share, and be longrope
  bool grows_queries = false;  ///< may have llama_4_scaling_beta
  bool has_alpha = false;      ///< a dynamic rope may have alpha
  int64_t positions = 0;       ///< of the model
  int64_t head_width = 0;
};
struct ReadRope {
  Rope rope;
  double local_theta = 0;
  double query_growth = 0;
};
/// Reads rope_parameters of Transformers 5, or rope_theta and rope_scaling of older files. Throws
/// Error(kInput) if a file has both and they differ.
ReadRope rope_in(const HubConfig& config, const RopeForm& form);
/// Returns the entries of both spellings.
std::vector<HubEntry> rope_entries(const ReadRope& read, const RopeForm& form);

/// Returns a number as JSON, in the fewest digits that read back as its fp32 value.
std::string json_number(double number);

}  // namespace zero::model
