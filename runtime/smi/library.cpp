// SPDX-License-Identifier: Apache-2.0
#include "smi/library.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <stdexcept>

namespace thalweg::smi {

Library::Library(const std::string& file, const smi__calls& calls, std::uintptr_t memory, std::size_t memory_bytes,
                 unsigned rank)
    : file_(file), rank_(rank) {
  // The loader takes a file that it has loaded for the same library, so each rank loads a file of its own.
  std::string copy = file + ".XXXXXX";
  const int descriptor = mkstemp(copy.data());
  if (descriptor < 0) throw std::runtime_error("cannot write beside " + file);
  close(descriptor);
  std::filesystem::copy_file(file, copy, std::filesystem::copy_options::overwrite_existing);
  handle_ = dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL);
  const std::string error = handle_ ? "" : dlerror();
  std::filesystem::remove(copy);
  if (!handle_) {
    const auto at = error.find("undefined symbol: ");
    throw std::runtime_error(
        at == std::string::npos ? error : file + ": kernels call " + error.substr(at + 18) + ", which there is not");
  }
  auto* library = static_cast<smi__library*>(dlsym(handle_, "smi__library"));
  const auto channels = reinterpret_cast<void (*)(void*)>(dlsym(handle_, "smi__channels"));
  if (!library || !channels || library->version != SMI__CALLS_VERSION) {
    dlclose(handle_);
    throw std::runtime_error(file + " is no library of kernels of this version");
  }
  Dl_info at{};
  if (dladdr(library, &at)) base_ = at.dli_fbase;
  library->calls = &calls;
  library->memory = memory;
  library->memory_bytes = memory_bytes;
  channels(this);
  if (pipes_.empty()) return;
  first_ = pipes_.begin()->first;
  by_place_.resize(pipes_.rbegin()->first - first_ + 1);
  for (const auto& [place, pipe] : pipes_) by_place_[place - first_] = pipe.get();
}

Library::~Library() {
  dlclose(handle_);
}

Library::Call Library::kernel(const std::string& name) const {
  return reinterpret_cast<Call>(dlsym(handle_, ("smi__call_" + name).c_str()));
}

std::vector<std::string> Library::lines(const void* code) const {
  Dl_info at{};
  if (!dladdr(code, &at) || at.dli_fbase != base_) return {};
  char offset[32];
  std::snprintf(offset, sizeof offset, "%tx",
                static_cast<const char*>(code) - static_cast<const char*>(at.dli_fbase) - 1);
  const auto command = "addr2line -i -e '" + file_ + "' " + offset + " 2>/dev/null";
  std::string said;
  if (auto* from = popen(command.c_str(), "r")) {
    char part[256];
    while (std::fgets(part, sizeof part, from)) said += part;
    pclose(from);
  }
  std::vector<std::string> found;
  std::istringstream all(said);
  for (std::string line; std::getline(all, line);) {
    line = line.substr(0, line.find(' '));
    if (line.find('?') == std::string::npos) found.push_back(line);
  }
  return found;
}

void Library::add_channel(void* place, std::size_t bytes, std::size_t element, long depth, const std::string& name) {
  const auto number = bytes / element;
  for (std::size_t i = 0; i < number; ++i)
    pipes_.emplace(reinterpret_cast<std::uintptr_t>(place) + i * element,
                   std::make_unique<Pipe>("channel " + name + (number > 1 ? "[" + std::to_string(i) + "]" : "") +
                                              " of rank " + std::to_string(rank_),
                                          element, depth < 0 ? 0 : static_cast<std::size_t>(depth)));
}

std::vector<const Pipe*> Library::pipes() const {
  std::vector<const Pipe*> all;
  for (const auto& [place, pipe] : pipes_) all.push_back(pipe.get());
  return all;
}

void Library::no_pipe() {
  throw std::logic_error("a channel is used that the program does not declare");
}

}  // namespace thalweg::smi
