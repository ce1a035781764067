// SPDX-License-Identifier: Apache-2.0
#include "mpi/interposer/movements.hpp"

#include <algorithm>

namespace thalweg::mpi {
namespace {

using spec::Collective;

bool is_vector(Pattern pattern) {
  return pattern == Pattern::gather_list || pattern == Pattern::scatter_list || pattern == Pattern::allgather_list ||
         pattern == Pattern::alltoall_list;
}

/// This rank's list for the software messages of a v-form.
std::vector<ListEntry> list_of(const Movement& movement, bool at_root) {
  std::vector<ListEntry> list;
  switch (movement.pattern) {
    case Pattern::gather_list:
      return {{static_cast<std::uint64_t>(movement.root), at_root ? 0 : movement.send.bytes()}};
    case Pattern::allgather_list:
      return {{0, movement.send.bytes()}};
    case Pattern::scatter_list:
    case Pattern::alltoall_list:
      for (std::size_t i = 0; i < movement.send.count(); ++i) list.push_back({i, movement.send.bytes(i)});
      return list;
    default:
      return list;
  }
}

}  // namespace

std::uint64_t Blocks::bytes() const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < blocks_.size(); ++i) sum += bytes(i);
  return sum;
}

std::vector<mpi_fpga::Block> Blocks::extents() const {
  std::vector<mpi_fpga::Block> made;
  std::uint64_t first = 0;
  for (std::size_t i = 0; i < blocks_.size(); first += bytes(i++)) made.push_back({first, bytes(i)});
  return made;
}

void Blocks::place(const void* buffer, MPI_Count first, MPI_Count offset, MPI_Count count, MPI_Datatype type) {
  const bool again = !blocks_.empty() && blocks_.back().layout.type() == type;
  wrong_ = wrong_ || count < 0 || !(again || usable(type)) || (count > 0 && buffer == MPI_IN_PLACE) ||
           (first == 0 && offset == 0 && absent(buffer, count, type));
  if (wrong_) return;
  const Layout layout = again ? blocks_.back().layout : Layout(type);
  blocks_.push_back({layout.at(static_cast<char*>(const_cast<void*>(buffer)) + offset, first), count, layout});
}

Blocks Blocks::kept() const {
  Blocks copy = *this;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const bool again = i > 0 && blocks_[i].layout.type() == blocks_[i - 1].layout.type();
    copy.blocks_[i].layout = again ? copy.blocks_[i - 1].layout : blocks_[i].layout.kept();
  }
  return copy;
}

int Blocks::copy_in(std::byte* to) const {
  for (const Block& block : blocks_) {
    if (const int error = block.layout.copy_in(to, block.at, block.count)) return error;
    to += block.layout.bytes(block.count);
  }
  return MPI_SUCCESS;
}

int Blocks::copy_out(const std::byte* from) const {
  for (const Block& block : blocks_) {
    const std::uint64_t taken = block.layout.bytes(block.count);
    if (!block.stays)
      if (const int error = block.layout.copy_out(block.at, block.count, from, taken)) return error;
    from += taken;
  }
  return MPI_SUCCESS;
}

bool aliased(const void* own, MPI_Count count, MPI_Datatype own_type, const void* all, MPI_Count first,
             MPI_Datatype type) {
  if (own == MPI_IN_PLACE || all == MPI_IN_PLACE || count == 0 || own_type != type || !usable(type)) return false;
  return aliased(own, static_cast<const std::byte*>(all) + Layout(type).bytes(first));
}

int move(Native native, MPI_Comm comm, Movement movement, Form form) {
  CommunicatorInfo* communicator = known(comm);
  const auto size = static_cast<std::uint64_t>(communicator->size);
  if (size == 1 || refused(movement.root, *communicator) || movement.send.wrong() || movement.receive.wrong())
    return native();
  const bool vector = is_vector(movement.pattern), at_root = communicator->rank == movement.root;
  if (!vector && movement.bytes == 0) return without_data(comm, form);
  if (const Reason reason = outside_network(*communicator, movement.collective, form); reason != Reason::none) {
    const std::uint64_t bytes = vector ? movement.send.bytes() : movement.bytes;
    return in_software(native, comm, {movement.pattern, reason, "", bytes, movement.root, list_of(movement, at_root)},
                       form);
  }
  const auto kept = [&](const Blocks& side) { return form.request == nullptr ? side : side.kept(); };
  Offload offload{.operation = {.collective = movement.collective,
                                .vector = vector,
                                .root = static_cast<std::uint32_t>(movement.root)}};
  offload.send_bytes = movement.send.bytes();
  offload.receive_bytes = movement.receive.bytes();
  offload.operation.count = offload.bytes = movement.bytes;
  if (vector) {
    const bool scatters = movement.collective == Collective::scatter;
    offload.operation.count = scatters ? movement.receive.bytes() : movement.send.bytes();
    for (const Blocks* side : {&movement.send, &movement.receive})
      for (const mpi_fpga::Block& block : side->extents()) offload.bytes = std::max(offload.bytes, block.count);
    if (movement.send.count() == size) offload.send_blocks = movement.send.extents();
    if (movement.receive.count() == size) offload.receive_blocks = movement.receive.extents();
  }
  offload.fill = [side = kept(movement.send)](std::byte* to) { return side.copy_in(to); };
  offload.empty = [side = kept(movement.receive)](const std::byte* from) { return side.copy_out(from); };
  return in_network(comm, std::move(offload), form);
}

namespace on {

int Bcast(Native native, void* buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm, Form form) {
  const OwnRank own(comm);
  if (own.apart) return apart(native, comm, form);
  Movement movement{Collective::broadcast, Pattern::broadcast, root};
  Blocks& side = own.rank == root ? movement.send : movement.receive;
  side.add(buffer, 0, count, type);
  movement.bytes = side.bytes();
  return move(native, comm, std::move(movement), form);
}

int Gather(Native native, const void* send, MPI_Count send_count, MPI_Datatype send_type, void* receive,
           MPI_Count receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm, Form form) {
  const OwnRank own(comm);
  if (own.apart) return apart(native, comm, form);
  Movement movement{Collective::gather, Pattern::gather, root};
  const bool at_root = own.rank == root;
  if (at_root) movement.receive.add(receive, 0, receive_count * own.size, receive_type);
  if (at_root && send == MPI_IN_PLACE)
    movement.send.add(receive, receive_count * root, receive_count, receive_type);
  else
    movement.send.add(send, 0, send_count, send_type);
  if (at_root && send_count == receive_count &&
      aliased(send, send_count, send_type, receive, receive_count * root, receive_type))
    return native();
  movement.bytes = movement.send.bytes();
  return move(native, comm, std::move(movement), form);
}

int Allgather(Native native, const void* send, MPI_Count send_count, MPI_Datatype send_type, void* receive,
              MPI_Count receive_count, MPI_Datatype receive_type, MPI_Comm comm, Form form) {
  const OwnRank own(comm);
  if (own.apart) return apart(native, comm, form);
  Movement movement{Collective::allgather, Pattern::allgather};
  movement.receive.add(receive, 0, receive_count * own.size, receive_type);
  if (send == MPI_IN_PLACE)
    movement.send.add(receive, receive_count * own.rank, receive_count, receive_type);
  else
    movement.send.add(send, 0, send_count, send_type);
  if (send_count == receive_count &&
      aliased(send, send_count, send_type, receive, receive_count * own.rank, receive_type))
    return native();
  movement.bytes = movement.send.bytes();
  return move(native, comm, std::move(movement), form);
}

int Scatter(Native native, const void* send, MPI_Count send_count, MPI_Datatype send_type, void* receive,
            MPI_Count receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm, Form form) {
  const OwnRank own(comm);
  if (own.apart) return apart(native, comm, form);
  Movement movement{Collective::scatter, Pattern::scatter, root};
  const bool at_root = own.rank == root;
  if (at_root) movement.send.add(send, 0, send_count * own.size, send_type);
  if (at_root && receive == MPI_IN_PLACE)
    movement.receive.leave(send_count, send_type);
  else
    movement.receive.add(receive, 0, receive_count, receive_type);
  if (at_root && send_count == receive_count &&
      aliased(receive, receive_count, receive_type, send, send_count * root, send_type))
    return native();
  movement.bytes = movement.receive.bytes();
  return move(native, comm, std::move(movement), form);
}

int Alltoall(Native native, const void* send, MPI_Count send_count, MPI_Datatype send_type, void* receive,
             MPI_Count receive_count, MPI_Datatype receive_type, MPI_Comm comm, Form form) {
  const OwnRank own(comm);
  if (own.apart) return apart(native, comm, form);
  Movement movement{Collective::alltoall, Pattern::alltoall};
  movement.receive.add(receive, 0, receive_count * own.size, receive_type);
  if (send == MPI_IN_PLACE)
    movement.send = movement.receive;
  else
    movement.send.add(send, 0, send_count * own.size, send_type);
  if (send_count == receive_count && aliased(send, send_count, send_type, receive, 0, receive_type)) return native();
  movement.bytes = movement.receive.bytes() / static_cast<std::uint64_t>(own.size);
  return move(native, comm, std::move(movement), form);
}

}  // namespace on
}  // namespace thalweg::mpi
