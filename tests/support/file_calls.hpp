#pragma once
/// Stands in front of the library's calls that change a file system: one of them can be made the
/// process's last, or fail.

#include <string>

namespace zero::testing_support {

/// Which of the next calls it happens to (1 is the next) and what: an errno that the call then
/// fails with, or 0 for the end of the process without the call.
struct FileCallPlan {
  int call = 0;  ///< 0: never
  int error = 0;
  int status = 0;  ///< that the process ends with
};
extern FileCallPlan file_call_plan;

/// Which of the next calls of fsync() fails with EIO (1 is the next); 0: none.
extern int failing_fsync;

/// Calls of fsync() on a descriptor for which one has failed.
extern int repeated_fsyncs;

/// While true, the file system does not know RENAME_NOREPLACE.
extern bool without_noreplace;

/// Opening with these flags fails under paths that begin with `folder`.
struct RefusedOpen {
  int flags = 0;
  int error = 0;
  std::string folder = "";
};
extern RefusedOpen refused_open;

/// The errno that every fallocate() fails with; 0: none does.
extern int failing_fallocate;

}  // namespace zero::testing_support
