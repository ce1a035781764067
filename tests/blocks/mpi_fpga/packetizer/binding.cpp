// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "bisim/bisim.hpp"
#include "blocks/handshake.hpp"
#include "common/skid.hpp"
#include "mpi_fpga/packetizer.hpp"

namespace {

using top::Inputs, top::Outputs;
namespace spec = thalweg::mpi_fpga::spec;

class Twin {
 public:
  void outputs(const Inputs&, Outputs& out) const {
    out.start_ready_o.set(packetizer_.idle());
    out.in_ready_o.set(packetizer_.wants_word() && out_.ready());
    out.out_valid_o.set(out_.valid());
    if (!out_.valid()) return;
    out.out_data_o.set(out_.front().data);
    out.out_head_o.set(out_.front().head);
    out.out_tail_o.set(out_.front().tail);
  }

  void step(const Inputs& in) {
    const bool idle = packetizer_.idle();
    thalweg::mpi_fpga::FlitPacketizer::Flit flit;
    const bool goes = out_.ready() && !idle && (!packetizer_.wants_word() || in.in_valid_i.get());
    if (goes) flit = packetizer_.next(in.in_data_i.get());
    out_.step(goes ? &flit : nullptr, in.out_ready_i.get() != 0);
    if (!idle || !in.start_valid_i.get()) return;
    thalweg::mpi_fpga::FlitPacketizer::Word descriptor;
    for (unsigned i = 0; i < 4; ++i) descriptor[i] = bisim::get_bits(in.start_descriptor_i.words, 64 * i, 64);
    packetizer_.start(descriptor, 1U << in.start_size_i.get());
  }

 private:
  thalweg::mpi_fpga::FlitPacketizer packetizer_;
  thalweg::Skid<thalweg::mpi_fpga::FlitPacketizer::Flit> out_;
};

/// Streams of any type, some longer than the run, with pauses of words and stalls of packets. Lanes: words and flits,
/// and starts.
class Stimulus {
 public:
  static constexpr unsigned kLanes = blocks::Handshake::kLanes + 1;

  explicit Stimulus(bisim::Dice run) : rest_(run.pick(0, 300)), longest_(run.pick(40, 3, 3000)), words_(run) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    words_.drive(seen, draws, next);
    bisim::Dice starts = draws.lane(blocks::Handshake::kLanes);
    if (!starting_ && !starts.chance(rest_)) {
      starting_ = true;
      spec::Descriptor descriptor;
      descriptor.destination = static_cast<std::uint16_t>(starts.bits());
      descriptor.context = static_cast<std::uint8_t>(starts.below(32));
      descriptor.operation = static_cast<spec::Operator>(starts.below(13));
      descriptor.collective = static_cast<spec::Collective>(starts.below(12));
      descriptor.sequence = static_cast<std::uint8_t>(starts.below(4));
      descriptor.edge = static_cast<std::uint8_t>(starts.below(32));
      descriptor.last = starts.chance(500);
      descriptor.type = static_cast<spec::Datatype>(starts.below(kTypes));
      descriptor.root = static_cast<std::uint16_t>(starts.bits());
      descriptor.block = static_cast<std::uint16_t>(starts.bits());
      descriptor.ranks = static_cast<std::uint16_t>(starts.bits());
      descriptor.count = starts.chance(5) ? (std::uint64_t{1} << 48) - 1 : starts.below(longest_);
      const auto packed = descriptor.pack();
      for (unsigned i = 0; i < 4; ++i) bisim::put_bits(descriptor_.words, 64 * i, 64, packed[i]);
      size_ = starts.below(7);
    }
    next.start_valid_i.set(starting_);
    next.start_descriptor_i = descriptor_;
    next.start_size_i.set(size_);
    if (seen.start_ready_o.get()) starting_ = false;
  }

 private:
  static constexpr unsigned kTypes = static_cast<unsigned>(spec::datatype_names.size());

  unsigned rest_, longest_;
  blocks::Handshake words_;
  bool starting_ = false;
  decltype(Inputs::start_descriptor_i) descriptor_{};
  unsigned size_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
