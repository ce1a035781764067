// SPDX-License-Identifier: Apache-2.0
#include "mpi_fpga/user_operators.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <bit>
#include <stdexcept>

#include "reduce/include/thalweg_operator.hpp"
#include "reduce/include/thalweg_unit.hpp"

namespace thalweg::mpi_fpga {
namespace {

constexpr unsigned kMaxLatency = 1024;  // the same limit as for built-in operators

// Collectives whose packets pass user-defined units. An all-to-all's packets bypass the slots and pass none.
constexpr std::array kMoving = {spec::Collective::broadcast, spec::Collective::gather, spec::Collective::scatter,
                                spec::Collective::allgather};

void check_form(const std::string& what, std::size_t bytes, unsigned latency) {
  if (!std::has_single_bit(bytes) || bytes > 16)
    throw std::invalid_argument(what + ": an element has 1, 2, 4, 8 or 16 bytes, not " + std::to_string(bytes));
  if (latency < 1 || latency > kMaxLatency)
    throw std::invalid_argument(what + ": a unit takes 1 to " + std::to_string(kMaxLatency) + " cycles, not " +
                                std::to_string(latency));
}

template <class Entry>
const Entry* first_of(void* library, const char* list) {
  const auto* first = static_cast<const Entry* const*>(dlsym(library, list));
  return first ? *first : nullptr;
}

std::vector<UserOperator> operators_of(void* library) {
  std::vector<UserOperator> found;
  for (auto entry = first_of<thalweg_operator>(library, "thalweg_operators"); entry != nullptr; entry = entry->next) {
    check_form(std::string("operator ") + entry->name, entry->bytes, entry->latency);
    found.insert(found.begin(), {entry->name, entry->bytes, entry->latency, entry->combine});
  }
  if (found.size() > kMaxUserOperators)
    throw std::invalid_argument(std::to_string(found.size()) + " operators; the switches have codes for " +
                                std::to_string(kMaxUserOperators));
  return found;
}

/// The units of an operator or a collective.
UserUnits& units_of(CollectiveConfig& config, const thalweg_unit& unit, const std::string& what) {
  const auto own = std::ranges::find(config.operators, unit.owner, &UserOperator::name);
  if (own != config.operators.end()) {
    if (own->bytes == unit.bytes) return own->units;
    throw std::invalid_argument(what + ": its elements have " + std::to_string(unit.bytes) + " bytes, the operator's " +
                                std::to_string(own->bytes));
  }
  const auto moving =
      std::ranges::find(kMoving, unit.owner, [](spec::Collective collective) { return spec::name(collective); });
  if (moving == kMoving.end())
    throw std::invalid_argument(
        what + ": unknown name; must be an operator of the files, broadcast, gather, scatter or allgather");
  if (unit.bytes > 8)
    throw std::invalid_argument(what + ": an element of a collective's blocks has 1, 2, 4 or 8 bytes, not 16");
  return config.units[static_cast<std::uint8_t>(*moving)];
}

}  // namespace

const UserUnits* user_units(const CollectiveConfig& config, spec::Collective collective, spec::Operator op) {
  if (const UserOperator* own = user_operator(config, op)) return &own->units;
  const auto found = config.units.find(static_cast<std::uint8_t>(collective));
  return found == config.units.end() ? nullptr : &found->second;
}

void load_operators(CollectiveConfig& config, const std::string& file) {
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::invalid_argument(dlerror());
  config.operators = operators_of(library);
  config.units.clear();
  const thalweg_unit* units = first_of<thalweg_unit>(library, "thalweg_units");
  for (const thalweg_unit* entry = units; entry != nullptr; entry = entry->next) {
    const std::string what = std::string(entry->after ? "THALWEG_AFTER(" : "THALWEG_BEFORE(") + entry->owner + ")";
    check_form(what, entry->bytes, entry->latency);
    UserUnits& pair = units_of(config, *entry, what);
    (entry->after ? pair.after : pair.before) = {entry->bytes, entry->latency, entry->map};
  }
  if (config.operators.empty() && units == nullptr)
    throw std::invalid_argument("it contains no THALWEG_OPERATOR, THALWEG_BEFORE or THALWEG_AFTER");
}

}  // namespace thalweg::mpi_fpga
