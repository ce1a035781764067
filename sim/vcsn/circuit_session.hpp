// SPDX-License-Identifier: Apache-2.0
// Sessions of circuits, which make them reliable.
#pragma once

#include "ethernet/session.hpp"
#include "vcsn/receive_buffer.hpp"
#include "vcsn/send_buffer.hpp"

namespace thalweg::vcsn {

using ethernet::kMostWindow, ethernet::SessionConfig, ethernet::SessionCounts, ethernet::SessionState;
using Session = ethernet::Session<SendBuffer, ReceiveBuffer>;

}  // namespace thalweg::vcsn
