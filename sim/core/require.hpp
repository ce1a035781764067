// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace thalweg {

/// Throws std::invalid_argument(what) unless `right`; `what` states the requirement.
inline void require(bool right, const std::string& what) {
  if (!right) throw std::invalid_argument(what);
}

}  // namespace thalweg
