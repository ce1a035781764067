// SPDX-License-Identifier: Apache-2.0
// Collectives that move data: blocks of packed bytes of any datatype that each rank sends and receives.
#pragma once

#include "mpi/interposer/collectives.hpp"

namespace thalweg::mpi {

/// A rank's send or receive data in a collective: blocks of its memory, in the order of their owners.
class Blocks {
 public:
  /// Adds `count` elements, starting `first` elements after `buffer`.
  void add(const void* buffer, MPI_Count first, MPI_Count count, MPI_Datatype type) {
    place(buffer, first, 0, count, type);
  }
  /// The same, starting `offset` bytes after `buffer`.
  void add_at_byte(const void* buffer, MPI_Count offset, MPI_Count count, MPI_Datatype type) {
    place(buffer, 0, offset, count, type);
  }
  /// Adds a block for each of `ranks` ranks.
  template <class Count, class Displacement>
  void add_all(const void* buffer, const Count* counts, const Displacement* displacements, MPI_Datatype type,
               int ranks) {
    for (int i = 0; i < ranks; ++i)
      add(buffer, static_cast<MPI_Count>(displacements[i]), static_cast<MPI_Count>(counts[i]), type);
  }
  /// Adds a block that is in place already and is not copied.
  void leave(MPI_Count count, MPI_Datatype type) {
    wrong_ = wrong_ || count < 0 || !usable(type);
    if (!wrong_) blocks_.push_back({nullptr, count, Layout(type), true});
  }

  /// True if MPI rejects an argument.
  [[nodiscard]] bool wrong() const { return wrong_; }
  [[nodiscard]] std::size_t count() const { return blocks_.size(); }
  [[nodiscard]] std::uint64_t bytes(std::size_t block) const {
    return blocks_[block].layout.bytes(blocks_[block].count);
  }
  [[nodiscard]] std::uint64_t bytes() const;
  /// Offset and size of each packed block, in bytes.
  [[nodiscard]] std::vector<mpi_fpga::Block> extents() const;
  /// A copy that remains valid after the program frees its datatypes.
  [[nodiscard]] Blocks kept() const;

  int copy_in(std::byte* to) const;
  int copy_out(const std::byte* from) const;

 private:
  struct Block {
    void* at = nullptr;
    MPI_Count count = 0;
    Layout layout;
    bool stays = false;
  };
  void place(const void* buffer, MPI_Count first, MPI_Count offset, MPI_Count count, MPI_Datatype type);

  std::vector<Block> blocks_;
  bool wrong_ = false;
};

/// A rank's arguments of a collective that moves blocks. Equal contiguous blocks form one block of `send` or `receive`; a
/// v-form has one block per rank.
struct Movement {
  spec::Collective collective = spec::Collective::broadcast;
  Pattern pattern = Pattern::broadcast;
  int root = 0;
  std::uint64_t bytes = 0;  ///< of a block, if all are equal
  Blocks send{}, receive{};
};
int move(Native native, MPI_Comm comm, Movement movement, Form form);

/// True if the `count` elements at `own` are those starting `first` elements after `all`, and MPI rejects that.
bool aliased(const void* own, MPI_Count count, MPI_Datatype own_type, const void* all, MPI_Count first,
             MPI_Datatype type);

namespace on {

using spec::Collective;

int Bcast(Native native, void* buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm, Form form = {});
int Gather(Native native, const void* send, MPI_Count send_count, MPI_Datatype send_type, void* receive,
           MPI_Count receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm, Form form = {});
int Allgather(Native native, const void* send, MPI_Count send_count, MPI_Datatype send_type, void* receive,
              MPI_Count receive_count, MPI_Datatype receive_type, MPI_Comm comm, Form form = {});
int Scatter(Native native, const void* send, MPI_Count send_count, MPI_Datatype send_type, void* receive,
            MPI_Count receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm, Form form = {});
int Alltoall(Native native, const void* send, MPI_Count send_count, MPI_Datatype send_type, void* receive,
             MPI_Count receive_count, MPI_Datatype receive_type, MPI_Comm comm, Form form = {});

template <class Count, class Displacement>
int Gatherv(Native native, const void* send, MPI_Count send_count, MPI_Datatype send_type, void* receive,
            const Count* counts, const Displacement* displacements, MPI_Datatype type, int root, MPI_Comm comm,
            Form form = {}) {
  const OwnRank own(comm);
  if (own.apart) return apart(native, comm, form);
  Movement movement{Collective::gather, Pattern::gather_list, root};
  const bool at_root = own.rank == root;
  if (at_root) movement.receive.add_all(receive, counts, displacements, type, own.size);
  if (at_root && send == MPI_IN_PLACE)
    movement.send.add(receive, static_cast<MPI_Count>(displacements[root]), static_cast<MPI_Count>(counts[root]), type);
  else
    movement.send.add(send, 0, send_count, send_type);
  if (at_root && counts[root] != 0 &&
      aliased(send, send_count, send_type, receive, static_cast<MPI_Count>(displacements[root]), type))
    return native();
  return move(native, comm, std::move(movement), form);
}

template <class Count, class Displacement>
int Scatterv(Native native, const void* send, const Count* counts, const Displacement* displacements, MPI_Datatype type,
             void* receive, MPI_Count receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm,
             Form form = {}) {
  const OwnRank own(comm);
  if (own.apart) return apart(native, comm, form);
  Movement movement{Collective::scatter, Pattern::scatter_list, root};
  const bool at_root = own.rank == root;
  if (at_root) movement.send.add_all(send, counts, displacements, type, own.size);
  if (at_root && receive == MPI_IN_PLACE)
    movement.receive.leave(static_cast<MPI_Count>(counts[root]), type);
  else
    movement.receive.add(receive, 0, receive_count, receive_type);
  if (at_root && counts[root] != 0 &&
      aliased(receive, receive_count, receive_type, send, static_cast<MPI_Count>(displacements[root]), type))
    return native();
  return move(native, comm, std::move(movement), form);
}

template <class Count, class Displacement>
int Allgatherv(Native native, const void* send, MPI_Count send_count, MPI_Datatype send_type, void* receive,
               const Count* counts, const Displacement* displacements, MPI_Datatype type, MPI_Comm comm,
               Form form = {}) {
  const OwnRank own(comm);
  if (own.apart) return apart(native, comm, form);
  Movement movement{Collective::allgather, Pattern::allgather_list};
  movement.receive.add_all(receive, counts, displacements, type, own.size);
  if (send == MPI_IN_PLACE)
    movement.send.add(receive, static_cast<MPI_Count>(displacements[own.rank]),
                      static_cast<MPI_Count>(counts[own.rank]), type);
  else
    movement.send.add(send, 0, send_count, send_type);
  if (counts[own.rank] != 0 &&
      aliased(send, send_count, send_type, receive, static_cast<MPI_Count>(displacements[own.rank]), type))
    return native();
  return move(native, comm, std::move(movement), form);
}

template <class Count, class Displacement>
int Alltoallv(Native native, const void* send, const Count* send_counts, const Displacement* send_displacements,
              MPI_Datatype send_type, void* receive, const Count* counts, const Displacement* displacements,
              MPI_Datatype type, MPI_Comm comm, Form form = {}) {
  const OwnRank own(comm);
  if (own.apart) return apart(native, comm, form);
  Movement movement{Collective::alltoall, Pattern::alltoall_list};
  movement.receive.add_all(receive, counts, displacements, type, own.size);
  if (send == MPI_IN_PLACE)
    movement.send = movement.receive;
  else
    movement.send.add_all(send, send_counts, send_displacements, send_type, own.size);
  if (send_counts == counts && aliased(send, 1, send_type, receive, 0, type)) return native();
  return move(native, comm, std::move(movement), form);
}

/// Displacements are in bytes.
template <class Count, class Displacement>
int Alltoallw(Native native, const void* send, const Count* send_counts, const Displacement* send_displacements,
              const MPI_Datatype* send_types, void* receive, const Count* counts, const Displacement* displacements,
              const MPI_Datatype* types, MPI_Comm comm, Form form = {}) {
  const OwnRank own(comm);
  if (own.apart) return apart(native, comm, form);
  Movement movement{Collective::alltoall, Pattern::alltoall_list};
  const auto fill = [&](Blocks& side, const void* buffer, const Count* count, const Displacement* at,
                        const MPI_Datatype* type) {
    for (int i = 0; i < own.size; ++i)
      side.add_at_byte(buffer, static_cast<MPI_Count>(at[i]), static_cast<MPI_Count>(count[i]),
                       count[i] == 0 ? MPI_BYTE : type[i]);
  };
  fill(movement.receive, receive, counts, displacements, types);
  if (send == MPI_IN_PLACE)
    movement.send = movement.receive;
  else
    fill(movement.send, send, send_counts, send_displacements, send_types);
  if (send_counts == counts && send_types == types && aliased(send, receive)) return native();
  return move(native, comm, std::move(movement), form);
}

}  // namespace on
}  // namespace thalweg::mpi
