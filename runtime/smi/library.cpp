// SPDX-License-Identifier: Apache-2.0
#include "smi/library.hpp"

#include <stdexcept>

namespace thalweg::smi {

Library::Library(const std::string& file, const smi__calls& calls, std::uintptr_t memory, std::size_t memory_bytes,
                 unsigned rank)
    : loaded_(file), rank_(rank) {
  auto* library = static_cast<smi__library*>(loaded_.symbol("smi__library"));
  const auto channels = reinterpret_cast<void (*)(void*)>(loaded_.symbol("smi__channels"));
  if (!library || !channels || library->version != SMI__CALLS_VERSION)
    throw std::runtime_error(file + " is not a library of kernels of this version");
  library->calls = &calls;
  library->memory = memory;
  library->memory_bytes = memory_bytes;
  channels(this);
  if (pipes_.empty()) return;
  first_ = pipes_.begin()->first;
  by_address_.resize(pipes_.rbegin()->first - first_ + 1);
  for (const auto& [address, pipe] : pipes_) by_address_[address - first_] = pipe.get();
}

Library::Call Library::kernel(const std::string& name) const {
  return reinterpret_cast<Call>(loaded_.symbol("smi__call_" + name));
}

void Library::add_channel(void* address, std::size_t bytes, std::size_t element, long depth, const std::string& name) {
  const auto number = bytes / element;
  for (std::size_t i = 0; i < number; ++i)
    pipes_.emplace(reinterpret_cast<std::uintptr_t>(address) + i * element,
                   std::make_unique<Pipe>("channel " + name + (number > 1 ? "[" + std::to_string(i) + "]" : "") +
                                              " of rank " + std::to_string(rank_),
                                          element, depth < 0 ? 0 : static_cast<std::size_t>(depth)));
}

std::vector<const Pipe*> Library::pipes() const {
  std::vector<const Pipe*> all;
  for (const auto& [address, pipe] : pipes_) all.push_back(pipe.get());
  return all;
}

void Library::no_pipe() {
  throw std::logic_error("a channel is used that the program does not declare");
}

}  // namespace thalweg::smi
