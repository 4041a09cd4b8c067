#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "zero/base/dtype.hpp"
#include "zero/config/run_config.hpp"
#include "zero/plan/forecast.hpp"

namespace zero::advise {

/// The measurements of `zeroapp calibrate`, as its file stores them. Rates are for one rank while
/// all ranks measured, in bytes per second. 0: not measured.
struct MachineFigures {
  std::string host;
  int64_t ranks = 1;
  int64_t threads = 1;       ///< per rank
  int64_t device_bytes = 0;  ///< usable by a rank
  /// Device memory of the communicators of these ranks. Here and below, 0: unknown.
  int64_t communicator_bytes = 0;
  int64_t gpus_per_node = 0;  ///< on a host build: ranks per node
  int64_t host_bytes = 0;     ///< memory of a node's host, without its devices
  double link_gb = 0;         ///< 1e9 bytes per second that a rank sends within its node
  double node_link_gb = 0;    ///< 1e9 bytes per second that all ranks of a node send to other nodes

  double fp32 = 0, bf16 = 0, fp16 = 0;  ///< products, in floating-point operations per second
  double stream = 0;                    ///< memory rate, read and written
  double host_stream = 0;               ///< memory rate of the host, if `stream` is a device's
  double step_fp32 = 0, step_bf16 = 0, step_fp16 = 0;  ///< share of both that a step reaches
  double op_fp32 = 0, op_bf16 = 0, op_fp16 = 0;        ///< seconds per op beside its work
  double random = 0;                                   ///< random numbers per second for dropout
  /// Share of both that ops of a kind reach in steps of a dtype: "fp32.linear".
  std::map<std::string, double> kinds = {};
  /// Seconds per exponential for ops of a kind, beside their products: "fp32.attention".
  std::map<std::string, double> exponentials = {};
  double h2d = 0, d2h = 0;                ///< copies between host and device
  double all_gather = 0;                  ///< bytes per second sent by a rank
  double reduce_scatter = 0;              ///< bytes per second sent by a rank
  double latency = 0;                     ///< seconds of a small collective
  std::string disk;                       ///< measured folder; "" = none
  double read = 0, write = 0, mixed = 0;  ///< disk rates; mixed: both directions together

  bool operator==(const MachineFigures&) const = default;
};

/// Returns measurements as the text of a machine file: TOML with a comment for each unit.
std::string machine_text(const MachineFigures& figures);

/// Reads the measurements in the machine file at `path`. Throws Error(kUsage) with file, line and
/// key of everything wrong or missing.
MachineFigures read_machine_file(const std::string& path);

/// Returns the floating-point operations per second of products in dtype `compute`, as in these
/// measurements; 0: not measured.
double product_flops(const MachineFigures& figures, Dtype compute);

/// Returns measurements as the machine by which plans in dtype `compute` are forecast. A missing
/// figure keeps its default. Throws Error(kUsage) if products of `compute` are missing. `name`
/// names the machine, also in error texts.
plan::Machine machine_of(const MachineFigures& figures, Dtype compute, const std::string& name);

/// True if `machine`, a value of --machine or run.machine, is a file of `zeroapp calibrate`. Names
/// of profiles have no dot and no slash.
bool is_machine_file(const std::string& machine);

/// The machine whose rates forecast and choose a plan.
struct MachineRates {
  plan::Machine machine;
  int64_t threads = 0;       ///< threads per rank as measured; 0: a built-in profile
  std::string file = {};     ///< text of the file; "" for a profile
  std::string warning = {};  ///< on a file measured with another number of ranks; "" if none
};

/// Returns the rates of `machine`, the file or profile that --machine names, for a run of `config`
/// on `ranks` ranks. Throws Error(kUsage) with the option and everything wrong.
MachineRates rates_of_option(const std::string& machine, const RunConfig& config, int64_t ranks);

/// Returns the rates of config.run.machine for a run on `ranks` ranks. Works as rates_of_option(),
/// but throws SettingsError. REQUIRES: the key is not "".
MachineRates rates_of_key(const RunConfig& config, int64_t ranks);

}  // namespace zero::advise
