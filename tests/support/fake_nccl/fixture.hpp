#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/fake_nccl/fake_nccl.hpp"
#include "zero/comm/mpi_world.hpp"

namespace zero::testing {

/// Each test begins with a sound NCCL, and ends with nothing left of it on any rank.
class FakeNccl : public ::testing::Test {
 protected:
  void SetUp() override {
    fake_nccl::reset();
    fake_nccl::faults().patience_ms = 5000;
  }
  void TearDown() override {
    EXPECT_EQ(fake_nccl::violation(), violation_);
    EXPECT_EQ(fake_nccl::living(), 0);
    EXPECT_EQ(fake_nccl::lazy_bytes_taken(), 0);
    fake_nccl::reset();
    comm::World().all(true);  // nobody begins the next test while another is in this one
  }
  void expect_violation(const std::string& words) {
    EXPECT_THAT(fake_nccl::violation(), ::testing::HasSubstr(words));
    violation_ = fake_nccl::violation();
  }

 private:
  std::string violation_;
};

}  // namespace zero::testing
