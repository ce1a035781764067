// SPDX-License-Identifier: Apache-2.0
// A kernel library built by python/thalweg/systems/smi/compile.py, loaded for one rank: each rank has its own static
// variables.
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

  /// Loads a copy. Throws std::runtime_error if it cannot be loaded or is not a kernel library.
  Library(const std::string& file, const smi__calls& calls, std::uintptr_t memory, std::size_t memory_bytes,
          unsigned rank);

  /// Returns null if it has no such kernel.
  [[nodiscard]] Call kernel(const std::string& name) const;
  [[nodiscard]] std::vector<std::string> lines(const void* code) const { return loaded_.lines(code); }
  /// Returns the channel of the program at `address`; throws std::logic_error if there is none.
  [[nodiscard]] Pipe& pipe(const void* address) {
    const auto offset = reinterpret_cast<std::uintptr_t>(address) - first_;
    if (offset >= by_address_.size() || !by_address_[offset]) no_pipe();
    return *by_address_[offset];
  }
  [[nodiscard]] std::vector<const Pipe*> pipes() const;
  void add_channel(void* address, std::size_t bytes, std::size_t element, long depth, const std::string& name);

 private:
  [[noreturn]] static void no_pipe();

  LoadedLibrary loaded_;
  unsigned rank_;
  std::map<std::uintptr_t, std::unique_ptr<Pipe>> pipes_;
  std::uintptr_t first_ = 0;
  std::vector<Pipe*> by_address_;  ///< by address, relative to the first channel's: channels are adjacent in memory
};

}  // namespace thalweg::smi
