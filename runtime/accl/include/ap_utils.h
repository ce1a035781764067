// SPDX-License-Identifier: Apache-2.0
// The vendor's waits for one or several cycles.
#pragma once
#pragma GCC system_header

#include "thalweg_hls.hpp"

inline void ap_wait() {
  hls__library.calls->pause(1);
}
inline void ap_wait_n(int cycles) {
  hls__library.calls->pause(cycles);
}
