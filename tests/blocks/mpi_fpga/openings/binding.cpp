// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <optional>
#include <span>

#include "bisim/bisim.hpp"
#include "mpi_fpga/openings.hpp"
#include "thalweg_mpi_fpga_spec.hpp"
#include "thalweg_spec.hpp"

namespace {

using thalweg::mpi_fpga::Openings;
using top::Inputs, top::Outputs, top::Parameters;
namespace spec = thalweg::mpi_fpga::spec;

constexpr unsigned kLinks = Parameters::Links, kRows = Parameters::Rows, kEntries = Parameters::Entries,
                   kEdges = Parameters::Edges;

class Twin {
 public:
  void outputs(const Inputs& in, Outputs& out) const {
    const Openings::Slot at = openings_.scan_position();
    out.scan_row_o.set(at.row);
    out.scan_edge_o.set(at.edge);
    Openings openings = openings_;
    std::optional<std::uint32_t> asked;
    const auto begun = choose(openings, in, asked);
    out.reading_row_o.set(asked.value_or(at.row));
    out.begin_valid_o.set(begun.has_value());
    if (!begun) return;
    out.begin_row_o.set(begun->slot.row);
    out.begin_entry_o.set(begun->entry);
    out.begin_head_o.set(begun->arrival ? head_of(in.in_flit_i.get(links_[*begun->arrival]).data) : in.front_i.get());
  }

  void step(const Inputs& in) {
    std::optional<std::uint32_t> asked;
    choose(openings_, in, asked);
    for (unsigned l = 0; l < kLinks; ++l)
      if (descriptor(in, l)) openings_.seek(slot_of(in.in_flit_i.get(l).data).row);
    if (in.ended_valid_i.get()) openings_.seek(static_cast<std::uint32_t>(in.ended_row_i.get()));
    if (in.row_valid_i.get())
      openings_.load(static_cast<std::uint32_t>(in.row_i.get()), in.row_has_rank_i.get() != 0,
                     static_cast<std::uint32_t>(in.row_tree_i.get()));
  }

 private:
  using Words = std::array<std::uint64_t, 4>;

  [[nodiscard]] static Openings::Slot slot_of(const Words& words) {
    return {spec::network_header::context(words[0]), spec::network_header::edge(words[0])};
  }
  [[nodiscard]] static bool descriptor(const Inputs& in, unsigned link) {
    if (!in.in_valid_i.bit(link)) return false;
    const top::flit_t flit = in.in_flit_i.get(link);
    const spec::Collective collective = spec::network_header::collective(flit.data[0]);
    return flit.head && spec::network_header::kind(flit.data[0]) == spec::Kind::descriptor &&
           collective != spec::Collective::alltoall && collective != spec::Collective::point_to_point;
  }
  [[nodiscard]] static top::head_t head_of(const Words& words) {
    return {.kind = static_cast<std::uint64_t>(spec::network_header::kind(words[0])),
            .sequence_ = spec::network_header::sequence(words[0]),
            .collective = static_cast<std::uint64_t>(spec::network_header::collective(words[0])),
            .algorithm = static_cast<std::uint64_t>(spec::network_header::algorithm(words[0])),
            .operation = static_cast<std::uint64_t>(spec::network_header::operation(words[0])),
            .type_ = static_cast<std::uint64_t>(spec::descriptor::type(words)),
            .root = spec::descriptor::root(words)};
  }
  [[nodiscard]] static Openings::Head what_counts(const top::head_t& head) {
    return {static_cast<spec::Kind>(head.kind), static_cast<unsigned>(head.sequence_),
            static_cast<spec::Algorithm>(head.algorithm)};
  }

  /// `asked`: the row whose readers were queried, if any.
  std::optional<Openings::Begun> choose(Openings& openings, const Inputs& in,
                                        std::optional<std::uint32_t>& asked) const {
    if (in.unload_valid_i.get()) openings.unload(static_cast<std::uint32_t>(in.unload_row_i.get()));
    std::array<Openings::Arrival, kLinks> arrivals;
    unsigned count = 0;
    for (unsigned l = 0; l < kLinks; ++l) {
      if (!descriptor(in, l)) continue;
      const Words words = in.in_flit_i.get(l).data;
      links_[count] = l;
      arrivals[count++] = {slot_of(words), what_counts(head_of(words)), in.in_to_empty_i.bit(l)};
    }
    return openings.choose(
        in.idle_i.get() != 0, std::span(arrivals).first(count),
        in.front_valid_i.get() ? std::optional(what_counts(in.front_i.get())) : std::nullopt,
        [&](Openings::Slot slot) {
          asked = slot.row;
          return in.reading_i.bit(slot.edge);
        },
        [&](std::uint32_t row, std::uint32_t entry) { return in.taken_i.bit(row * kEntries + entry); });
  }

  Openings openings_{kRows, kEntries};
  mutable std::array<unsigned, kLinks> links_{};  ///< of the arrivals
};

/// Lanes: rows; each link; the front; the rest of the unit. Few sequence numbers and edges, so that many operations
/// begin.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 3 + kLinks;

  explicit Stimulus(bisim::Dice run)
      : load_(run.pick(100, 600, 10)),
        readers_(run.pick(200, 0, 800)),
        taken_(run.pick(200, 0, 700)),
        busy_(run.pick(200, 0, 900)),
        ends_(run.pick(50, 500)),
        changes_(run.pick(10, 100)),
        odd_(run.pick(100, 500)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice rows = draws.lane(0), front = draws.lane(1), rest = draws.lane(2);
    if (loaded_ < kRows || rows.chance(changes_)) {
      const unsigned row = loaded_ < kRows ? loaded_++ : rows.below(kRows);
      next.row_valid_i.set(1);
      next.row_i.set(row);
      next.row_has_rank_i.set(rows.chance(300));
      for (unsigned k = 0; k < kEdges; ++k) next.row_tree_i.set_bit(k, rows.chance(500));
    } else if (rows.chance(changes_)) {
      next.unload_valid_i.set(1);
      next.unload_row_i.set(rows.below(kRows));
    }
    for (unsigned l = 0; l < kLinks; ++l) {
      bisim::Dice link = draws.lane(3 + l);
      if (!link.chance(load_)) continue;
      next.in_valid_i.set_bit(l);
      next.in_to_empty_i.set_bit(l, link.chance(700));
      next.in_flit_i.set({.data = words(link), .vc = 0, .head = !link.chance(odd_), .tail = 1}, l);
    }
    if (front.chance(700)) {
      const auto drawn = words(front);
      next.front_valid_i.set(1);
      next.front_i.set({.kind = static_cast<std::uint64_t>(spec::network_header::kind(drawn[0])),
                        .sequence_ = spec::network_header::sequence(drawn[0]),
                        .collective = static_cast<std::uint64_t>(spec::network_header::collective(drawn[0])),
                        .algorithm = static_cast<std::uint64_t>(spec::network_header::algorithm(drawn[0])),
                        .operation = front.below(8),
                        .type_ = front.below(8),
                        .root = front.below(1u << 16)});
    }
    for (unsigned k = 0; k < kEdges; ++k) next.reading_i.set_bit(k, rest.chance(readers_));
    for (unsigned o = 0; o < kRows * kEntries; ++o) next.taken_i.set_bit(o, rest.chance(taken_));
    next.idle_i.set(!rest.chance(busy_));
    next.ended_valid_i.set(rest.chance(ends_));
    next.ended_row_i.set(rest.below(kRows));
    static_cast<void>(seen);
  }

 private:
  [[nodiscard]] std::array<std::uint64_t, 4> words(bisim::Dice& dice) const {
    constexpr std::array kinds = {spec::Kind::descriptor, spec::Kind::descriptor, spec::Kind::data, spec::Kind::credit};
    constexpr std::array collectives = {spec::Collective::allreduce, spec::Collective::broadcast,
                                        spec::Collective::alltoall, spec::Collective::point_to_point};
    auto words = spec::Descriptor{.type = static_cast<spec::Datatype>(dice.below(8)),
                                  .root = static_cast<std::uint16_t>(dice.below(1u << 16))}
                     .pack();
    const std::uint64_t header =
        spec::NetworkHeader{.context = static_cast<std::uint8_t>(dice.below(kRows)),
                            .operation = static_cast<spec::Operator>(dice.below(8)),
                            .algorithm = dice.chance(700) ? spec::Algorithm::tree : spec::Algorithm::exchange,
                            .collective = collectives[dice.chance(odd_) ? dice.below(4) : dice.below(2)],
                            .sequence = static_cast<std::uint8_t>(dice.below(4)),
                            .kind = kinds[dice.chance(odd_) ? dice.below(4) : 0],
                            .edge = static_cast<std::uint8_t>(dice.below(kEdges))}
            .pack();
    words[0] = words[0] >> 48 << 48 | header;
    return words;
  }

  unsigned load_, readers_, taken_, busy_, ends_, changes_, odd_;
  unsigned loaded_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
