// SPDX-License-Identifier: Apache-2.0
// The extension module: one function per file of this folder.
#include <nanobind/nanobind.h>

void bind_config(nanobind::module_& module);
void bind_engine(nanobind::module_& module);
void bind_peach2(nanobind::module_& module);
void bind_server(nanobind::module_& module);
void bind_smi(nanobind::module_& module);
void bind_traffic(nanobind::module_& module);

NB_MODULE(_sim, module) {
  module.doc() = "The simulator of Thalweg: fabric configuration, engines, traffic.";
  bind_config(module);
  bind_engine(module);
  bind_peach2(module);
  bind_server(module);
  bind_smi(module);
  bind_traffic(module);
}
