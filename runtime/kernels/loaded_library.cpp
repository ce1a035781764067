// SPDX-License-Identifier: Apache-2.0
#include "kernels/loaded_library.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <stdexcept>

namespace thalweg {

LoadedLibrary::LoadedLibrary(const std::string& file) : file_(file) {
  // The loader does not load a file twice, so each rank loads its own copy.
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
        at == std::string::npos ? error : file + ": kernels call " + error.substr(at + 18) + ", which is not defined");
  }
  Dl_info at{};
  link_map* map = nullptr;
  if (dlinfo(handle_, RTLD_DI_LINKMAP, &map) == 0 && dladdr(map->l_ld, &at)) base_ = at.dli_fbase;
}

LoadedLibrary::~LoadedLibrary() {
  dlclose(handle_);
}

void* LoadedLibrary::symbol(const std::string& name) const {
  return dlsym(handle_, name.c_str());
}

std::vector<std::string> LoadedLibrary::lines(const void* code) const {
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

}  // namespace thalweg
