// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace thalweg {

/// Throws where a configuration is not right; `what` says what would be.
inline void require(bool right, const std::string& what) {
  if (!right) throw std::invalid_argument(what);
}

}  // namespace thalweg
