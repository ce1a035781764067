// SPDX-License-Identifier: Apache-2.0
#include "bisim/bisim.hpp"
#include "blocks/peach2/packets.hpp"
#include "blocks/random_port.hpp"
#include "peach2/control.hpp"

namespace {

using thalweg::peach2::BusBeat, thalweg::peach2::Control;
using top::Inputs, top::Outputs, top::Parameters;

class Twin {
 public:
  void outputs(const Inputs& in, Outputs& out) const {
    out.register_ready_o.set(control_.ready(in.window_ready_i.get() != 0, in.command_ready_i.get() != 0));
    out.register_data_o.set(control_.data());
    out.window_valid_o.set(control_.window().has_value());
    if (control_.window()) {
      out.window_index_o.set(control_.window()->first);
      blocks::put_window(out.window_o, control_.window()->second);
    }
    out.start_valid_o.set(control_.start().has_value());
    if (control_.start()) out.start_address_o.set(*control_.start());
    const auto& command = control_.command();
    out.command_valid_o.set(command.has_value());
    if (command) {
      out.command_abort_o.set(command->abort);
      out.command_purge_o.set(command->purge);
      out.command_owners_o.set(command->owners);
      out.command_timeout_o.set(command->timeout);
    }
    out.chain_valid_o.set(control_.chain().has_value());
    if (control_.chain()) out.chain_address_o.set(*control_.chain());
    out.kept_o.set(control_.kept());
    out.setup_valid_o.set(control_.setup().has_value());
    if (!control_.setup()) return;
    const auto& [context, setup] = *control_.setup();
    out.setup_context_o.set(context);
    out.setup_beats_o.set(setup.beats);
    out.setup_operation_o.set(static_cast<std::uint64_t>(setup.op));
    out.setup_datatype_o.set(static_cast<std::uint64_t>(setup.type));
    out.setup_record_o.set(setup.record);
    out.setup_tree_o.set(setup.tree);
  }
  void step(const Inputs& in) {
    const BusBeat beat{true, in.register_address_i.get(), in.register_data_i.get(),
                       static_cast<std::uint32_t>(in.register_enable_i.get())};
    Control::In now{.write = in.register_write_i.get() ? &beat : nullptr,
                    .address = in.register_address_i.get(),
                    .window_taken = in.window_ready_i.get() != 0,
                    .command_taken = in.command_ready_i.get() != 0,
                    .start_taken = in.start_ready_i.get() != 0,
                    .chain_taken = in.chain_ready_i.get() != 0,
                    .dropped = in.dropped_i.get() != 0};
    if (in.done_valid_i.get()) now.done = static_cast<unsigned>(in.done_context_i.get());
    if (in.stray_valid_i.get()) now.stray = in.stray_address_i.get();
    if (in.event_valid_i.get())
      now.event = Control::Event{static_cast<unsigned>(in.event_place_i.get()),
                                 static_cast<std::uint32_t>(in.event_count_i.get()), blocks::get_note(in.event_note_i)};
    control_.step(now);
  }

 private:
  Control control_{{.windows = Parameters::Windows, .contexts = Parameters::Contexts, .starts = Parameters::Starts}};
};

/// Existing and missing registers, whole and by halves. Lanes: the bus, the receivers of windows and starts, events.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 3;

  explicit Stimulus(bisim::Dice run)
      : writes_(run.pick(500, 100)),
        starts_(run.pick(20, 300)),
        ready_(run.pick(1000, 500, 20)),
        begins_(run.pick(1000, 20, 2)),  // separate: a receiver that delays windows delays writes and thus starts
        often_(run.pick(10, 300)) {}

  void drive(const Outputs&, const bisim::Draws& draws, Inputs& next) {
    static constexpr unsigned kFirst[] = {0, 64, 80, 128, 144, 148, 160};
    bisim::Dice bus = draws.lane(0), takers = draws.lane(1), happens = draws.lane(2);
    next.register_write_i.set(bus.chance(writes_));
    next.register_address_i.set(bus.chance(starts_) ? 64  // so many that some find no room
                                : bus.chance(900)   ? kFirst[bus.below(7)] + bus.below(5)
                                                    : bus.below(256));
    next.register_enable_i.set(bus.chance(900) ? bus.pick(0xFFFF, 0xFF, 0xFF00) : bus.below(65536));
    blocks::fill(next.register_data_i, bus);
    next.window_ready_i.set(takers.chance(ready_));
    next.command_ready_i.set(takers.chance(ready_));
    next.start_ready_i.set(takers.chance(begins_));
    next.chain_ready_i.set(takers.chance(ready_));
    next.done_valid_i.set(happens.chance(often_));
    next.done_context_i.set(happens.below(Parameters::Contexts));
    next.dropped_i.set(happens.chance(often_));
    next.stray_valid_i.set(happens.chance(often_));
    blocks::fill(next.stray_address_i, happens);
    next.event_valid_i.set(happens.chance(often_));
    next.event_place_i.set(happens.below(Control::kSources));
    next.event_count_i.set(happens.below(65536));
    blocks::fill(next.event_note_i, happens);
  }

 private:
  unsigned writes_, starts_, ready_, begins_, often_;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
