#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "zero/base/dtype.hpp"
#include "zero/config/run_config.hpp"
#include "zero/plan/forecast.hpp"

namespace zero::advise {

/// What `zeroapp calibrate` has measured, as its file keeps it. Rates are those of one rank while
/// all of them measured, in bytes a second; 0: not measured.
struct MachineFigures {
  std::string host;
  int64_t ranks = 1;
  int64_t threads = 1;       ///< of each rank
  int64_t device_bytes = 0;  ///< that a rank may use
  /// Memory of the device that communicators of these ranks took beside it. Here and below 0 is
  /// not known.
  int64_t communicator_bytes = 0;
  int64_t gpus_per_node = 0;  ///< or ranks of a host
  int64_t host_bytes = 0;     ///< of a node, beside the memory of its devices
  double link_gb = 0;         ///< 1e9 bytes a second that a rank sends within its node
  double node_link_gb = 0;    ///< that all ranks of a node together send to other nodes

  double fp32 = 0, bf16 = 0, fp16 = 0;  ///< products, in floating-point operations a second
  double stream = 0;                    ///< memory, read and written
  double host_stream = 0;               ///< the host's, where `stream` is a device's
  double step_fp32 = 0, step_bf16 = 0, step_fp16 = 0;  ///< share of both that a step reaches
  double op_fp32 = 0, op_bf16 = 0, op_fp16 = 0;        ///< seconds that an op takes beside its work
  double random = 0;                                   ///< numbers a second that dropout draws
  /// Share of both that ops of a kind reach in steps of a type: "fp32.linear".
  std::map<std::string, double> kinds = {};
  /// Seconds of each exponential that ops of a kind take beside their products: "fp32.attention".
  std::map<std::string, double> exponentials = {};
  double h2d = 0, d2h = 0;                ///< copies between host and device
  double all_gather = 0;                  ///< sent by a rank
  double reduce_scatter = 0;              ///< likewise
  double latency = 0;                     ///< seconds of a small collective
  std::string disk;                       ///< the folder that was measured; "" = none
  double read = 0, write = 0, mixed = 0;  ///< of the disk; mixed: both directions together

  bool operator==(const MachineFigures&) const = default;
};

/// The file's text: TOML with a comment for each unit.
std::string machine_text(const MachineFigures& figures);

/// Throws Error(kUsage) that names file, line and key of all that is wrong or missing in it.
MachineFigures read_machine_file(const std::string& path);

/// Operations a second of products of this type; 0: not measured.
double product_flops(const MachineFigures& figures, Dtype compute);

/// What forecasts compute with. What was not measured keeps its default, but for products: throws
/// Error(kUsage) where those of `compute` are missing. `name` is for messages.
plan::Machine machine_of(const MachineFigures& figures, Dtype compute, const std::string& name);

/// Whether it is a file of `zeroapp calibrate`: a profile's name has neither a dot nor a slash.
bool is_machine_file(const std::string& machine);

/// The machine by whose rates a plan is forecast and chosen.
struct MachineRates {
  plan::Machine machine;
  int64_t threads = 0;       ///< of each rank that measured; 0: a built-in profile
  std::string file = {};     ///< what the file says, as text; "" of a profile
  std::string warning = {};  ///< of a file that was measured by another number of ranks
};

/// Returns the rates of --machine, a file or a profile. Throws Error(kUsage) that names it and all
/// that is wrong.
MachineRates rates_of_option(const std::string& machine, const RunConfig& config, int64_t ranks);

/// Returns the rates of run.machine, which is not "". Throws SettingsError instead.
MachineRates rates_of_key(const RunConfig& config, int64_t ranks);

}  // namespace zero::advise
