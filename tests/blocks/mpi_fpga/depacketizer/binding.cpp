// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "bisim/bisim.hpp"
#include "blocks/random_port.hpp"
#include "common/skid.hpp"
#include "mpi_fpga/depacketizer.hpp"

namespace {

using thalweg::mpi_fpga::Packetizer;
using top::Inputs, top::Outputs;

class Twin {
 public:
  void outputs(const Inputs&, Outputs& out) const {
    out.in_ready_o.set(!depacketizer_.draining() && out_.ready());
    out.out_valid_o.set(out_.valid());
    if (!out_.valid()) return;
    out.out_data_o.set(out_.front().data);
    out.out_bytes_o.set(out_.front().bytes);
    out.out_last_o.set(out_.front().last);
  }

  void step(const Inputs& in) {
    const bool ready = out_.ready();
    if (ready && !depacketizer_.draining() && in.in_valid_i.get()) {
      const Packetizer layout(in.in_wide_i.get() ? 16 : 1, thalweg::mpi_fpga::kFlitBytes);
      depacketizer_.take(in.in_data_i.get(), in.in_head_i.get(), in.in_tail_i.get(), layout,
                         in.in_bytes_i.get() / layout.element_bytes());
    }
    const auto part = ready ? depacketizer_.next() : std::nullopt;
    out_.step(part ? &*part : nullptr, in.out_ready_i.get() != 0);
  }

 private:
  thalweg::mpi_fpga::FlitDepacketizer depacketizer_;
  thalweg::Skid<thalweg::mpi_fpga::FlitDepacketizer::Part> out_;
};

/// Packets of a power of two of flits, full or not, with pauses and stalls. Lanes: flits, the receiver.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 2;

  explicit Stimulus(bisim::Dice run)
      : pause_(run.pick(0, 100, 700)), stall_(run.pick(0, 100, 700)), longest_(run.pick(7, 1, 3)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice flits = draws.lane(0), receiver = draws.lane(1);
    if (!waiting_ && !flits.chance(pause_)) {
      waiting_ = true;
      if (left_ == 0) {
        wide_ = flits.chance(300);
        left_ = 1U << flits.below(longest_);
        length_ = left_;
        const unsigned room = thalweg::mpi_fpga::kFlitBytes * left_ - (wide_ ? 16 : 8);
        bytes_ = flits.chance(300) ? room : flits.below(room + 1);
        if (wide_) bytes_ = bytes_ / 16 * 16;
      }
      --left_;
      blocks::fill(data_, flits);
    }
    next.in_valid_i.set(waiting_);
    next.in_data_i = data_;
    next.in_head_i.set(left_ + 1 == length_);
    next.in_tail_i.set(left_ == 0);
    next.in_wide_i.set(wide_);
    next.in_bytes_i.set(bytes_);
    next.out_ready_i.set(!receiver.chance(stall_));
    if (seen.in_ready_o.get()) waiting_ = false;
  }

 private:
  unsigned pause_, stall_, longest_;
  bool waiting_ = false, wide_ = false;
  unsigned left_ = 0, length_ = 0, bytes_ = 0;
  decltype(Inputs::in_data_i) data_{};
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
