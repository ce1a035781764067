// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sstream>
#include <stdexcept>

namespace thalweg {

/// Throws std::invalid_argument unless `right`; the parts of its text state the requirement.
template <class... Parts>
void require(bool right, const Parts&... parts) {
  if (right) [[likely]]
    return;
  std::ostringstream text;
  (text << ... << parts);
  throw std::invalid_argument(text.str());
}

}  // namespace thalweg
