#pragma once
/// How a refusal is looked at: its status and its words.

#include <gtest/gtest.h>

#include <string>

#include "zero/base/error.hpp"
#include "zero/device/device.hpp"

namespace zero::testing_support {

/// The message of the Error that `work` throws, which must end the program with `exit`; "" if it
/// throws none.
template <class Work>
std::string refusal_of(Exit exit, const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), exit) << error.what();
    return error.what();
  }
  return "";
}

/// Expects that a host refuses what it finds in its inputs, and that a device, which leaves it out,
/// bears it.
template <class Work>
void expect_refused_on_host(const Work& work) {
  if (drives_devices())
    EXPECT_NO_THROW(work());
  else
    EXPECT_THROW(work(), Error);
}

}  // namespace zero::testing_support
