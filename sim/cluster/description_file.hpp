// SPDX-License-Identifier: Apache-2.0
// Reads descriptions of clusters, as `thalweg cluster describe` writes them: what the command has made of a cluster file, with
// topology and bases resolved, and values checked.
//
//     ticks_per_second 750000000
//     clock "net" 3 0                       name, period and phase in ticks
//     node "peach2" "node 0 (hub)"          kind and name, then its values
//       "gpu_read_gb" real 2.8              bool, int, real, text, ints or texts
//     link "pcie" "link 0 (ring)" 0 0 1 1   kind and name, node and port at both ends, then its values
#pragma once

#include <istream>
#include <string>

#include "cluster/assembly.hpp"

namespace thalweg {

/// Throws std::invalid_argument with the line's number if the text is no description. `name`: of the file, for messages.
[[nodiscard]] Description read_description(std::istream& from, const std::string& name);
/// Also if the file cannot be read.
[[nodiscard]] Description load_description(const std::string& file);

}  // namespace thalweg
