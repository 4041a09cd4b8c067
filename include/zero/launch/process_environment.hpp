#pragma once

#include <chrono>

namespace zero::launch {

/// Returns the time when the kernel started this process, to a hundredth of a second. Now, if the
/// kernel does not tell. Starting the program again in the same process does not change it.
/// Source: Linux /proc/self/stat, field 22 (starttime).
std::chrono::steady_clock::time_point process_start();

/// Spins of an OpenMP thread before it sleeps, about 30 us. The time must exceed the gap
/// between two products of a decoder, where waking up would take as long as the product. It is too
/// short to harm lanes and ranks that want the core.
inline constexpr const char* kBriefSpin = "2000";

/// Starts this program again, with the arguments `argv` of main(), in an environment in which
/// waiting OpenMP threads soon sleep, because neighbours may share a core. The library reads it
/// before main() begins. Returns if the environment is complete already, or if the program cannot
/// be started again. Keeps values that the user has set. Keeps Open MPI from a warning per message
/// if it may not read its peers' memory, and from starting a launcher for a process without one.
void prepare_environment(char** argv);

/// Raises this process's limit of open files to 16384, or as far as it may: data lie in many files.
/// Throws Error(kIo) naming the limit if it stays too low for MPI, which would end the process
/// without a message.
void require_open_files();

/// Throws Error(kIo) if this process has no launcher, its MPI is Open MPI 5, which then makes a
/// folder among temporary files, and no such folder can be made.
void require_folder_of_mpi();

/// True if the kernel lets one process read another's memory, which containers may forbid.
bool may_read_processes();

}  // namespace zero::launch
