// SPDX-License-Identifier: Apache-2.0
// Ledger of writes and chains of operations, so that an operation with a loss ends with an error, even if no one waits for it: a
// posted write has no reply, and an abandoned chain writes no flag, but the hub that refused it records it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "peach2/address_map.hpp"
#include "peach2/driver/fabric.hpp"

namespace thalweg::peach2 {

/// Begin and end of an operation, in cycles of the packet clock; negative before.
struct Times {
  Tick begin = -1, end = -1;
  std::string error;                         ///< reason if it failed, one line
  std::string what;                          ///< the operation, for messages
  std::vector<std::vector<std::byte>> seen;  ///< what a kernel has read
  Handle handle = 0;
};
using Outcome = std::shared_ptr<const Times>;

class Ledger {
 public:
  void writes(unsigned node, std::uint64_t to, std::uint64_t bytes, const std::shared_ptr<Times>& of) {
    writes_.push_back({node, to, bytes, of});
  }
  /// Records the start of the chain at `start` in a hub. Chains at one address are started one after another.
  void started(unsigned hub, std::uint64_t start, const std::shared_ptr<Times>& of) {
    chains_.push_back({hub, start, of});
  }

  /// Records that a host resets the hub, so its aborted chains are intended.
  void gives_up(unsigned hub) { reset_.insert(hub); }

  /// Sets the errors of failed operations once all is idle. Returns a line for each of the first failures, and the
  /// number of the others. A chain that the host has aborted is a failure only if its operation has not been reported
  /// before.
  std::string settle(Fabric& fabric) {
    lines_.clear();
    const Report report = fabric.report();
    for (const auto& loss : report.losses) lose(loss);
    for (const auto& chain : report.chains) end(chain);
    for (auto& chain : chains_) {
      if (chain.of->end >= 0 && chain.of->error.empty())
        failed("hub " + std::to_string(chain.hub) + " has not ended the chain at " + hex(chain.start), *chain.of);
      chain.reported = true;
    }
    writes_.clear();
    reset_.clear();
    return shown();
  }

 private:
  struct Write {
    unsigned node;
    std::uint64_t to, bytes;
    std::shared_ptr<Times> of;
  };
  struct Chain {
    unsigned hub;
    std::uint64_t start;
    std::shared_ptr<Times> of;
    bool reported = false;  ///< as not ended, here or by the processor that waits for it
  };

  void failed(const std::string& why, Times& of) {
    if (of.error.empty()) of.error = why;
    lines_.push_back(why + "; operation: " + of.what);
  }
  void lose(const Loss& loss) {
    Times* first = nullptr;
    for (const auto& write : writes_) {
      if ((loss.source && loss.source->node != write.node) || loss.address + loss.bytes <= write.to ||
          loss.address >= write.to + write.bytes)
        continue;
      if (write.of->error.empty()) write.of->error = loss.what;
      if (!first) first = write.of.get();
    }
    if (first)
      failed(loss.what, *first);
    else
      lines_.push_back(loss.what);
  }
  void end(const ChainEnd& chain) {
    const auto known = std::ranges::find_if(
        chains_, [&](const Chain& started) { return started.hub == chain.hub && started.start == chain.start; });
    const bool on_purpose = chain.aborted || reset_.contains(chain.hub);
    if (known != chains_.end()) {
      if (!chain.what.empty() && !(known->reported && on_purpose)) failed(chain.what, *known->of);
      chains_.erase(known);
    } else if (!chain.what.empty() && !on_purpose) {
      lines_.push_back(chain.what);
    }
  }
  [[nodiscard]] std::string shown() const {
    constexpr std::size_t kShown = 8;
    std::string all;
    for (std::size_t i = 0; i < std::min(lines_.size(), kShown); ++i) all += (i > 0 ? "\n" : "") + lines_[i];
    if (lines_.size() > kShown) all += "\nand " + std::to_string(lines_.size() - kShown) + " more";
    return all;
  }

  std::vector<Write> writes_;
  std::vector<Chain> chains_;  ///< chains whose end has not been reported
  std::set<unsigned> reset_;   ///< hubs reset since `settle`
  std::vector<std::string> lines_;
};

}  // namespace thalweg::peach2
