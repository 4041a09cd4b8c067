#include <csignal>
#include <cstdio>

#include "zero/commands/program.hpp"
#include "zero/model/family.hpp"
#include "zero/train/failure.hpp"
#include "zero/train/files.hpp"
#include "zero/train/session.hpp"

int main(int argc, char** argv) {
  zero::train::occupy_standard_files();
  // A file beyond the limit of its size (ulimit -f) is an error of the write, with words, and no
  // end without any.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return zero::commands::run_program(argc, argv, zero::model::catalogue());
  } catch (const zero::train::Ended& ended) {
    // 4. A failure that one rank has printed for all.
    return int(ended.exit);
  } catch (...) {
    // 5. One that only this process knows of.
    const zero::train::Failure failure = zero::train::failure_of(std::current_exception());
    std::fputs(zero::train::error_line(failure).c_str(), stderr);
    return int(failure.exit);
  }
}
