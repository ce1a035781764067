// SPDX-License-Identifier: Apache-2.0
#include "mpi/interposer/operators.hpp"

#include <cstdlib>
#include <sstream>
#include <string>
#include <unordered_map>

namespace thalweg::mpi {
namespace {

spec::Datatype carrier_of(std::size_t bytes) {
  switch (bytes) {
    case 1:
      return spec::Datatype::uint8;
    case 2:
      return spec::Datatype::uint16;
    case 4:
      return spec::Datatype::uint32;
    case 8:
      return spec::Datatype::uint64;
    default:
      return spec::Datatype::complex128;
  }
}

/// Parses THALWEG_OPERATORS, the run's operators as "name bytes name bytes ...", in the order of their codes.
const std::unordered_map<std::string, NetworkOperator>& operators_of_the_run() {
  static const auto* const operators = [] {
    auto* made = new std::unordered_map<std::string, NetworkOperator>;
    const char* list = std::getenv("THALWEG_OPERATORS");
    std::istringstream words(list ? list : "");
    std::string name;
    std::size_t bytes = 0;
    for (auto code = static_cast<unsigned>(spec::Operator::user0); words >> name >> bytes; ++code)
      made->try_emplace(name, NetworkOperator{static_cast<spec::Operator>(code), carrier_of(bytes)});
    return made;
  }();
  return *operators;
}

std::unordered_map<std::uint64_t, NetworkOperator>& named() {
  static auto* const table = new std::unordered_map<std::uint64_t, NetworkOperator>;
  return *table;
}

}  // namespace

std::optional<NetworkOperator> network_operator(MPI_Op op) {
  const auto found = named().find(key_of(op));
  return found == named().end() ? std::nullopt : std::optional(found->second);
}

int on::Op_free(Native native, MPI_Op* op) {
  if (op != nullptr) named().erase(key_of(*op));
  return native();
}

}  // namespace thalweg::mpi

/// Called by thalweg_mpi.h. Returns 1 if the network computes the operation from now on, otherwise 0.
extern "C" [[gnu::visibility("default")]] int thalweg_name_operation(MPI_Op op, const char* name) {
  using namespace thalweg::mpi;
  int commutes = 0;
  if (PMPI_Op_commutative(op, &commutes) != MPI_SUCCESS || !commutes) return 0;
  const auto found = operators_of_the_run().find(name);
  if (found == operators_of_the_run().end()) return 0;
  named().insert_or_assign(key_of(op), found->second);
  return 1;
}
