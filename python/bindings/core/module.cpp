// SPDX-License-Identifier: Apache-2.0
// The extension that all systems' extensions use: one function per file of this folder.
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <exception>

#include "../engine.hpp"
#include "core/blocked.hpp"
#include "core/types.hpp"
#include "switch/rtl_router.hpp"

namespace nb = nanobind;
using namespace thalweg;

void bind_network(nb::module_& module);
void bind_traffic(nb::module_& module);

NB_MODULE(_core, module) {
  module.doc() = "Common parts of all systems: the plain network, its traffic, completions and reports of engines.";
  module.attr("NEVER") = kNever;
#ifdef NDEBUG
  nb::set_leak_warnings(false);  // a program that is interrupted leaves objects behind
#endif

  nb::class_<Completion>(module, "Completion",
                         "A completed operation, and the tick at which the host sees the completion.")
      .def_ro("handle", &Completion::handle)
      .def_ro("at", &Completion::at)
      .def_ro("last", &Completion::last,
              "the last completion of the handle: a message completes when it has left, and again when it has arrived");

  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    const auto error = [](const char* name) { return nb::module_::import_("thalweg.errors").attr(name); };
    try {
      std::rethrow_exception(thrown);
    } catch (const RtlDifference& found) {
      PyErr_SetObject(error("RtlDifference").ptr(),
                      nb::make_tuple(found.what(), found.block, found.node, found.cycle).ptr());
    } catch (const Stuck& stuck) {
      PyErr_SetObject(error("FabricStopped").ptr(),
                      nb::make_tuple(stuck.what(), records_of(stuck.blocked, stuck.ticks_per_second)).ptr());
    }
  });

  bind_network(module);
  bind_traffic(module);
}
