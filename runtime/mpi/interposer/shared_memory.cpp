// SPDX-License-Identifier: Apache-2.0
// Adds the run's name to the MPI library's shared memory files, so that the run can remove those that killed ranks leave.
#include <dlfcn.h>
#include <sys/types.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace {

constexpr std::string_view kFile = "/dev/shm/mpich_shar_tmp";  // prefix in MPICH up to 4; later versions call shm_open
constexpr std::size_t kName = kFile.rfind('/') + 1;

const char* run() {
  return std::getenv("THALWEG_SHARED_MEMORY");
}

std::string named(const char* name) {
  if (run() == nullptr || !std::string_view(name).starts_with("/mpich_")) return name;
  return std::string("/") + run() + "." + (name + 1);
}

template <class Function>
Function* next(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] int shm_open(const char* name, int flags, mode_t mode) {
  static auto* const original = next(&shm_open, "shm_open");
  return original(named(name).c_str(), flags, mode);
}

[[gnu::visibility("default")]] int shm_unlink(const char* name) {
  static auto* const original = next(&shm_unlink, "shm_unlink");
  return original(named(name).c_str());
}

[[gnu::visibility("default")]] int mkstemp(char* file) {
  static auto* const original = next(&mkstemp, "mkstemp");
  // The replacement must have the same length, as the caller's buffer has no more space.
  if (run() != nullptr && std::strlen(run()) == kFile.size() - kName && std::string_view(file).starts_with(kFile))
    std::memcpy(file + kName, run(), kFile.size() - kName);
  return original(file);
}
}
