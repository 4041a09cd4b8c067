#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "zero/advise/machine_file.hpp"
#include "zero/base/dtype.hpp"
#include "zero/base/error.hpp"
#include "zero/device/arena.hpp"
#include "zero/device/device.hpp"
#include "zero/launch/session.hpp"
#include "zero/model/family.hpp"

namespace zero::machine {

struct ExaminedFolders {
  std::string scratch;              ///< folder to test writing in
  std::optional<std::string> nvme;  ///< folder whose disk is measured
};

/// The findings of all ranks on machine and set-up, equal ones joined to a line.
struct Examination {
  std::string table, json;
  Exit status;  ///< status of training there; kFinished if nothing stops it
};

class ProbeSteps;

/// Examines the machine and these folders from all ranks of the session. They take each field
/// together, so all measure at once. Collective.
Examination examine(launch::Session& session, const ExaminedFolders& folders);

/// Examines where the launcher has placed each rank: a table of all ranks, and the faults.
/// Collective.
Examination examine_placement(launch::Session& session);

/// Returns the name by which `plan --machine` knows `devices`, those of this node, or "host" unless
/// the build `drives` devices. Throws Error(exit), with `trouble`, the reason, without a device.
/// Throws Error(kUsage) for devices that no profile describes, and for those with less memory than
/// their profile.
std::string card_name(bool drives, const std::vector<DeviceInfo>& devices,
                      const std::string& trouble, Exit exit = Exit::kUsage);

/// The measurements of `zeroapp calibrate`. Each function fills its part of the figures and adds
/// lines to the table. All ranks call each together.
class Measurements {
 public:
  /// Measures on the session's ranks. Lets steps() time a probe of the first of `families`, and
  /// those of others for op kinds that it lacks.
  Measurements(launch::Session& session, std::vector<const model::Family*> families);

  /// Measures matrix products in each dtype.
  void products();
  /// Measures the device's memory, and the host's too if it is separate.
  void memory();
  /// Measures the share of the measured rates that steps reach. REQUIRES: products() and memory()
  /// ran.
  void steps();
  /// Measures copies between host and device.
  void copies();
  /// Measures collectives of all ranks, their memory, and links within and between nodes.
  void collectives();
  /// Measures the disk of `folder` by a file of this rank there.
  void disk(const std::string& folder);

  const advise::MachineFigures& figures() const { return figures_; }
  /// Returns a line for each figure: name, median, unit, number of repetitions, least and most.
  const std::string& table() const { return table_; }

 private:
  struct Row {
    const char* what;  ///< name, "memory, triad"
    const char* unit;
    double of_unit;  ///< factor from the measured value to `unit`
    int repetitions = 5;
    /// Seconds: after three repetitions that took longer on any rank, no more follow.
    double enough_seconds = std::numeric_limits<double>::infinity();
  };
  /// Returns the median of some repetitions of `rate`, a figure of this rank, or 0 if none was
  /// measured. Each repetition counts the least of all ranks. `rate` returns 0 if it cannot
  /// measure.
  double measure(const Row& row, const std::function<double()>& rate);
  double product_rate(const char* what, Dtype dtype);
  struct Type;
  /// Adds to `found` the share of the figures that steps of a type reach.
  void add_steps(const Type& type, advise::MachineFigures& found);
  plan::Machine machine_by(const Type& type, const advise::MachineFigures& figures) const;
  ProbeSteps probe_steps(const Type& type, const model::Probe& probe) const;
  void take_few(ProbeSteps& steps);
  void add_kinds(const Type& type, const ProbeSteps& steps, advise::MachineFigures& found);
  void add_exponentials(const Type& type, const ProbeSteps& steps, advise::MachineFigures& found);
  void add_other_kinds(const Type& type, advise::MachineFigures& found);
  void add_brief_steps(const Type& type, advise::MachineFigures& found);
  void add_dropout(advise::MachineFigures& found);
  /// Measures links within nodes and between them.
  void links();
  /// Returns the bytes a second that a rank sends among the ranks with its `part`.
  double link_rate(const char* what, int part);
  double copy_rate(const char* what, Place from, Place to);
  void add_row(const Row& row, const std::string& words);

  launch::Session& session_;
  const std::vector<const model::Family*> families_;
  advise::MachineFigures figures_;
  std::string table_;
};

}  // namespace zero::machine
