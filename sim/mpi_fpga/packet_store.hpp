// SPDX-License-Identifier: Apache-2.0
// Stores the host's packets for processes until units read them; C++ model of rtl/mpi_fpga/tw_packet_store.sv.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "link/flit.hpp"

namespace thalweg::mpi_fpga {

/// Part of an exported node (docs/export.md); the simulator's host passes packets to the unit directly.
class PacketStore {
 public:
  using Data = decltype(Flit::data);

  PacketStore(unsigned units, std::uint32_t processes, std::uint32_t entries)
      : packets_(entries), queues_(processes), readers_(units) {}

  // Per cycle: `take` and `read` of earlier contents, then `put`.

  /// A unit takes a process's first packet and reads one flit now, then one every `pace` cycles.
  void take(unsigned unit, std::uint32_t process, unsigned flits, unsigned pace) {
    std::deque<std::uint32_t>& queue = queues_.at(process);
    readers_[unit] = {queue.front(), 0, flits, pace, 0};
    freed_.push_back({queue.front(), unit});
    queue.pop_front();
  }
  /// The flit that the unit's memory reads in this cycle, output in the next.
  [[nodiscard]] std::optional<Data> read(unsigned unit) {
    Reader& reader = readers_[unit];
    if (reader.at == reader.flits || reader.wait-- > 0) return std::nullopt;
    reader.wait = reader.pace - 1;
    return packets_[reader.entry].at(reader.at++);
  }
  /// Writes a flit from the host. The packet is available after its last flit.
  void put(std::uint32_t entry, const Data& flit, bool last, std::uint32_t process) {
    std::vector<Data>& packet = packets_.at(entry);
    if (!receiving_) packet.clear();
    receiving_ = !last;
    packet.push_back(flit);
    if (last) queues_.at(process).push_back(entry);
  }

  /// The entry that was taken first, once it has been read.
  [[nodiscard]] std::optional<std::uint32_t> free() const {
    if (freed_.empty()) return std::nullopt;
    const Reader& reader = readers_[freed_.front().unit];
    if (reader.entry == freed_.front().entry && reader.at < reader.flits) return std::nullopt;
    return freed_.front().entry;
  }
  void give_free() { freed_.pop_front(); }

 private:
  struct Reader {
    std::uint32_t entry = 0;
    unsigned at = 0, flits = 0, pace = 1, wait = 0;
  };
  struct Freed {
    std::uint32_t entry;
    unsigned unit;
  };

  std::vector<std::vector<Data>> packets_;  ///< by entry
  std::vector<std::deque<std::uint32_t>> queues_;
  std::vector<Reader> readers_;
  std::deque<Freed> freed_;
  bool receiving_ = false;
};

}  // namespace thalweg::mpi_fpga
