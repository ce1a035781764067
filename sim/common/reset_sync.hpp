// SPDX-License-Identifier: Apache-2.0
// Synchronizer of a reset into another clock domain, C++ model of rtl/common/tw_reset_sync.sv.
#pragma once

namespace thalweg {

/// Asserted at first, from the edge after a reset has come, and until `stages` + 1 edges after it has gone.
class ResetSync {
 public:
  explicit ResetSync(unsigned stages) : stages_(stages), left_(stages + 1) {}

  [[nodiscard]] bool asserted() const { return left_ > 0; }

  /// One clock edge. reset: it has been there since the last one.
  void step(bool reset) { left_ = reset ? stages_ + 1 : left_ - (left_ > 0 ? 1 : 0); }

 private:
  unsigned stages_, left_;
};

}  // namespace thalweg
