#include "reduce/user_operators.hpp"

#include <dlfcn.h>

#include <bit>
#include <stdexcept>

#include "reduce/include/thalweg_operator.hpp"

namespace thalweg {
namespace {

constexpr unsigned kMaxLatency = 1024;  // as for the other operators

}  // namespace

std::vector<UserOperator> load_operators(const std::string& library) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw std::invalid_argument(dlerror());
  const auto* first = static_cast<const thalweg_operator* const*>(dlsym(handle, "thalweg_operators"));
  std::vector<UserOperator> found;
  for (const thalweg_operator* entry = first ? *first : nullptr; entry != nullptr; entry = entry->next) {
    if (!std::has_single_bit(entry->bytes) || entry->bytes > 16)
      throw std::invalid_argument(std::string("operator ") + entry->name +
                                  ": an element has 1, 2, 4, 8 or 16 bytes, not " + std::to_string(entry->bytes));
    if (entry->latency < 1 || entry->latency > kMaxLatency)
      throw std::invalid_argument(std::string("operator ") + entry->name + ": a unit takes 1 to " +
                                  std::to_string(kMaxLatency) + " cycles, not " + std::to_string(entry->latency));
    found.insert(found.begin(), {entry->name, entry->bytes, entry->latency, entry->combine});
  }
  if (found.size() > kMaxUserOperators)
    throw std::invalid_argument(std::to_string(found.size()) + " operators; the switches have codes for " +
                                std::to_string(kMaxUserOperators));
  if (found.empty()) throw std::invalid_argument("there is no THALWEG_OPERATOR in it");
  return found;
}

}  // namespace thalweg
