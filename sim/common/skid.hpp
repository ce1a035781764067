// SPDX-License-Identifier: Apache-2.0
// Skid buffer: registers valid and ready at full throughput, C++ model of rtl/common/tw_skid.sv.
#pragma once

#include <utility>

namespace thalweg {

/// Latency 1, throughput one value per cycle, two entries: the output register, and the skid register, which takes the
/// value offered in the cycle in which the reader first stalls.
template <class T>
class Skid {
 public:
  [[nodiscard]] bool ready() const { return !skidded_; }  ///< the writer's side: registered
  [[nodiscard]] bool valid() const { return valid_; }     ///< the reader's side: registered
  [[nodiscard]] const T& front() const { return output_; }

  /// One clock edge. push: an offered value, or nullptr; accepted when ready(). pop: the reader's ready.
  void step(const T* push, bool pop) {
    const bool offered = push && ready();
    if (pop || !valid_) {
      if (skidded_)
        output_ = skid_;
      else if (offered)
        output_ = *push;
      valid_ = skidded_ || offered;
      skidded_ = false;
    } else if (offered) {
      skid_ = *push;
      skidded_ = true;
    }
  }

 private:
  T output_{};
  T skid_{};
  bool valid_ = false;
  bool skidded_ = false;
};

}  // namespace thalweg
