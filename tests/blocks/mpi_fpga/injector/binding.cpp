// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>
#include <optional>

#include "bisim/bisim.hpp"
#include "blocks/random_port.hpp"
#include "link/flow.hpp"
#include "mpi_fpga/injector.hpp"
#include "thalweg_mpi_fpga_spec.hpp"

namespace {

using top::Inputs, top::Outputs, top::Parameters;
namespace network_header = thalweg::mpi_fpga::spec::network_header;

constexpr unsigned kSources = Parameters::Sources, kRows = Parameters::Rows, kEdges = Parameters::Edges,
                   kVcs = Parameters::Vcs;
constexpr auto kFlow = Parameters::Credits ? thalweg::FlowControl::credits : thalweg::FlowControl::margin;

class Twin {
 public:
  Twin() {
    injector_ = thalweg::mpi_fpga::Injector(kSources);
    flow_.fill(thalweg::FlowSender(kFlow, Parameters::PeerFlits));
  }

  void outputs(const Inputs& in, Outputs& out) const {
    const Turn turn = next(in);
    out.credit_ready_o.set(turn.what == What::credit && turn.goes);
    out.single_ready_o.set(turn.what == What::single && turn.goes);
    out.src_ready_o.set(0);
    out.src_again_o.set(0);
    out.src_edge_o.set(0);
    if (turn.what == What::packet && turn.goes) {
      out.src_ready_o.set_bit(turn.source);
      out.src_again_o.set_bit(turn.source, turn.flit.tail && (turn.edges & (turn.edges - 1)));
      if (turn.edges) out.src_edge_o.set(static_cast<unsigned>(std::countr_zero(turn.edges)));
    }
    out.out_valid_o.set(shown_.has_value());
    if (shown_) out.out_flit_o.set(*shown_);
  }

  void step(const Inputs& in) {
    const Turn turn = next(in);
    shown_.reset();
    if (turn.what == What::packet && !injector_.sending()) {
      begin(injector_, in);
      head_ = true;
    }
    if (turn.goes) {
      shown_ = turn.flit;
      flow_[turn.flit.vc].send();
      if (turn.what == What::packet) {
        head_ = false;
        if (turn.flit.tail) {
          injector_.end();
          const std::uint64_t left = turn.edges & (turn.edges - 1);
          sent_[turn.source] = left ? ~left : 0;
        }
      }
    }
    for (unsigned vc = 0; vc < kVcs; ++vc) {
      const bool back = in.out_back_i.bit(vc);
      if (Parameters::Credits ? back : back != back_[vc]) flow_[vc].event();
      back_[vc] = back;
    }
    if (in.edge_valid_i.get())
      far_ends_[in.edge_row_i.get() * kEdges + in.edge_index_i.get()] = {
          static_cast<std::uint16_t>(in.edge_neighbour_i.get()), static_cast<std::uint8_t>(in.edge_there_i.get()),
          static_cast<unsigned>(in.edge_vc_i.get())};
  }

 private:
  struct FarEnd {
    std::uint16_t neighbour;
    std::uint8_t there;
    unsigned vc;
  };
  enum class What : std::uint8_t { nothing, credit, single, packet };
  struct Turn {
    What what = What::nothing;
    unsigned source = 0;
    std::uint64_t edges = 0;  ///< to which the packet has not been sent
    top::flit_t flit{};
    bool goes = false;
  };

  static void begin(thalweg::mpi_fpga::Injector& injector, const Inputs& in) {
    injector.begin(in.src_valid_i.get(), in.src_valid_i.get() & in.src_urgent_i.get());
  }

  [[nodiscard]] Turn next(const Inputs& in) const {
    Turn turn;
    thalweg::mpi_fpga::Injector injector = injector_;
    if (!injector.sending() && in.credit_valid_i.get()) {
      turn.what = What::credit;
      const FarEnd& far = far_ends_[in.credit_row_i.get() * kEdges + in.credit_edge_i.get()];
      turn.flit = {.data = thalweg::mpi_fpga::spec::Credit{.destination = far.neighbour,
                                                           .context = static_cast<std::uint8_t>(in.credit_row_i.get()),
                                                           .collective = thalweg::mpi_fpga::spec::Collective::barrier,
                                                           .edge = far.there,
                                                           .last = true,
                                                           .count = static_cast<std::uint16_t>(in.credit_count_i.get())}
                               .pack(),
                   .vc = far.vc,
                   .head = true,
                   .tail = true};
    } else if (!injector.sending() && in.single_valid_i.get()) {
      turn.what = What::single;
      turn.flit = {.data = in.single_data_i.get(),
                   .vc = static_cast<unsigned>(in.single_vc_i.get()),
                   .head = true,
                   .tail = true};
    } else {
      const bool begins = !injector.sending();
      if (begins && in.src_valid_i.get()) begin(injector, in);
      turn.source = injector.source();
      if (!injector.sending() || !in.src_valid_i.bit(turn.source)) return turn;
      turn.what = What::packet;
      turn.edges = in.src_edges_i.get(turn.source) & ~sent_[turn.source];
      turn.flit = {.data = in.src_data_i.get(turn.source),
                   .vc = static_cast<unsigned>(in.src_vc_i.get(turn.source)),
                   .head = begins || head_,
                   .tail = in.src_last_i.bit(turn.source)};
      if (in.src_edges_i.get(turn.source)) {
        const auto k = static_cast<unsigned>(std::countr_zero(turn.edges));
        const FarEnd& far = far_ends_[in.src_row_i.get(turn.source) * kEdges + k];
        turn.flit.vc = far.vc;
        if (turn.flit.head)
          turn.flit.data[0] =
              network_header::with_edge(network_header::with_destination(turn.flit.data[0], far.neighbour), far.there);
      }
    }
    turn.goes = flow_[turn.flit.vc].ready();
    return turn;
  }

  thalweg::mpi_fpga::Injector injector_;
  std::array<thalweg::FlowSender, kVcs> flow_;
  std::array<bool, kVcs> back_{};
  std::array<FarEnd, kRows * kEdges> far_ends_{};
  std::array<std::uint64_t, kSources>
      sent_{};  ///< edges to which the packet has been sent, and edges outside its destinations
  bool head_ = false;
  std::optional<top::flit_t> shown_;
};

/// Loads the table; then packets for no, one, or several edges, words with pauses, sometimes credits and single flits,
/// and a receiver that stalls. A flit's highest byte identifies its source. Lanes: the table, credits, single flits,
/// the receiver, and each source.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 4 + kSources;

  explicit Stimulus(bisim::Dice run)
      : load_(run.pick(900, 100, 1000)),
        pause_(run.pick(0, 200)),
        singles_(run.pick(30, 300, 0)),
        stall_(run.pick(0, 300, 900)),
        longest_(run.pick(8, 1, 2)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    if (seen.out_valid_o.get()) sent(seen.out_flit_o.get());
    bisim::Dice table = draws.lane(0), credits = draws.lane(1), singles = draws.lane(2), receiver = draws.lane(3);
    give_back(next, receiver);
    if (loaded_ < kRows * kEdges) return load(next, table);

    if (!credit_ && credits.chance(singles_)) {
      credit_ = true;
      credit_row_ = credits.below(kRows);
      credit_edge_ = credits.below(kEdges);
      credit_count_ = credits.below(1U << 16);
    }
    next.credit_valid_i.set(credit_);
    next.credit_row_i.set(credit_row_);
    next.credit_edge_i.set(credit_edge_);
    next.credit_count_i.set(credit_count_);

    if (!single_ && singles.chance(singles_)) {
      single_ = true;
      blocks::fill(single_data_, singles);
      bisim::put_bits(single_data_.words, 248, 8, 0xFF);
      single_vc_ = singles.below(kVcs);
    }
    next.single_valid_i.set(single_);
    next.single_data_i = single_data_;
    next.single_vc_i.set(single_vc_);

    for (unsigned s = 0; s < kSources; ++s) {
      bisim::Dice dice = draws.lane(4 + s);
      offer(next, s, dice);
    }
  }

 private:
  struct Source {
    bool there = false, offered = false, urgent = false;
    unsigned length = 0, at = 0, row = 0, vc = 0;
    std::uint64_t edges = 0, left = 0;
    std::array<std::uint64_t, 4> word{};
  };

  void load(Inputs& next, bisim::Dice& dice) {
    next.edge_valid_i.set(1);
    next.edge_row_i.set(loaded_ / kEdges);
    next.edge_index_i.set(loaded_ % kEdges);
    next.edge_neighbour_i.set(dice.below(1U << 16));
    next.edge_there_i.set(dice.below(32));
    next.edge_vc_i.set(dice.below(kVcs));
    ++loaded_;
  }

  void offer(Inputs& next, unsigned s, bisim::Dice& dice) {
    Source& source = sources_[s];
    if (!source.there && dice.chance(load_)) {
      source = {.there = true,
                .urgent = dice.chance(200),
                .length = 1 + dice.below(longest_),
                .row = dice.below(kRows),
                .vc = dice.below(kVcs)};
      const unsigned edges = dice.below(4);
      for (unsigned i = 0; i < edges; ++i) source.edges |= std::uint64_t{1} << dice.below(kEdges);
      source.left = source.edges;
    }
    if (source.there && !source.offered && !dice.chance(pause_)) {
      source.offered = true;
      for (auto& part : source.word) part = std::uint64_t{dice.bits()} << 32 | dice.bits();
      source.word[3] = source.word[3] << 8 >> 8 | std::uint64_t{s + 1} << 56;
    }
    next.src_valid_i.set_bit(s, source.offered);
    next.src_data_i.set(source.word, s);
    next.src_last_i.set_bit(s, source.at + 1 == source.length);
    next.src_urgent_i.set_bit(s, source.urgent);
    next.src_row_i.set(source.row, s);
    next.src_edges_i.set(source.edges, s);
    next.src_vc_i.set(source.vc, s);
  }

  void sent(const top::flit_t& flit) {
    ++unreturned_[flit.vc];
    const auto from = static_cast<unsigned>(flit.data[3] >> 56);
    if (from == 0) {
      credit_ = false;
    } else if (from == 0xFF) {
      single_ = false;
    } else {
      Source& source = sources_[from - 1];
      source.offered = false;
      if (++source.at < source.length) return;
      source.at = 0;
      source.left &= source.left - 1;
      if (source.left == 0) source.there = false;
    }
  }

  void give_back(Inputs& next, bisim::Dice& dice) {
    for (unsigned vc = 0; vc < kVcs; ++vc) {
      const bool stalls = dice.chance(stall_);
      if constexpr (Parameters::Credits) {
        if (stalls || unreturned_[vc] == 0) continue;
        --unreturned_[vc];
        next.out_back_i.set_bit(vc);
      } else {
        next.out_back_i.set_bit(vc, stalls);
      }
    }
  }

  unsigned load_, pause_, singles_, stall_, longest_;
  unsigned loaded_ = 0;
  bool credit_ = false, single_ = false;
  unsigned credit_row_ = 0, credit_edge_ = 0, credit_count_ = 0, single_vc_ = 0;
  decltype(Inputs::single_data_i) single_data_{};
  std::array<Source, kSources> sources_;
  std::array<unsigned, kVcs> unreturned_{};
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
