// Ranks: 1

#include <gtest/gtest.h>

#include "zero/comm/backends.hpp"

namespace zero::comm {
namespace {

TEST(Backend, OfOneRankIsItselfWhateverItDrives) {
  for (const bool devices : {false, true}) {
    EXPECT_EQ(backend_for({.count = 1, .drive_devices = devices, .have_nccl = true}),
              Backend::self);
  }
}

TEST(Backend, IsNcclWhereEachRankHasADeviceOfItsOwn) {
  EXPECT_EQ(backend_for({.count = 2, .drive_devices = true, .have_nccl = true}), Backend::nccl);
  EXPECT_EQ(backend_for({.count = 2, .have_nccl = true}), Backend::host);
}

TEST(Backend, StagesThroughTheHostWhatNcclWouldRefuse) {
  EXPECT_EQ(backend_for({.count = 2, .drive_devices = true}), Backend::staged);
  EXPECT_EQ(
      backend_for({.count = 2, .drive_devices = true, .share_a_device = true, .have_nccl = true}),
      Backend::staged);
}

TEST(Backend, StagesPartsOfOneCardUntilNcclTellsThemApart) {
  for (const bool shares : {false, true}) {
    EXPECT_EQ(backend_for({.count = 2,
                           .drive_devices = true,
                           .share_a_card = true,
                           .have_nccl = true,
                           .nccl_shares = shares}),
              shares ? Backend::nccl : Backend::staged);
  }
}

TEST(Backend, IsNcclWhereTheUserSaysSo) {
  for (const int ranks : {1, 2}) {
    EXPECT_EQ(backend_for({.count = ranks,
                           .drive_devices = true,
                           .share_a_device = true,
                           .have_nccl = true,
                           .want_nccl = true}),
              Backend::nccl);
  }
}

}  // namespace
}  // namespace zero::comm
