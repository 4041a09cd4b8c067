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
  std::string scratch;              ///< where to try writing
  std::optional<std::string> nvme;  ///< whose disk is measured
};

/// What machine and set-up give a run: findings of all ranks, those that found the same on one
/// line.
struct Examination {
  std::string table, json;
  Exit status;  ///< that of training there; kFinished where nothing stops it
};

class ProbeSteps;

/// Every rank comes to each field together, so that what is measured is measured by all at once.
/// Collective.
Examination examine(launch::Session& session, const ExaminedFolders& folders);

/// By which name `plan --machine` knows the devices of this node; "host" of a build for the host.
/// Throws Error(exit) where there is none, and Error(kUsage) of devices that no profile describes,
/// with less memory than theirs among them.
std::string card_name(bool drives, const std::vector<DeviceInfo>& devices,
                      const std::string& trouble, Exit exit = Exit::kUsage);

/// The measurements of `zeroapp calibrate`, one after the other; each fills its part of the figures
/// and adds lines to the table. All ranks call each together.
class Measurements {
 public:
  /// Probes of `families` are what steps() times: the first one's, and the others' for the kinds of
  /// op that it lacks.
  Measurements(launch::Session& session, std::vector<const model::Family*> families);

  void products();
  /// Measures the device's memory, and the host's too where that is another one.
  void memory();
  /// Call it after products() and memory().
  void steps();
  void copies();
  void collectives();
  /// Over a file of this rank in `folder`.
  void disk(const std::string& folder);

  const advise::MachineFigures& figures() const { return figures_; }
  /// A line for each figure: what, its median, unit, how many repetitions, least and most.
  const std::string& table() const { return table_; }

 private:
  struct Row {
    const char* what;  ///< "memory, triad"
    const char* unit;
    double of_unit;  ///< units in one of what is measured
    int repetitions = 5;
    /// Where three repetitions have taken longer on any rank, no more follow.
    double enough_seconds = std::numeric_limits<double>::infinity();
  };
  /// The median of some repetitions of `rate`, a figure of this rank that is 0 where it could not
  /// be measured; in each repetition the least of all ranks counts. 0 where none could be.
  double measure(const Row& row, const std::function<double()>& rate);
  double product_rate(const char* what, Dtype dtype);
  struct Type;
  /// Adds to `found` what steps of a type reach of the figures.
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
  /// Sent by a rank among those of its group.
  double link_rate(const char* what, int part);
  double copy_rate(const char* what, Place from, Place to);
  void add_row(const Row& row, const std::string& words);

  launch::Session& session_;
  const std::vector<const model::Family*> families_;
  advise::MachineFigures figures_;
  std::string table_;
};

}  // namespace zero::machine
