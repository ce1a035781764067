// SPDX-License-Identifier: Apache-2.0
// Messages of the running Verilated module: assertion failures are collected instead of ending the process.
#pragma once

#include <string>

namespace bisim {

/// Text of the first assertion failure since this was cleared; empty if there was none.
std::string& assertion_failure();

/// Throws std::logic_error with that text, if any.
void throw_assertion_failure();

}  // namespace bisim

/// Replaces printf in the Verilator runtime.
int bisim_printf(const char* format, ...);
