// SPDX-License-Identifier: Apache-2.0
// The blocked components of a node, and what each waits for.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/engine.hpp"
#include "vcsn/ethernet_port.hpp"
#include "vcsn/node.hpp"
#include "vcsn/virtual_ports.hpp"

namespace thalweg::vcsn {

/// The source of words at an output of a node's crossbar.
[[nodiscard]] inline std::string source_of(const Node& of, unsigned number, unsigned output) {
  const auto input = of.crossbar.input_of(output);
  return input ? name_at(of, number, *input, false) : "no input of the crossbar";
}
/// The destination of words from an input of a node's crossbar.
[[nodiscard]] inline std::string sink_of(const Node& of, unsigned number, unsigned input) {
  const auto output = of.crossbar.output_of(input);
  return output ? name_at(of, number, *output, true) : "no output of the crossbar";
}

/// Adds the blocked components of a node, except write engines. `since` returns the start time of an operation.
inline void add_blocked(const Node& of, unsigned number, Tick now, const std::function<Tick(Handle)>& since,
                        std::vector<Blocked>& all) {
  const auto add = [&all](std::string who, std::string what, std::string on, Tick from, std::string why = {}) {
    all.push_back({.who = std::move(who),
                   .what = std::move(what),
                   .on = std::move(on),
                   .why = std::move(why),
                   .since = from,
                   .where = {}});
  };
  for (unsigned k = 0; k < of.config.dmas; ++k)
    if (!of.reads[k].empty()) add(engine_name(number, false, k), "for room", sink_of(of, number, k), now);
  for (unsigned port = 0; port < of.config.ports; ++port) {
    const auto* external = dynamic_cast<const EthernetPort*>(of.externals[port].get());
    for (unsigned k = 0; external && k < of.config.virtual_ports; ++k)
      if (external->session(k).state() == SessionState::closing)
        add(to_string({number, port, k}),
            "to begin session " + std::to_string(external->session(k).number()) +
                " when all earlier words have left the receive buffer",
            sink_of(of, number, of.place(port, k)), now);
  }
  for (unsigned k = 0; k < of.config.kernels; ++k) {
    const unsigned place = of.kernel_place(k);
    const KernelPort& kernel = of.kernels[k];
    if (kernel.receives())
      add(name_at(of, number, place, false), "for words", source_of(of, number, place), since(kernel.receiving()));
    if (kernel.sends()) add(name_at(of, number, place, false), "for room", sink_of(of, number, place), now);
  }
  for (unsigned k = 0; k < of.config.sequencers; ++k)
    if (of.sequencers[k].runs())
      add(name_at(of, number, of.sequencer_place(k), false), "at " + of.sequencers[k].at(), {}, now,
          of.sequencers[k].refused());
}

}  // namespace thalweg::vcsn
