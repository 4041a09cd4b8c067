#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "zero/base/error.hpp"
#include "zero/kernels/disentangled.hpp"

namespace zero::kernels {
namespace {

void check(const DistanceTable& table) {
  const int64_t side = table.side(), exact = table.buckets / 2;
  ZERO_REQUIRE(table.buckets >= 0 && side > 0 && side <= kDistanceSideMost, "a table of ", side,
               " distances a side: choose 1 to ", kDistanceSideMost);
  ZERO_REQUIRE(table.buckets == 0 || (exact > 0 && table.most_distance - 1 > exact),
               "a table whose distances end at ", table.most_distance, " where the first ", exact,
               " have rows of their own");
}

}  // namespace

int64_t distance_bucket(const DistanceTable& table, int64_t distance) {
  check(table);
  const int64_t size = std::abs(distance), exact = table.buckets / 2;
  if (table.buckets == 0 || size <= exact) return distance;
  const float most = std::log(float(double(table.most_distance - 1) / double(exact)));
  const float share = std::log(float(size) / float(exact)) / most;
  const int64_t bucket = int64_t(std::ceil(share * float(exact - 1))) + exact;
  return distance < 0 ? -bucket : bucket;
}

int64_t distance_row(const DistanceTable& table, int64_t distance) {
  return std::clamp<int64_t>(distance_bucket(table, distance) + table.side(), 0, table.rows() - 1);
}

DistanceRows distance_rows(const DistanceTable& table, int64_t length) {
  ZERO_REQUIRE(length > 0, "distances in texts of ", length, " tokens: at least 1");
  const int64_t first = distance_row(table, 1 - length);
  return {.first = first, .count = distance_row(table, length - 1) - first + 1};
}

}  // namespace zero::kernels
