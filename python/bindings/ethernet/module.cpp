// SPDX-License-Identifier: Apache-2.0
// Python bindings of networks of computers and Ethernet switches.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "../assembly.hpp"
#include "../engine.hpp"
#include "ethernet/network.hpp"

namespace nb = nanobind;
using namespace thalweg;
using namespace thalweg::ethernet;

namespace {

/// The bound network.
class Bound {
 public:
  Bound(const nb::dict& description, const std::string& capture) : network(description_of(description), capture) {}

  Network network;
};

}  // namespace

NB_MODULE(_sim, module) {
  module.doc() = "Ethernet: NICs, switches and links.";

  module.def(
      "wire_bytes", [](unsigned payload) { return wire_bytes(kHeader + payload); }, nb::arg("payload"),
      "Returns the bytes that a frame occupies on its line, including preamble and gap.");
  module.attr("GAP") = kGap;
  module.attr("LEAST_PAYLOAD") = kLeastPayload;
  module.attr("MOST_PAYLOAD") = kMost - kHeader;

  nb::enum_<Flow::Gaps>(module, "Gaps", "Intervals between the due times of a flow's frames.")
      .value("even", Flow::Gaps::even)
      .value("exponential", Flow::Gaps::exponential);
  nb::class_<FlowResult>(module, "FlowResult", "Result of a flow; times are in units of `units_per_us`.")
      .def_ro("received", &FlowResult::received, "frames")
      .def_ro("repeated", &FlowResult::repeated, "duplicates, and frames received after a later one")
      .def_ro("wrong", &FlowResult::wrong, "frames whose data differ from those sent")
      .def_ro("last_end", &FlowResult::last_end)
      .def_ro("delay_sum", &FlowResult::delay_sum, "sum of delays, from a frame's due time to its end at the receiver")
      .def_ro("delay_most", &FlowResult::delay_most);

  nb::class_<Bound> bound(module, "Network");
  bind_engine_of(bound, [](Bound& self) -> Engine& { return self.network; });
  bound
      .def(nb::init<const nb::dict&, const std::string&>(), nb::arg("description"), nb::arg("capture") = "",
           "`capture`: pcapng file to write.\n\nRaises ValueError if the description is invalid.")
      .def_prop_ro("nodes", [](const Bound& self) { return self.network.nodes(); })
      .def(
          "is_nic", [](const Bound& self, unsigned node) { return self.network.is_nic(node); }, nb::arg("node"))
      .def(
          "submit",
          [](Bound& self, Handle handle, unsigned from, unsigned to, unsigned payload, std::uint64_t frames,
             double load, Flow::Gaps gaps, std::uint64_t seed) {
            self.network.submit(handle, from, to,
                                {.payload = payload, .frames = frames, .load = load, .gaps = gaps, .seed = seed});
          },
          nb::kw_only(), nb::arg("handle"), nb::arg("source"), nb::arg("destination"), nb::arg("payload"),
          nb::arg("frames"), nb::arg("load") = 1.0, nb::arg("gaps") = Flow::Gaps::even, nb::arg("seed") = 1,
          "Starts a flow of frames with `payload` bytes, which offers a fraction `load` of the line rate.\n\nRaises "
          "ValueError.")
      .def(
          "advance", [](Bound& self, Tick until) { return advance_of(self.network, until); }, nb::arg("until"),
          "Runs until a tick or the end of the first tick in which a flow ended; NEVER: until idle.")
      .def(
          "result", [](const Bound& self, Handle handle) { return self.network.result(handle); }, nb::arg("handle"))
      .def(
          "units_per_us", [](const Bound& self, unsigned node) { return self.network.units_per_us(node); },
          nb::arg("node"))
      .def(
          "close", [](Bound& self) { self.network.close(); }, "Closes the capture file.")
      .def(
          "dropped", [](const Bound& self) { return list_of(self.network.dropped()); },
          "Returns, per node and port with frames dropped for lack of buffer space: ticks per window, frames in each "
          "window.")
      .def(
          "link_use", [](const Bound& self) { return link_use(self.network.assembly()); },
          "Returns, per link direction: sending node and port, ticks per window, 64-byte words in each window.");
}
