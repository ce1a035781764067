// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace thalweg {

/// The text of the parts, one after another.
template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

/// Throws std::invalid_argument unless `right`; the parts of its text state the requirement.
template <class... Parts>
void require(bool right, const Parts&... parts) {
  if (!right) [[unlikely]]
    throw std::invalid_argument(text(parts...));
}

}  // namespace thalweg
