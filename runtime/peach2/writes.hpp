// SPDX-License-Identifier: Apache-2.0
// What operations have written, so that one of which a write was lost ends with an error: a posted write has no answer, but who
// refused it has counted it, and knows whose it was.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "peach2/driver/fabric.hpp"

namespace thalweg::peach2 {

/// When an operation began and ended, in cycles of the packets' clock; before that, negative.
struct Times {
  Tick begin = -1, end = -1;
  std::string error;  ///< why it has not done what it should; a line
};
using Handle = std::shared_ptr<const Times>;

class Writes {
 public:
  void add(unsigned node, std::uint64_t to, std::uint64_t bytes, const std::shared_ptr<Times>& of) {
    writes_.push_back({node, to, bytes, of});
  }
  /// When all is quiet: the operations whose writes were lost get an error. Returns a line for each lost write, but for those behind
  /// the first few.
  std::string settle(Fabric& fabric) {
    constexpr std::size_t kShown = 8;
    const auto losses = fabric.losses();
    std::string lines;
    for (std::size_t i = 0; i < losses.size(); ++i) {
      const Loss& loss = losses[i];
      for (const auto& write : writes_)
        if ((!loss.source || loss.source->node == write.node) && loss.address + loss.bytes > write.to &&
            loss.address < write.to + write.bytes && write.of->error.empty())
          write.of->error = loss.what;
      if (i < kShown) lines += (i > 0 ? "\n" : "") + loss.what;
    }
    if (losses.size() > kShown) lines += "\nand " + std::to_string(losses.size() - kShown) + " more";
    writes_.clear();
    return lines;
  }

 private:
  struct Write {
    unsigned node;
    std::uint64_t to, bytes;
    std::shared_ptr<Times> of;
  };
  std::vector<Write> writes_;
};

}  // namespace thalweg::peach2
