// SPDX-License-Identifier: Apache-2.0
#include "mpi/interposer/reductions.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "mpi/interposer/operators.hpp"

namespace thalweg::mpi {
namespace {

using spec::Collective;
using spec::Operator;

struct HardwareType {
  spec::Datatype type;
  std::uint16_t operators;  ///< bit o: Operator o reduces it in the network
};

const HardwareType* hardware_type(MPI_Datatype type) {
  static const auto* const table = [] {
    auto* made = new std::unordered_map<std::uint64_t, HardwareType>;
#define THALWEG_MPI_TYPE(name, hardware, operators) \
  made->try_emplace(key_of<MPI_Datatype>(name), HardwareType{spec::Datatype::hardware, operators});
#define THALWEG_MPI_OPERATOR(name, operation)
#include "thalweg_spec_mpi.inc"
#undef THALWEG_MPI_TYPE
#undef THALWEG_MPI_OPERATOR
    made->erase(key_of<MPI_Datatype>(MPI_DATATYPE_NULL));
    return made;
  }();
  const auto found = table->find(key_of(type));
  return found == table->end() ? nullptr : &found->second;
}

Operator hardware_operator(MPI_Op op) {
#define THALWEG_MPI_TYPE(name, hardware, operators)
#define THALWEG_MPI_OPERATOR(name, operation) \
  if (op == name) return Operator::operation;
#include "thalweg_spec_mpi.inc"
#undef THALWEG_MPI_TYPE
#undef THALWEG_MPI_OPERATOR
  return Operator::none;
}

std::string name_of(MPI_Datatype type) {
  char name[MPI_MAX_OBJECT_NAME] = {};
  int length = 0;
  PMPI_Type_get_name(type, name, &length);
  return name;
}

/// A reduction in the network's terms; the same on all ranks, as MPI requires equal op and type.
struct Hardware {
  Reason reason = Reason::none;
  std::array<char, kDetail> detail{};
  Operator op = Operator::none;
  spec::Datatype type = spec::Datatype::byte;
};

Hardware hardware(MPI_Op op, const Layout& layout) {
  Hardware made;
  if (const auto own = network_operator(op)) {
    made.op = own->op;
    made.type = own->carrier;
    if (layout.bytes(1) != layout.span(1) || layout.bytes(1) % spec::size_of(made.type) != 0)
      made.reason = Reason::derived_type;
    return made;
  }
  made.op = hardware_operator(op);
  const HardwareType* type = hardware_type(layout.type());
  std::string detail;
  if (made.op == Operator::none) {
    made.reason = Reason::user_operation;
  } else if (!layout.predefined()) {
    made.reason = Reason::derived_type;
  } else if (type == nullptr) {
    made.reason = Reason::type_not_in_network;
    detail = name_of(layout.type());
  } else if ((type->operators >> static_cast<unsigned>(made.op) & 1) == 0) {
    made.reason = Reason::operation_not_in_network;
    detail = std::string(spec::name(made.op)) + " of " + name_of(layout.type());
  } else {
    made.type = type->type;
  }
  std::snprintf(made.detail.data(), made.detail.size(), "%s", detail.c_str());
  return made;
}

/// True if MPI rejects the arguments.
bool refused(const Reduce& call, const CommunicatorInfo& communicator) {
  const auto negative = [](MPI_Count count) { return count < 0; };
  if (refused(call.root, communicator) || call.op == MPI_OP_NULL || std::ranges::any_of(call.blocks, negative))
    return true;
  const bool at_root = call.collective != Collective::reduce || communicator.rank == call.root;
  const MPI_Count taken = call.blocks.empty() ? call.count : call.blocks[static_cast<std::size_t>(communicator.rank)];
  if (at_root && (error_in(call.receive, taken, call.type) || (call.count > 0 && aliased(call.send, call.receive))))
    return true;
  return !(at_root && call.send == MPI_IN_PLACE) && error_in(call.send, call.count, call.type);
}

}  // namespace

int reduce(Native native, MPI_Comm comm, const Reduce& call, Form form) {
  CommunicatorInfo* communicator = known(comm);
  if (communicator == nullptr) return unfollowed(native, form);
  if (communicator->between) return in_software(native, comm, {Pattern::none, Reason::intercommunicator}, form);
  if (communicator->size == 1 || refused(call, *communicator)) return native();
  const Layout layout(call.type);
  if (layout.bytes(call.count) == 0) return without_data(comm, form);
  Hardware made = hardware(call.op, layout);
  made.reason = outside_network(*communicator, call.collective, form, made.reason);
  const auto blocks = std::max<std::uint64_t>(1, call.blocks.size());
  if (made.reason != Reason::none)
    return in_software(native, comm,
                       {call.pattern, made.reason, made.detail.data(), layout.bytes(call.count) / blocks, call.root},
                       form);
  const auto rank = static_cast<std::size_t>(communicator->rank);
  const MPI_Count count = call.blocks.empty() ? call.count : call.blocks[rank];
  const bool receives = call.collective == Collective::reduce   ? communicator->rank == call.root
                        : call.collective == Collective::exscan ? communicator->rank != 0
                                                                : true;
  // In memory layout, gaps included, which is also the layout of the hardware's elements.
  const std::uint64_t given = layout.span(call.count), taken = receives ? layout.span(count) : 0;
  const auto elements = [&](MPI_Count of) { return layout.span(of) / spec::size_of(made.type); };
  const void* own = call.send == MPI_IN_PLACE ? call.receive : call.send;
  Offload offload{.operation = {.collective = call.collective,
                                .op = made.op,
                                .type = made.type,
                                .root = static_cast<std::uint32_t>(call.root),
                                .count = elements(count)}};
  offload.bytes = layout.span(count);
  offload.send_bytes = given;
  offload.receive_bytes = taken;
  offload.fill = [own, given](std::byte* to) { return std::memcpy(to, own, given), MPI_SUCCESS; };
  offload.empty = [to = call.receive, taken](const std::byte* from) {
    return std::memcpy(to, from, taken), MPI_SUCCESS;
  };
  offload.operation.vector = std::ranges::any_of(call.blocks, [&](MPI_Count other) { return other != count; });
  if (offload.operation.vector) {
    std::uint64_t first = 0;
    for (const MPI_Count block : call.blocks) {
      offload.send_blocks.push_back({first, elements(block)});
      first += elements(block);
    }
    offload.bytes = layout.span(*std::ranges::max_element(call.blocks));
  }
  return in_network(comm, std::move(offload), form);
}

}  // namespace thalweg::mpi
