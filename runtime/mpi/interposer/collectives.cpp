#include "mpi/interposer/collectives.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "mpi/interposer/operators.hpp"
#include "thalweg_spec.hpp"

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

/// A collective as the network takes it.
struct Offload {
  Collective collective;
  Operator op = Operator::none;
  spec::Datatype type = spec::Datatype::byte;
  int root = 0;
  std::uint64_t count = 0;  ///< elements of a block
  std::uint64_t bytes = 0;  ///< of a block
};

/// Executes it. `fill` copies the own part in, where there is one (`sends`), `empty` the result out: `blocks` blocks.
template <class Fill, class Empty>
int in_network(MPI_Comm comm, const Offload& offload, bool sends, std::uint64_t blocks, Fill fill, Empty empty,
               MPI_Request* request) {
  Submission part;
  part.action = Action::collective;
  part.communicator = known(comm)->number;
  part.collective = static_cast<std::uint8_t>(offload.collective);
  part.op = static_cast<std::uint8_t>(offload.op);
  part.type = static_cast<std::uint8_t>(offload.type);
  part.root = static_cast<std::uint32_t>(offload.root);
  part.count = offload.count;
  part.bytes = offload.bytes;
  Piece sent(sends ? offload.bytes : 0);
  Piece received(blocks * offload.bytes);
  if (sends) {
    if (const int error = fill(sent.data())) return error;
    part.send = sent.offset();
  }
  if (blocks != 0) part.receive = received.offset();
  if (request == nullptr) {
    process().call(part);
    return blocks != 0 ? empty(received.data()) : MPI_SUCCESS;
  }
  auto made = std::make_unique<Request>();
  made->communicator = comm;
  made->post = [part]() mutable { return process().post(part); };
  made->finish = [=, pieces = std::make_shared<std::array<Piece, 2>>(std::array{std::move(sent), std::move(received)})](
                     const Reply&) { return Outcome{.error = blocks != 0 ? empty((*pieces)[1].data()) : MPI_SUCCESS}; };
  *request = make_request(std::move(made));
  return MPI_SUCCESS;
}

/// A non-blocking collective may outlive the program's datatype.
Layout layout_for(MPI_Datatype type, const MPI_Request* request) {
  return request == nullptr ? Layout(type) : Layout(type).kept();
}

/// Why a communicator's collectives are not in the network, where they are not.
Reason without_row(const CommunicatorInfo& communicator) {
  if (communicator.between) return Reason::intercommunicator;
  return communicator.in_network ? Reason::none : Reason::no_row;
}

struct Reduction {
  Reason reason = Reason::none;
  std::array<char, kDetail> detail{};
  Operator op = Operator::none;
  spec::Datatype type = spec::Datatype::byte;
};

std::string name_of(MPI_Datatype type) {
  char name[MPI_MAX_OBJECT_NAME] = {};
  int length = 0;
  PMPI_Type_get_name(type, name, &length);
  return name;
}

/// What the network makes of a reduction; the same on all ranks, as MPI wants op and type to be.
Reduction reduction(MPI_Op op, const Layout& layout) {
  Reduction made;
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

bool refused(MPI_Count count, MPI_Datatype type, int root, const CommunicatorInfo* communicator) {
  return count < 0 || type == MPI_DATATYPE_NULL || root < 0 || root >= communicator->size;
}

/// Reduce (with a root) and allreduce (without).
int reduce(Native native, const void* send, void* receive, MPI_Count count, MPI_Datatype type, MPI_Op op, int root,
           bool all, MPI_Comm comm, MPI_Request* request) {
  const CommunicatorInfo* communicator = known(comm);
  if (communicator == nullptr) return request ? native() : process().outside(native);
  if (!communicator->between && (refused(count, type, root, communicator) || op == MPI_OP_NULL)) return native();
  if (communicator->size == 1 && !communicator->between) return native();
  const Layout layout(type);
  if (layout.bytes(count) == 0) return native();
  Reduction made = reduction(op, layout);
  if (made.reason == Reason::none) made.reason = without_row(*communicator);
  if (made.reason != Reason::none)
    return in_software(
        native, comm,
        {all ? Pattern::allreduce : Pattern::reduce, made.reason, made.detail.data(), layout.bytes(count), root},
        request);
  const bool receives = all || communicator->rank == root;
  const void* own = send == MPI_IN_PLACE ? receive : send;
  // As they lie in memory, gaps included: so are the hardware's elements laid out.
  const std::uint64_t bytes = layout.span(count);
  return in_network(
      comm,
      {all ? Collective::allreduce : Collective::reduce, made.op, made.type, root, bytes / spec::size_of(made.type),
       bytes},
      true, receives ? 1 : 0, [=](std::byte* to) { return std::memcpy(to, own, bytes), MPI_SUCCESS; },
      [=](const std::byte* from) { return std::memcpy(receive, from, bytes), MPI_SUCCESS; }, request);
}

}  // namespace

void meet(const CommunicatorInfo& communicator) {
  Submission part;
  part.action = Action::meet;
  part.communicator = communicator.number;
  process().call(part);
}

int in_software(Native native, MPI_Comm comm, const SoftwareCollective& collective, MPI_Request* request) {
  const CommunicatorInfo* communicator = known(comm);
  if (communicator == nullptr) return request ? native() : process().outside(native);
  if (communicator->size == 1 && !communicator->between) return native();
  if (request == nullptr) meet(*communicator);
  if (const int error = process().natively(native)) return error;
  Submission part;
  part.action = Action::software;
  part.communicator = communicator->number;
  // Between two groups no algorithm is modelled: the members wait for each other.
  part.pattern = communicator->between ? Pattern::none : collective.pattern;
  part.reason = communicator->between ? Reason::intercommunicator : collective.reason;
  part.bytes = collective.bytes;
  part.root = static_cast<std::uint32_t>(std::max(collective.root, 0));
  std::snprintf(part.detail, sizeof part.detail, "%s", collective.detail);
  auto list = std::make_shared<Piece>(collective.list.size() * sizeof(ByteCount));
  if (!collective.list.empty()) {
    std::ranges::copy(collective.list, reinterpret_cast<ByteCount*>(list->data()));
    part.send = list->offset();
    part.count = collective.list.size();
  }
  if (request == nullptr) {
    process().call(part);
    return MPI_SUCCESS;
  }
  auto made = std::make_unique<Request>();
  made->communicator = comm;
  made->native = *request;
  made->post = [part]() mutable { return process().post(part); };
  made->finish = [list](const Reply&) { return Outcome{}; };
  *request = make_request(std::move(made));
  return MPI_SUCCESS;
}

namespace on {

int Barrier(Native native, MPI_Comm comm, MPI_Request* request) {
  const CommunicatorInfo* communicator = known(comm);
  if (communicator == nullptr) return request ? native() : process().outside(native);
  if (communicator->size == 1 && !communicator->between) return native();
  if (const Reason reason = without_row(*communicator); reason != Reason::none)
    return in_software(native, comm, {Pattern::barrier, reason}, request);
  const auto nothing = [](auto*) { return MPI_SUCCESS; };
  return in_network(comm, {Collective::barrier}, false, 0, nothing, nothing, request);
}

int Bcast(Native native, void* buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm,
          MPI_Request* request) {
  const CommunicatorInfo* communicator = known(comm);
  if (communicator == nullptr) return request ? native() : process().outside(native);
  if (!communicator->between && (refused(count, type, root, communicator) || communicator->size == 1)) return native();
  const Layout layout = layout_for(type, request);
  const std::uint64_t bytes = layout.bytes(count);
  if (const Reason reason = without_row(*communicator); reason != Reason::none)
    return in_software(native, comm, {Pattern::broadcast, reason, "", bytes, root}, request);
  if (bytes == 0) return native();
  const bool own = communicator->rank == root;
  return in_network(
      comm, {.collective = Collective::broadcast, .root = root, .count = bytes, .bytes = bytes}, own, own ? 0 : 1,
      [=](std::byte* to) { return layout.copy_in(to, buffer, count); },
      [=](const std::byte* from) { return layout.copy_out(buffer, count, from, bytes); }, request);
}

int Reduce(Native native, const void* send, void* receive, MPI_Count count, MPI_Datatype type, MPI_Op op, int root,
           MPI_Comm comm, MPI_Request* request) {
  return reduce(native, send, receive, count, type, op, root, false, comm, request);
}

int Allreduce(Native native, const void* send, void* receive, MPI_Count count, MPI_Datatype type, MPI_Op op,
              MPI_Comm comm, MPI_Request* request) {
  return reduce(native, send, receive, count, type, op, 0, true, comm, request);
}

int Gather(Native native, const void* send, MPI_Count send_count, MPI_Datatype send_type, void* receive,
           MPI_Count receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm, MPI_Request* request) {
  const CommunicatorInfo* communicator = known(comm);
  if (communicator == nullptr) return request ? native() : process().outside(native);
  if (communicator->between) return in_software(native, comm, {Pattern::none, Reason::intercommunicator}, request);
  const bool at_root = communicator->rank == root;
  const bool in_place = send == MPI_IN_PLACE && at_root;
  const MPI_Count count = in_place ? receive_count : send_count;
  const MPI_Datatype type = in_place ? receive_type : send_type;
  if (refused(count, type, root, communicator) || communicator->size == 1) return native();
  if (at_root && refused(receive_count, receive_type, root, communicator)) return native();
  const Layout layout(type);
  const std::uint64_t bytes = layout.bytes(count);
  if (const Reason reason = without_row(*communicator); reason != Reason::none)
    return in_software(native, comm, {Pattern::gather, reason, "", bytes, root}, request);
  if (bytes == 0) return native();
  const auto fill = [&](std::byte* to) {
    return layout.copy_in(
        to, in_place ? layout.at(static_cast<const void*>(receive), communicator->rank * count) : send, count);
  };
  const MPI_Count all = receive_count * communicator->size;
  const Layout whole = at_root ? layout_for(receive_type, request) : layout;
  const auto empty = [=](const std::byte* from) { return whole.copy_out(receive, all, from, whole.bytes(all)); };
  return in_network(comm, {.collective = Collective::gather, .root = root, .count = bytes, .bytes = bytes}, true,
                    at_root ? static_cast<std::uint64_t>(communicator->size) : 0, fill, empty, request);
}

int Allgather(Native native, const void* send, MPI_Count send_count, MPI_Datatype send_type, void* receive,
              MPI_Count receive_count, MPI_Datatype receive_type, MPI_Comm comm, MPI_Request* request) {
  const CommunicatorInfo* communicator = known(comm);
  if (communicator == nullptr) return request ? native() : process().outside(native);
  if (communicator->between) return in_software(native, comm, {Pattern::none, Reason::intercommunicator}, request);
  const bool in_place = send == MPI_IN_PLACE;
  if (refused(receive_count, receive_type, 0, communicator) || communicator->size == 1) return native();
  if (!in_place && refused(send_count, send_type, 0, communicator)) return native();
  const Layout layout = layout_for(receive_type, request);
  const std::uint64_t bytes = layout.bytes(receive_count);
  if (const Reason reason = without_row(*communicator); reason != Reason::none)
    return in_software(native, comm, {Pattern::allgather, reason, "", bytes}, request);
  if (bytes == 0) return native();
  const auto fill = [&](std::byte* to) {
    if (!in_place) return Layout(send_type).copy_in(to, send, send_count);
    return layout.copy_in(to, layout.at(static_cast<const void*>(receive), communicator->rank * receive_count),
                          receive_count);
  };
  const MPI_Count all = receive_count * communicator->size;
  const auto empty = [=](const std::byte* from) { return layout.copy_out(receive, all, from, layout.bytes(all)); };
  return in_network(comm, {.collective = Collective::allgather, .count = bytes, .bytes = bytes}, true,
                    static_cast<std::uint64_t>(communicator->size), fill, empty, request);
}

}  // namespace on
}  // namespace thalweg::mpi
