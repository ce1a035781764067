// SPDX-License-Identifier: Apache-2.0
// Common code for libraries of Verilated modules: opens them, and formats flits in differences.
#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <stdexcept>
#include <string>

#include "link/flit.hpp"

namespace thalweg {

/// A function of a library, which stays open until the process ends. Throws std::invalid_argument if it does not exist.
template <class Function>
[[nodiscard]] Function* function_of(const std::string& file, const char* name) {
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::invalid_argument(dlerror());
  void* found = dlsym(library, name);
  if (found == nullptr) throw std::invalid_argument(file + " has no " + name);
  return reinterpret_cast<Function*>(found);
}

[[nodiscard]] inline std::string text_of(const decltype(Flit::data)& data) {
  char text[72];
  std::snprintf(text, sizeof text, "%016llx%016llx%016llx%016llx", static_cast<unsigned long long>(data[3]),
                static_cast<unsigned long long>(data[2]), static_cast<unsigned long long>(data[1]),
                static_cast<unsigned long long>(data[0]));
  return text;
}

[[nodiscard]] inline std::string text_of(const Flit& flit) {
  return text_of(flit.data) + ", channel " + std::to_string(flit.vc) + (flit.head ? ", head" : "") +
         (flit.tail ? ", tail" : "");
}

}  // namespace thalweg
