#pragma once
/// Names for tests of imports.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/models.hpp"
#include "zero/config/import_deepspeed.hpp"

namespace zero {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Words = std::vector<std::string>;

}  // namespace zero
