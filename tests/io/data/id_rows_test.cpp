// Ranks: 1

#include "io/data/id_rows.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "zero/base/error.hpp"

namespace zero {
namespace {

using ::testing::ElementsAre;

TEST(IdRows, HoldIdsBeyondSixteenBits) {
  for (const int64_t vocabulary : {65536, 65537, 1 << 20}) {
    IdRows rows(vocabulary);
    const std::vector<int32_t> ids = {0, 65535, int32_t(vocabulary) - 1};
    rows.add({});
    rows.add(ids);
    std::vector<int32_t> out(4, 7);
    EXPECT_EQ(rows.copy(0, out), 0);
    EXPECT_EQ(rows.copy(1, out), 3);
    EXPECT_THAT(out, ElementsAre(ids[0], ids[1], ids[2], 7));
    EXPECT_EQ(rows.bytes(), 3 * 8 + 3 * (vocabulary > 65536 ? 4 : 2));
    EXPECT_THROW(rows.copy(1, std::span(out).first(2)), Error);
  }
}

}  // namespace
}  // namespace zero
