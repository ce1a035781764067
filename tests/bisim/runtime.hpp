// SPDX-License-Identifier: Apache-2.0
// What the Verilated module says while it runs: assertion failures are collected instead of ending the process.
#pragma once

#include <string>

namespace bisim {

/// Text of the first assertion that failed since this was cleared; empty where none did.
std::string& assertion_failure();

/// Throws std::logic_error with that text where there is one.
void throw_assertion_failure();

}  // namespace bisim

/// Takes the place of printf in the Verilator runtime.
int bisim_printf(const char* format, ...);
