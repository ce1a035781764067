// SPDX-License-Identifier: Apache-2.0
// Redirects calls of MPI's profiling interface (PMPI_Send) to the interposer's functions (MPI_Send): Fortran's functions use
// these names in MPICH (module mpi_f08) and in Open MPI. Calls by the MPI library itself and by the interposer remain.
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "mpi/interposer/loaded_file.hpp"

namespace {

using thalweg::mpi::file_at;
using thalweg::mpi::LoadedFile;

// Entries with the address of a function of another file.
#if defined(__x86_64__)
constexpr unsigned kCall = R_X86_64_JUMP_SLOT, kAddress = R_X86_64_GLOB_DAT;
#elif defined(__aarch64__)
constexpr unsigned kCall = R_AARCH64_JUMP_SLOT, kAddress = R_AARCH64_GLOB_DAT;
#else
#error "unknown processor"
#endif

LoadedFile own() {
  return file_at(reinterpret_cast<const void*>(&own));
}

/// The interposer's MPI function for the name of a PMPI function; null if it has none.
void* replacement(std::string_view name) {
  static void* const self = dlopen(own().name, RTLD_LAZY | RTLD_NOLOAD);
  if (!name.starts_with("PMPI_")) return nullptr;
  void* const found = dlsym(self, std::string(name.substr(1)).c_str());
  return file_at(found).start == own().start ? found : nullptr;
}

/// Overwrites an entry, whose page may be read-only.
void write_entry(void** entry, void* function) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  auto* const start = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(entry) & ~(page - 1));
  if (mprotect(start, page, PROT_READ | PROT_WRITE) == 0) *entry = function;
}

int redirect(dl_phdr_info* file, std::size_t, void*) {
  std::uintptr_t names = 0, symbols = 0, tables[2] = {}, bytes[2] = {};
  for (const auto& segment : std::span(file->dlpi_phdr, file->dlpi_phnum)) {
    if (segment.p_type != PT_DYNAMIC) continue;
    for (const auto* each = reinterpret_cast<const ElfW(Dyn)*>(file->dlpi_addr + segment.p_vaddr);
         each->d_tag != DT_NULL; ++each) {
      const std::uintptr_t value = each->d_un.d_val;
      if (each->d_tag == DT_STRTAB) names = value;
      if (each->d_tag == DT_SYMTAB) symbols = value;
      if (each->d_tag == DT_JMPREL) tables[0] = value;
      if (each->d_tag == DT_PLTRELSZ) bytes[0] = value;
      if (each->d_tag == DT_RELA) tables[1] = value;
      if (each->d_tag == DT_RELASZ) bytes[1] = value;
    }
  }
  for (int i = 0; i < 2; ++i)
    for (const auto& entry : std::span(reinterpret_cast<const ElfW(Rela)*>(tables[i]), bytes[i] / sizeof(ElfW(Rela)))) {
      const auto type = ELF64_R_TYPE(entry.r_info);
      if (type != kCall && type != kAddress) continue;
      const auto& symbol = reinterpret_cast<const ElfW(Sym)*>(symbols)[ELF64_R_SYM(entry.r_info)];
      void* const function = replacement(reinterpret_cast<const char*>(names) + symbol.st_name);
      if (function == nullptr) continue;
      auto** const at = reinterpret_cast<void**>(file->dlpi_addr + entry.r_offset);
      static const LoadedFile mpi = file_at(dlsym(RTLD_NEXT, "PMPI_Init"));
      if (const LoadedFile of = file_at(at); of.start != own().start && of.start != mpi.start)
        write_entry(at, function);
    }
  return 0;
}

[[gnu::constructor]] void redirect_all() {
  dl_iterate_phdr(redirect, nullptr);
}

}  // namespace
