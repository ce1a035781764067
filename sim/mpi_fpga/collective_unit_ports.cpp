// SPDX-License-Identifier: Apache-2.0
// Ports of the collective unit: packets leave from the fork queues by its local ports, and arrive over the links into
// slots.
#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "common/bits.hpp"
#include "mpi_fpga/collective_unit.hpp"

namespace thalweg::mpi_fpga {

namespace network_header = spec::network_header;

bool CollectiveUnit::can_send(unsigned index, Tick now) const {
  const Port& port = ports_[index];
  if (port.injector.sending()) return port.sender.ready(port.vc);
  if (slots_.tells(index, now)) {
    const Slots::Due due = slots_.next_due(index);
    return port.sender.ready(contexts_[due.row].edges[due.edge].vc);
  }
  if (relay_.credit_due(index)) return port.sender.ready(channel_to(relay_.credit_destination(index)));
  for (std::uint64_t rest = port.waiting; rest; rest &= rest - 1) {
    const auto unit = static_cast<unsigned>(std::countr_zero(rest));
    if (unit == units() ? relay_.offers(index, now) : units_[unit].to_port.front(index).ready <= now) return true;
  }
  return false;
}

/// Selects the packet that the port sends next, round-robin over the units and the relay.
bool CollectiveUnit::begin(Port& port, unsigned index, Tick now) {
  std::uint64_t ready = 0, first = 0;
  Tick soonest = kNever;
  for (std::uint64_t rest = port.waiting; rest; rest &= rest - 1) {
    const auto unit = static_cast<unsigned>(std::countr_zero(rest));
    if (unit == units()) {
      soonest = now;  // known only cycle by cycle
      if (relay_.offers(index, now)) ready |= rest & -rest;
    } else if (const Copies& copies = units_[unit].to_port.front(index); copies.ready <= now) {
      ready |= rest & -rest;
      if (copies.first) first |= rest & -rest;
    } else {
      soonest = std::min(soonest, copies.ready);
    }
  }
  if (!ready) {
    if (soonest > now && !slots_.due(index)) {
      to_send_ &= ~(1u << index);
      early_ |= 1u << index;
      ready_ = std::min(ready_, soonest);
    }
    return false;
  }
  port.injector.begin(ready, first);
  const unsigned source = port.injector.source();
  port.flit = 0;
  if (source == units()) {
    begin_personal(port, index);
    return true;
  }
  const Copies& copies = units_[source].to_port.front(index);
  const auto k = static_cast<unsigned>(std::countr_zero(copies.edges));
  port.edge = &contexts_[copies.context].edges[k];
  port.vc = port.edge->vc;
  port.packet = &pool_[copies.packet];
  port.header = network_header::with_edge(
      network_header::with_destination(port.packet->words[0], static_cast<std::uint16_t>(port.edge->neighbour)),
      port.edge->there);
  return true;
}

void CollectiveUnit::inject(unsigned index, Tick now) {
  Port& port = ports_[index];
  if (!port.sender.open(now)) return;
  if (!port.injector.sending()) {
    if (slots_.tells(index, now)) return send_credit(index, now);
    if (relay_.credit_due(index)) return send_relay_credit(index, now);
    if (!begin(port, index, now)) return;
  }
  if (!port.sender.ready(port.vc)) return;
  Flit& flit = port.sender.send(now, port.vc);
  std::memcpy(flit.data.data(), &port.packet->words[port.flit * 4], sizeof flit.data);
  flit.head = port.flit == 0;
  if (flit.head) flit.data[0] = port.header;
  flit.tail = port.left = ++port.flit == port.packet->flits;
  if (!rtl_) return;
  rtl_->sent(index, flit);
  if (!port.edge && relay_.offers_own(index)) rtl_->own_sent(index);
}

/// Inputs of the hardware's unit for all-to-alls: room at the host, and the next flit of each port's first packet.
void CollectiveUnit::show_personal(Tick now) {
  for (unsigned index = 0; index < ports(); ++index) {
    const Port& port = ports_[index];
    rtl_->room(index, port.host_room);
    const bool goes = relay_.offers(index, now) && relay_.offers_own(index),
               sending = goes && port.injector.sending() && !port.edge;
    const auto id = goes ? std::optional(relay_.offered(index)) : relay_.front(index);
    if (!id) continue;
    const Packet& packet = pool_[*id];
    const unsigned at = sending ? port.flit : 0;
    Flit flit{.head = at == 0, .tail = at + 1 == packet.flits};
    std::memcpy(flit.data.data(), &packet.words[at * 4], sizeof flit.data);
    rtl_->own(index, flit);
  }
}

/// The port's packet has left: completes this copy and, if it was the last, the packet.
void CollectiveUnit::sent(Port& port, unsigned index) {
  const unsigned flits = port.packet->flits;
  port.injector.end();
  if (!port.edge) {
    pool_.release(relay_.offered(index));
    relay_.sent(index);
    port.waiting &= ~(std::uint64_t{1} << units());
  } else {
    Unit& unit = units_[port.injector.source()];
    Copies& copies = unit.to_port.front(index);
    const auto edge = static_cast<unsigned>(std::countr_zero(copies.edges));
    copies.edges &= copies.edges - 1;
    dispatch_.sent(port.injector.source(), copies.context, edge, copies.edges == 0);
    if (copies.edges == 0) {
      pool_.release(copies.packet);
      unit.to_port.pop(index, flits);
      if (unit.to_port.empty(index)) port.waiting &= ~(std::uint64_t{1} << port.injector.source());
    }
    pick_.room_freed();
  }
  port.left = false;
  if (idle(index)) to_send_ &= ~(1u << index);
}

void CollectiveUnit::send_credit(unsigned index, Tick now) {
  Port& port = ports_[index];
  const Slots::Due due = slots_.next_due(index);
  const Edge& edge = contexts_[due.row].edges[due.edge];
  if (!port.sender.ready(edge.vc)) return;
  Flit& flit = port.sender.send(now, edge.vc);
  flit.data = spec::Credit{.destination = static_cast<std::uint16_t>(edge.neighbour),
                           .context = static_cast<std::uint8_t>(due.row),
                           .collective = spec::Collective::barrier,  // any non-zero code: 0 is point to point
                           .edge = edge.there,
                           .last = true,
                           .count = static_cast<std::uint16_t>(due.flits)}
                  .pack();
  flit.head = flit.tail = true;
  if (rtl_) rtl_->sent(index, flit);
  slots_.reported(index);
  if (idle(index)) to_send_ &= ~(1u << index);
}

void CollectiveUnit::receive(unsigned index, Tick now) {
  Link& link = links_[index];
  const Flit* flit = link.sink->receive(now);
  if (!flit) return;
  if (rtl_) rtl_->arrived(index, *flit);
  const unsigned vc = flit->vc;
  if (flit->head) {
    const std::uint64_t head = flit->data[0];
    if (network_header::kind(head) == spec::Kind::credit) {
      if (network_header::collective(head) == spec::Collective::alltoall)
        return relay_.credit(spec::RelayCredit::unpack(flit->data));
      slots_.arrive({static_cast<std::uint8_t>(index), network_header::edge(head), true, network_header::context(head),
                     spec::credit::count(flit->data)});
      return;
    }
    link.incoming[vc] = pool_.take();
    link.received[vc] = 0;
  }
  Packet& packet = pool_[link.incoming[vc]];
  std::memcpy(&packet.words[link.received[vc]++ * 4u], flit->data.data(), sizeof flit->data);
  if (!flit->tail) return;
  packet.flits = link.received[vc];
  arrived(index, packet.words[0], link.incoming[vc]);
}

void CollectiveUnit::arrived(unsigned link, std::uint64_t head, PacketId packet) {
  if (network_header::collective(head) == spec::Collective::alltoall) return receive_personal(link, packet);
  slots_.arrive(
      {static_cast<std::uint8_t>(link), network_header::edge(head), false, network_header::context(head), packet});
}

/// Wakes the processes that wait for this cycle's arrivals. They are tried in the next cycle at the earliest, when the
/// arrival is stored.
void CollectiveUnit::wake() {
  slots_.wake([&](unsigned link, std::uint32_t process) { pick_.link(link, process); });
  stages_.wake([&](unsigned unit, std::uint32_t process) { pick_.stage(unit, process); });
  uploads_.wake([&](std::uint32_t process) { pick_.host(process); });
}

/// Stores this cycle's arrivals, visible to processes in the next.
void CollectiveUnit::keep_arrivals(Tick now) {
  if (std::exchange(awaits_, false)) wake();  // the process that started to wait in this cycle
  slots_.keep(now, [&](PacketId packet) { return unsigned{pool_[packet].flits}; });
  for (const SlotArrival& arrival : slots_.arrivals())
    if (!arrival.credits && network_header::kind(pool_[arrival.value].words[0]) == spec::Kind::descriptor)
      openings_.seek(arrival.row);
  uploads_.keep();
}

}  // namespace thalweg::mpi_fpga
