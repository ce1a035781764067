// SPDX-License-Identifier: Apache-2.0
// Does a join combine in the order of two chains that meet at the end?
#include "reduce/join.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace thalweg {
namespace {

double joined(const std::vector<double>& values) {
  std::vector<const std::byte*> operands;
  for (const double& value : values) operands.push_back(reinterpret_cast<const std::byte*>(&value));
  double result = -1, scratch = -1;
  join(lane(spec::Operator::sum, spec::Datatype::float64), operands, 1, sizeof(double),
       reinterpret_cast<std::byte*>(&result), reinterpret_cast<std::byte*>(&scratch));
  return result;
}

TEST(Join, FoldsTwoHalvesFromLeftToRight) {
  const double a = 1, b = std::ldexp(1, 53), c = 1, d = -std::ldexp(1, 53), e = std::ldexp(1, 60),
               f = -std::ldexp(1, 60);
  EXPECT_EQ(joined({a}), a);
  EXPECT_EQ(joined({a, b}), a + b);
  EXPECT_EQ(joined({a, b, c}), (a + b) + c);
  EXPECT_EQ(joined({a, b, c, d}), (a + b) + (c + d));
  EXPECT_EQ(joined({a, b, c, d, e}), ((a + b) + c) + (d + e));
  EXPECT_EQ(joined({a, b, c, d, e, f}), ((a + b) + c) + ((d + e) + f));
  EXPECT_NE(joined({a, b, c, d}), ((a + b) + c) + d) << "the operands do not show the order";
}

TEST(Join, DepthIsTheLongestPath) {
  EXPECT_EQ(join_depth(1), 0u);
  EXPECT_EQ(join_depth(2), 1u);
  EXPECT_EQ(join_depth(3), 2u);
  EXPECT_EQ(join_depth(4), 2u);
  EXPECT_EQ(join_depth(5), 3u);
  EXPECT_EQ(join_depth(8), 4u);
}

}  // namespace
}  // namespace thalweg
