// SPDX-License-Identifier: Apache-2.0
// Synchronizer of a reset into another clock domain, C++ model of rtl/common/tw_reset_sync.sv.
#pragma once

namespace thalweg {

/// Asserted initially, and from the edge after a reset rises until `stages` + 1 edges after it falls.
class ResetSync {
 public:
  explicit ResetSync(unsigned stages) : stages_(stages), left_(stages + 1) {}

  [[nodiscard]] bool asserted() const { return left_ > 0; }

  /// One clock edge. reset: it was active since the previous edge.
  void step(bool reset) { left_ = reset ? stages_ + 1 : left_ - (left_ > 0 ? 1 : 0); }

 private:
  unsigned stages_, left_;
};

}  // namespace thalweg
