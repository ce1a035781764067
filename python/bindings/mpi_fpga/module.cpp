// SPDX-License-Identifier: Apache-2.0
// One function per file of this folder.
#include <nanobind/nanobind.h>

void bind_config(nanobind::module_& module);
void bind_fabrics(nanobind::module_& module);
void bind_server(nanobind::module_& module);

NB_MODULE(_sim, module) {
  nanobind::module_::import_("thalweg._core");  // the network that a fabric's configuration extends
  module.doc() = "MPI-FPGA: a fabric's configuration, fabrics, and the server of MPI programs.";
  bind_config(module);
  bind_fabrics(module);
  bind_server(module);
}
