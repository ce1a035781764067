// SPDX-License-Identifier: Apache-2.0
// A library of kernels as python/thalweg/systems/smi/compile.py makes them, loaded for one rank: each rank has its own static variables.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/loaded_library.hpp"
#include "smi/device/calls.h"
#include "smi/pipe.hpp"

namespace thalweg::smi {

class Library {
 public:
  using Call = void (*)(void**);

  /// Loads a copy. Throws std::runtime_error where it can't be loaded, or is no such library.
  Library(const std::string& file, const smi__calls& calls, std::uintptr_t memory, std::size_t memory_bytes,
          unsigned rank);

  /// Null where it has no such kernel.
  [[nodiscard]] Call kernel(const std::string& name) const;
  [[nodiscard]] std::vector<std::string> lines(const void* code) const { return loaded_.lines(code); }
  /// The channel of its program that lies at a place; throws std::logic_error where none does.
  [[nodiscard]] Pipe& pipe(const void* place) {
    const auto at = reinterpret_cast<std::uintptr_t>(place) - first_;
    if (at >= by_place_.size() || !by_place_[at]) no_pipe();
    return *by_place_[at];
  }
  [[nodiscard]] std::vector<const Pipe*> pipes() const;
  void add_channel(void* place, std::size_t bytes, std::size_t element, long depth, const std::string& name);

 private:
  [[noreturn]] static void no_pipe();

  LoadedLibrary loaded_;
  unsigned rank_;
  std::map<std::uintptr_t, std::unique_ptr<Pipe>> pipes_;
  std::uintptr_t first_ = 0;
  std::vector<Pipe*> by_place_;  ///< from the first place on: channels lie beside each other
};

}  // namespace thalweg::smi
