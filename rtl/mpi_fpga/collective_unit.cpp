// SPDX-License-Identifier: Apache-2.0
// The Verilated tw_collective_unit of a simulated node, loaded by UnitLibrary.
#include <bit>
#include <optional>

#include "Vtop__Syms.h"
#include "common/bits.hpp"
#include "engine/whole.hpp"
#include "mpi_fpga/unit_model.hpp"
#include "top.hpp"

namespace {

using thalweg::mpi_fpga::Row, thalweg::mpi_fpga::UnitModel;
using top::Parameters;

constexpr unsigned kEntries = Parameters::Rows * Parameters::Edges;

template <class Words>
void set_element(Words& words, unsigned i, unsigned bits, std::uint64_t value) {
  const unsigned at = i * bits;
  words[at / 64] |= value << at % 64;
  if (at % 64 + bits > 64) words[at / 64 + 1] |= value >> (64 - at % 64);
}

unsigned log2_of(unsigned number) {
  return static_cast<unsigned>(std::bit_width(number)) - 1;
}

class Model final : public UnitModel, private engine::Whole<Vtop> {
 public:
  explicit Model(unsigned self) : Whole(self) {
    auto& root = *model_.rootp;
    watch(*root.vlSymsp, {
#include "memories.inc"
                         });
    top::load(model_, in_);
    reset();
    do {
      cycle(0);
    } while (!out_.ready_o.get());
    for (unsigned place = 0; place < kEntries; ++place) {
      set_place(place / Parameters::Edges, place % Parameters::Edges, 0);
      cycle(0);
    }
    in_.place_valid_i.set(0);
  }

  [[nodiscard]] Sizes sizes() const override {
    return {Parameters::Rows,  Parameters::Edges, Parameters::Roots, Parameters::Stages,
            Parameters::Links, Parameters::Ports, Parameters::Units, Parameters::SlotFlits};
  }

  void load(const RelayRoutes& routes) override {
    in_.self_i.set(routes.self);
    for (const RelayRoutes::Peer& peer : routes.peers) {
      in_.peer_valid_i.set(1);
      in_.peer_link_i.set(peer.link);
      in_.peer_node_i.set(peer.node);
      in_.peer_port_i.set(peer.port);
      in_.peer_vc_i.set(peer.vc);
      cycle(0);
    }
    in_.peer_valid_i.set(0);
    for (std::size_t node = 0; node < routes.routes.size(); ++node) {
      const thalweg::RouteEntry& entry = routes.routes[node];
      if (node == routes.self || entry.port == thalweg::kNoRoute) continue;
      const bool keeps = entry.route_class == thalweg::kKeepClass;
      in_.table_valid_i.set(1);
      in_.table_index_i.set(node);
      in_.table_entry_i.set(
          {.keep_class = keeps, .route_class = keeps ? 0u : entry.route_class, .last_link = false, .port = entry.port});
      in_.table_layer_i.set(routes.layers.empty() ? 0u : routes.layers[node]);
      cycle(0);
    }
    in_.table_valid_i.set(0);
  }

  void clock(thalweg::Tick now, const UnitModel::Inputs& in, UnitModel::Outputs& out) override {
    set_write(in);
    in_.unload_valid_i.set(in.unload.has_value());
    in_.unload_row_i.set(in.unload.value_or(0));
    set_start(in);
    in_.announce_valid_i.set(in.announce.has_value());
    in_.announce_process_i.set(in.announce.value_or(0));
    in_.host_valid_i.set(in.host);
    thalweg::each_bit(in.host, [&](unsigned unit) { in_.host_data_i.set(in.host_data[unit], unit); });
    in_.result_ready_i.set(in.result_ready);
    in_.in_valid_i.set(in.links);
    thalweg::each_bit(in.links, [&](unsigned link) { in_.in_flit_i.set(wires(in.arrived[link]), link); });
    in_.own_valid_i.set(in.own);
    thalweg::each_bit(in.own, [&](unsigned port) {
      in_.own_data_i.set(in.own_flit[port].data, port);
      in_.own_last_i.set_bit(port, in.own_flit[port].tail);
    });
    for (unsigned port = 0; port < Parameters::Ports; ++port) in_.room_i.set(in.room[port], port);
    for (unsigned port = 0; port < Parameters::Ports; ++port) in_.out_back_i.set(in.back[port], port);
    cycle(now);
    get(out);
  }

  [[nodiscard]] bool idle() const override { return Whole::resting(); }

  void record(const std::string& file) override { begin_waves(file); }

 private:
  static top::flit_t wires(const thalweg::Flit& flit) {
    return {.data = flit.data, .vc = flit.vc, .head = flit.head, .tail = flit.tail};
  }

  void set_place(unsigned row, unsigned edge, unsigned link) {
    in_.place_valid_i.set(1);
    in_.place_row_i.set(row);
    in_.place_edge_i.set(edge);
    in_.place_link_i.set(link);
    in_.place_base_i.set(std::uint64_t{row * Parameters::Edges + edge} * Parameters::SlotFlits);
  }

  void set_write(const UnitModel::Inputs& in) {
    in_.vertex_valid_i.set(in.write && in.write->vertex);
    in_.edge_valid_i.set(in.write && in.write->edge);
    in_.place_valid_i.set(in.write && in.write->edge);
    in_.branch_valid_i.set(in.write && in.write->label);
    if (in.settled) in_.place_row_i.set(*in.settled);
    if (!in.write) return;
    const UnitModel::Write& word = *in.write;
    const Row& row = *word.words;
    if (word.edge) {
      const Row::Edge& edge = row.edges[*word.edge];
      set_place(word.row, *word.edge, word.link);
      in_.edge_row_i.set(word.row);
      in_.edge_index_i.set(*word.edge);
      in_.edge_i.set({.neighbour = edge.neighbour, .there = edge.there, .first = edge.first, .behind = edge.behind});
      in_.edge_vc_i.set(word.vc);
    }
    if (word.label) {
      in_.branch_row_i.set(word.row);
      in_.branch_label_i.set(*word.label);
      in_.branch_up_i.set(row.rooted(*word.label).up);
      in_.branch_down_i.set(row.rooted(*word.label).down);
    }
    if (!word.vertex) return;
    in_.vertex_row_i.set(word.row);
    in_.vertex_i.set({.has_rank = row.has_rank(),
                      .rooted = row.rooted != nullptr,
                      .ring = row.ring(),
                      .ranks = row.ranks,
                      .rank = row.rank & 0xFFFF,
                      .label = row.label,
                      .below = row.below,
                      .up = row.up,
                      .down = row.down,
                      .previous = row.previous,
                      .next = row.next});
    top::exchange_t exchange{.beyond = row.beyond, .stage_count = row.stage_count, .fold = row.fold};
    for (unsigned k = 0; k < thalweg::mpi_fpga::kRankBits; ++k) {
      set_element(exchange.stage_peers, k, 32, row.stages[k].peers);
      set_element(exchange.stage_place, k, 5, row.stages[k].place);
      set_element(exchange.doubling, k, 32, row.doubling[k]);
    }
    in_.exchange_i.set(exchange);
  }

  void set_start(const UnitModel::Inputs& in) {
    in_.start_valid_i.set(in.start.has_value());
    if (!in.start) return;
    const Start& start = *in.start;
    in_.start_operation_i.set(start.operation);
    in_.start_asks_i.set(start.has_processes);
    in_.start_constants_i.set({.collective = static_cast<std::uint64_t>(start.collective),
                               .algorithm = static_cast<std::uint64_t>(start.algorithm),
                               .operation = static_cast<std::uint64_t>(start.op),
                               .type_ = static_cast<std::uint64_t>(start.type),
                               .root = start.root,
                               .size = log2_of(start.element_bytes),
                               .shortest = log2_of(start.shortest),
                               .longest = log2_of(start.longest),
                               .ring = start.ring,
                               .together = start.together,
                               .burst = start.burst,
                               .upwards_first = start.upwards_first});
  }

  void get(UnitModel::Outputs& out) const {
    out.ready = out_.ready_o.get() != 0;
    out.settled = out_.place_settled_o.get() != 0;
    out.take.reset();
    if (out_.take_valid_o.get())
      out.take = {static_cast<std::uint32_t>(out_.take_process_o.get()), static_cast<unsigned>(out_.take_unit_o.get()),
                  1u << out_.take_size_o.get(), static_cast<unsigned>(out_.take_pace_o.get())};
    out.ended.reset();
    if (out_.ended_valid_o.get()) out.ended = static_cast<std::uint32_t>(out_.ended_process_o.get());
    out.results = static_cast<std::uint32_t>(out_.result_valid_o.get());
    out.lasts = static_cast<std::uint32_t>(out_.result_last_o.get());
    thalweg::each_bit(out.results, [&](unsigned unit) {
      const top::result_t tag = out_.result_tag_o.get(unit);
      out.result[unit] = out_.result_data_o.get(unit);
      out.host_result[unit] = {.process = static_cast<std::uint32_t>(tag.process_number),
                               .step = static_cast<unsigned>(tag.step),
                               .round = static_cast<std::uint32_t>(tag.round),
                               .stream = static_cast<std::uint32_t>(tag.stream),
                               .first = tag.first,
                               .elements = tag.elements,
                               .descriptor = tag.descriptor != 0};
    });
    out.own = static_cast<std::uint32_t>(out_.own_ready_o.get());
    out.received = static_cast<std::uint32_t>(out_.came_valid_o.get());
    out.received_lasts = static_cast<std::uint32_t>(out_.came_last_o.get());
    thalweg::each_bit(out.received, [&](unsigned port) { out.received_data[port] = out_.came_data_o.get(port); });
    out.announced = static_cast<std::uint32_t>(out_.announced_valid_o.get());
    thalweg::each_bit(out.announced, [&](unsigned link) {
      out.announcement[link] = {static_cast<unsigned>(out_.announced_context_o.get(link)),
                                static_cast<unsigned>(out_.announced_sequence_o.get(link)),
                                static_cast<unsigned>(out_.announced_source_o.get(link))};
    });
    out.sent = static_cast<std::uint32_t>(out_.out_valid_o.get());
    thalweg::each_bit(out.sent, [&](unsigned port) {
      const top::flit_t flit = out_.out_flit_o.get(port);
      out.flit[port] = {
          .data = flit.data, .vc = static_cast<std::uint8_t>(flit.vc), .head = flit.head != 0, .tail = flit.tail != 0};
    });
  }

  /// Advances one cycle. Outputs are those before the edge, with these inputs.
  void cycle(thalweg::Tick now) { edge(now, top::load(model_, in_)); }
  void before_edge() override { top::store(model_, out_); }

  top::Inputs in_{};
  top::Outputs out_{};
};

}  // namespace

extern "C" thalweg::mpi_fpga::UnitModel* thalweg_make_unit(unsigned self) {
  return new Model(self);
}
