#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include "zero/io/files/open_file.hpp"

namespace zero::testing_support {

/// Another limit of open files for this process, of which at most so many more may be opened.
class FewFiles {
 public:
  explicit FewFiles(rlim_t more) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const OpenFile next(dup(0));
    const struct rlimit tight { rlim_t(next.descriptor()) + more, before_.rlim_max };
    setrlimit(RLIMIT_NOFILE, &tight);
  }
  FewFiles(const FewFiles&) = delete;
  FewFiles& operator=(const FewFiles&) = delete;
  ~FewFiles() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  struct rlimit before_ {};
};

}  // namespace zero::testing_support
