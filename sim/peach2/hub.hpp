// SPDX-License-Identifier: Apache-2.0
// A hub of PEACH2, twin of rtl/peach2/tw_hub.sv: links whose packets go where the windows of their addresses say, a DMA controller,
// and a bus with memory, working RAM, the reduction calculator and the registers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/async_fifo.hpp"
#include "core/clock.hpp"
#include "peach2/bus.hpp"
#include "peach2/bus_bridge.hpp"
#include "peach2/calculator.hpp"
#include "peach2/control.hpp"
#include "peach2/dma_reader.hpp"
#include "peach2/dma_writer.hpp"
#include "peach2/egress.hpp"
#include "peach2/events.hpp"
#include "peach2/ingress.hpp"
#include "switch/stream_switch.hpp"

namespace thalweg::peach2 {

class Hub {
 public:
  struct Config {
    unsigned base = 0;  ///< its GByte
    unsigned windows = 16;
    unsigned packets = 32, units = 256;  ///< that a link's end keeps
    unsigned reads = 16, bus_reads = 4;  ///< under way: of the DMA controller, of the bus
    unsigned ram_bits = 11;
    unsigned contexts = 4, sums = 16, records = 8, latency = 8;
    unsigned starts = 8;
    Clock net, bus;
  };
  /// What comes at a link in a cycle.
  struct LinkIn {
    const HubWord* word = nullptr;
    std::optional<unsigned> credit;  ///< the units of a packet that has left the other end
  };

  Hub(const Config& config, std::uint16_t own)
      : ingresses_(ingresses(config, own)),
        egresses_(egresses(config)),
        reader_(config.reads, own),
        writer_(10 * config.reads + 2, config.reads, own),
        to_bus_(kCrossingDepth, kStages, config.net, config.bus),
        from_bus_(kCrossingDepth, kStages, config.bus, config.net),
        loads_(kFewDepth, kStages, config.bus, config.net),
        starts_(kFewDepth, kStages, config.bus, config.net),
        tells_(kFewDepth, kStages, config.net, config.bus),
        bridge_(config.bus_reads, own),
        bus_(
            {.ram_bits = config.ram_bits, .contexts = config.contexts, .sums = config.sums, .records = config.records}),
        calculator_(
            {.contexts = config.contexts, .sums = config.sums, .latency = config.latency, .records = config.records}),
        control_({.windows = config.windows, .contexts = config.contexts, .starts = config.starts}),
        ram_(std::size_t{1} << config.ram_bits) {}

  /// Whom crossings wake: what steps the hub in each of its clocks.
  void bind(Domain& net, ComponentId at_net, Domain& bus, ComponentId at_bus) {
    to_bus_.reader.bind(bus, at_bus);
    tells_.reader.bind(bus, at_bus);
    from_bus_.reader.bind(net, at_net);
    loads_.reader.bind(net, at_net);
    starts_.reader.bind(net, at_net);
  }

  // --- The packets' clock

  [[nodiscard]] const HubWord* out(unsigned link) const { return egresses_[link].out(); }
  /// The units of a packet that has left: its credits go back.
  [[nodiscard]] const std::optional<unsigned>& freed(unsigned link) const { return ingresses_[link].freed(); }

  /// Does an edge of the packets' clock change nothing, as long as nothing comes?
  [[nodiscard]] bool net_idle(Tick cycle) const {
    for (const auto& ingress : ingresses_)
      if (!ingress.idle()) return false;
    for (const auto& egress : egresses_)
      if (!egress.idle()) return false;
    return switch_.idle() && engine_.idle() && reader_.idle() && writer_.idle() && !events_.valid() &&
           !from_bus_.valid(cycle) && !loads_.valid(cycle) && !starts_.valid(cycle);
  }
  /// One edge of the packets' clock; what is shown is taken.
  void step_net(Tick cycle, const std::array<LinkIn, kLinks>& links) {
    const auto shown = [&](unsigned port) { return switch_.valid(port) ? &switch_.front(port) : nullptr; };
    std::array<bool, kPorts> passes;
    std::array<Switch::Offer, kPorts> offers;
    std::array<std::optional<Note>, kPorts + 2> happened;
    for (unsigned p = 0; p < kPorts; ++p) {
      passes[p] = switch_.ready(p);
      if (const auto* word = ingresses_[p].front()) offers[p] = {word, ingresses_[p].to()};
      if (const auto& refused = ingresses_[p].refused())
        happened[p] = {refused->reason, refused->read, refused->address};
    }
    const bool fault = reader_.fault() || writer_.fault();
    if (writer_.finished()) happened[Control::kFinished] = Note{};
    if (fault && !faulty_) happened[Control::kFault] = Note{};
    faulty_ = fault;
    const bool refused = happened[kEngine] && happened[kEngine]->read;

    std::uint32_t taken = 0;
    for (unsigned l = 0; l < kLinks; ++l) {
      if (egresses_[l].ready()) taken |= 1U << l;
      egresses_[l].step(shown(l), links[l].word && links[l].word->last, links[l].credit);
    }
    if (to_bus_.ready(cycle)) {
      taken |= 1U << kBus;
      if (const auto* word = shown(kBus)) to_bus_.push(cycle, *word);
    }
    if (writer_.ready()) taken |= 1U << kEngine;

    std::optional<HubWord> engine, from_bus;
    if (engine_.valid(0)) engine = engine_.front(0);
    const bool engine_taken = ingresses_[kEngine].ready();
    step_engine(cycle, shown(kEngine), engine_taken, refused);
    if (from_bus_.valid(cycle)) from_bus = from_bus_.front();
    if (from_bus && ingresses_[kBus].ready()) from_bus_.pop(cycle);
    switch_.step(offers, taken);

    for (unsigned p = 0; p < kPorts; ++p) {
      const HubWord* word = p < kLinks  ? links[p].word
                            : p == kBus ? (from_bus ? &*from_bus : nullptr)
                            : engine    ? &*engine
                                        : nullptr;
      ingresses_[p].step(word, passes[p]);
    }
    if (loads_.valid(cycle)) {
      for (auto& ingress : ingresses_) ingress.windows().load(loads_.front().first, loads_.front().second);
      loads_.pop(cycle);
    }
    const bool tells = tells_.ready(cycle) && events_.valid();
    if (tells) tells_.push(cycle, events_.front());
    events_.step(happened, tells);
  }

  // --- The bus's clock

  /// What memory is shown, or null.
  [[nodiscard]] const BusBeat* memory() const {
    const auto* beat = bridge_.beat();
    return beat && bus_.target(*beat) == Bus::Target::memory && bus_.memory_takes(*beat) ? beat : nullptr;
  }
  /// Does an edge of the bus's clock change nothing, as long as nothing comes?
  [[nodiscard]] bool bus_idle(Tick cycle) const {
    return bridge_.idle() && bus_.idle() && calculator_.idle() && control_.idle() && !to_bus_.valid(cycle) &&
           !tells_.valid(cycle);
  }
  /// One edge of the bus's clock. `ready`: memory takes what it is shown; `reply`: that of memory, or null.
  void step_bus(Tick cycle, bool ready, const Word<128>* reply) {
    const BusBeat* beat = bridge_.beat();
    const bool window_taken = loads_.ready(cycle);
    const Bus::Ready takers{ready, calculator_.ready(), control_.ready(window_taken)};
    const bool taken = beat && bus_.takes(*beat, takers);
    const auto target = beat ? bus_.target(*beat) : Bus::Target::none;
    const auto answer = bus_.reply();
    const bool writes = beat && beat->write;

    Control::In control{.write = writes && target == Bus::Target::registers ? beat : nullptr,
                        .address = beat ? beat->address : 0,
                        .window_taken = window_taken,
                        .start_taken = starts_.ready(cycle),
                        .done = calculator_.done(),
                        .dropped = calculator_.stray(),
                        .stray = bus_.stray()};
    if (tells_.valid(cycle)) {
      const auto& told = tells_.front();
      control.event = Control::Event{told.place, told.count, told.note.reason, told.note.read, told.note.address};
      tells_.pop(cycle);
    }
    const auto setup = control_.setup();
    const auto window = control_.window();
    const auto start = control_.start();
    const auto& at_calculator = calculator_.data();
    bus_.step(beat, takers, {{at_calculator[0], at_calculator[1]}, ram_read_, control_.data()}, reply);
    const std::uint64_t address = beat ? beat->address : 0;
    Calculator::Beat operand{bus_.context(address), bus_.place(address), {}};
    if (beat) operand.data = {beat->data[0], beat->data[1], 0, 0};
    calculator_.step(setup, writes && target == Bus::Target::calculator ? &operand : nullptr, operand.context,
                     bus_.record(address));
    if (beat) ram_read_ = ram_[bus_.ram(address)];
    if (writes && target == Bus::Target::ram) write(ram_[bus_.ram(address)], *beat);
    if (window && window_taken) loads_.push(cycle, *window);
    if (start && control.start_taken) starts_.push(cycle, *start);
    control_.step(control);

    const bool goes_out = from_bus_.ready(cycle);
    if (const auto* word = bridge_.out(); word && goes_out) from_bus_.push(cycle, *word);
    std::optional<HubWord> word;
    if (to_bus_.valid(cycle)) word = to_bus_.front();
    if (word && bridge_.ready()) to_bus_.pop(cycle);
    bridge_.step(word ? &*word : nullptr, goes_out, taken, answer ? &*answer : nullptr);
  }

  /// Puts the enabled bytes of a beat where it says.
  static void write(Word<128>& to, const BusBeat& beat) {
    for (unsigned i = 0; i < 16; ++i) {
      if (!(beat.enable >> i & 1)) continue;
      const std::uint64_t mask = std::uint64_t{0xFF} << i % 8 * 8;
      to[i / 8] = (to[i / 8] & ~mask) | (beat.data[i / 8] & mask);
    }
  }

 private:
  static constexpr unsigned kCrossingDepth = 16, kFewDepth = 8, kStages = 2;

  struct Note {
    Refusal reason{};
    bool read = false;
    std::uint64_t address = 0;
  };
  using Switch = StreamSwitch<HubWord, kPorts, kPorts>;
  using EngineSwitch = StreamSwitch<HubWord, 2, 1>;
  using HubEvents = Events<Note, kPorts + 2>;

  static std::vector<Ingress> ingresses(const Config& config, std::uint16_t own) {
    std::vector<Ingress> made;
    for (unsigned p = 0; p < kPorts; ++p)
      made.emplace_back(Ingress::Config{.port = p,
                                        .reads = p == kNorth || p == kEngine,
                                        .answers = p == kNorth || p == kBus,
                                        .words = p < kLinks ? (5 * config.packets + config.units) / 2 : 20,
                                        .packets = p < kLinks ? config.packets : 8,
                                        .windows = config.windows,
                                        .base = config.base},
                        own);
    return made;
  }
  static std::vector<Egress> egresses(const Config& config) {
    std::vector<Egress> made;
    for (unsigned l = 0; l < kLinks; ++l)
      made.emplace_back(
          Egress::Config{.rate = l == kSouth ? 32u : 16u, .packets = config.packets, .units = config.units});
    return made;
  }

  void step_engine(Tick cycle, const HubWord* completion, bool out_taken, bool refused) {
    const auto read = reader_.out();
    const auto chunk = reader_.chunk();
    const bool read_taken = engine_.ready(0), write_taken = engine_.ready(1);
    DmaReader::In in{.out_ready = read_taken, .written = writer_.written(), .refused = refused};
    if (writer_.descriptor()) in.descriptor = spec::DmaDescriptor::unpack(*writer_.descriptor());
    if (starts_.valid(cycle)) {
      in.start = starts_.front();
      if (reader_.ready()) starts_.pop(cycle);
    }
    engine_.step({EngineSwitch::Offer{read ? &*read : nullptr, 0}, EngineSwitch::Offer{writer_.out(), 0}}, out_taken);
    writer_.step(completion, chunk ? &*chunk : nullptr, write_taken);
    reader_.step(in);
  }

  std::vector<Ingress> ingresses_;
  std::vector<Egress> egresses_;
  Switch switch_;
  DmaReader reader_;
  DmaWriter writer_;
  EngineSwitch engine_;
  HubEvents events_;
  bool faulty_ = false;

  AsyncFifo<HubWord> to_bus_, from_bus_;
  AsyncFifo<std::pair<unsigned, Window>> loads_;
  AsyncFifo<std::uint64_t> starts_;
  AsyncFifo<HubEvents::Event> tells_;

  BusBridge bridge_;
  Bus bus_;
  Calculator calculator_;
  Control control_;
  std::vector<Word<128>> ram_;
  Word<128> ram_read_{};
};

}  // namespace thalweg::peach2
