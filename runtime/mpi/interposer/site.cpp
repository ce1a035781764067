// SPDX-License-Identifier: Apache-2.0
#include "mpi/interposer/site.hpp"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <span>
#include <unordered_map>

#include "mpi/protocol.hpp"

namespace thalweg::mpi {
namespace {

struct Site {
  std::string name;
  bool in_mpi = false;  ///< in the MPI library itself, whose Fortran functions call its C functions
};

Site find_site(const void* return_address) {
  // The call precedes its return address, which may belong to the next line or function.
  const auto* call = static_cast<const char*>(return_address) - 1;
  Dl_info info{};
  link_map* map = nullptr;
  if (dladdr1(call, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 || map == nullptr) return {"?"};
  std::string file = info.dli_fname;
  file.erase(0, file.rfind('/') + 1);
  const bool in_mpi = file.starts_with("libmpi");
  char address[24];
  std::snprintf(address, sizeof address, "+0x%jx", reinterpret_cast<std::uintmax_t>(call) - map->l_addr);
  file.resize(std::min(file.size(), kSite - sizeof address));
  return {file + address, in_mpi};
}

const Site& site_at(const void* return_address) {
  static auto* const known = new std::unordered_map<const void*, Site>;  // calls may come until the process exits
  const auto found = known->find(return_address);
  return found != known->end() ? found->second
                               : known->emplace(return_address, find_site(return_address)).first->second;
}

}  // namespace

const std::string& name_of_site(const void* return_address) {
  const Site& nearest = site_at(return_address);
  if (!nearest.in_mpi) return nearest.name;
  std::array<void*, 64> stack{};
  const std::span frames(stack.data(), static_cast<std::size_t>(backtrace(stack.data(), stack.size())));
  for (auto frame = std::ranges::find(frames, return_address); frame != frames.end(); ++frame)
    if (const Site& site = site_at(*frame); !site.in_mpi) return site.name;
  return nearest.name;
}

}  // namespace thalweg::mpi
