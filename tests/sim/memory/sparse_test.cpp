// SPDX-License-Identifier: Apache-2.0
// Does a sparse memory behave like an array?
#include "memory/sparse.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace thalweg {
namespace {

TEST(SparseMemory, HoldsWhatAnArrayWould) {
  constexpr std::size_t kBytes = 40'000;
  std::vector<std::byte> array(kBytes);
  SparseMemory memory("memory", kBytes);
  std::mt19937 random(7);
  for (unsigned i = 0; i < 300; ++i) {
    const std::size_t at = random() % kBytes, count = random() % std::min<std::size_t>(kBytes - at + 1, 9000);
    std::vector<std::byte> bytes(count);
    if (i % 3 == 0) {
      for (auto& byte : bytes) byte = static_cast<std::byte>(random());
      memory.write(at, bytes);
      std::copy(bytes.begin(), bytes.end(), array.begin() + static_cast<std::ptrdiff_t>(at));
    } else {
      memory.read(at, bytes);
      ASSERT_TRUE(std::equal(bytes.begin(), bytes.end(), array.begin() + static_cast<std::ptrdiff_t>(at)));
    }
  }
}

TEST(SparseMemory, NamesWhatIsOutside) {
  SparseMemory memory("GPU 1", 4096);
  std::byte byte{};
  try {
    memory.write(4096, {&byte, 1});
    FAIL();
  } catch (const std::out_of_range& error) {
    EXPECT_STREQ(error.what(), "GPU 1 has 4096 bytes; 1 at 4096 are outside");
  }
}

}  // namespace
}  // namespace thalweg
