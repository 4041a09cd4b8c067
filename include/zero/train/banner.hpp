#pragma once

#include <string>
#include <vector>

#include "zero/advise/plan_report.hpp"
#include "zero/launch/session.hpp"

namespace zero::train {

/// Returns the processor's name and those of its features that kernels use.
std::string processor_text();
/// Returns the MPI library and its version: "Open MPI v4.1.4".
std::string mpi_text();
/// Returns the version of Kokkos: "4.7.0".
std::string kokkos_text();
/// Returns the libraries of products, threads and messages, with their versions.
std::string libraries_text();

/// Returns the places of ranks on `hosts`, by rank: "4 ranks, 4 on host n1", or over several nodes
/// "32 ranks on 4 nodes (n1-n4), 8 each", or "9 ranks on 2 nodes (a, b), 4 to 5 each".
std::string places_text(const std::vector<std::string>& hosts);

/// The exchange of ranks, in words.
struct ExchangeText {
  std::string backend;
  std::string one_level;  ///< as state::why_one_level() returns it
};

/// Returns the first lines that a run prints: version of the program, ranks and their exchange,
/// processor, devices, libraries, and the build's model and batch. Collective.
std::string banner(const std::string& version, launch::Session& session, const setup::Build& build,
                   const ExchangeText& exchange);

/// Returns a line about samples of the sets, grouped by length. It has the share of samples of each
/// form, and the share of padding. A micro-batch has `micro` samples. Returns "" if samples are not
/// grouped.
std::string lengths_text(const DataSets& sets, int64_t micro);

}  // namespace zero::train
