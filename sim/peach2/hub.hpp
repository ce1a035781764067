// SPDX-License-Identifier: Apache-2.0
// A hub of PEACH2, C++ model of rtl/peach2/tw_hub.sv: links whose packets are routed by address windows, a DMA controller,
// and a bus with memory, working RAM, the reduction calculator and the registers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
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
#include "peach2/translate.hpp"
#include "switch/stream_switch.hpp"

namespace thalweg::peach2 {

class Hub {
 public:
  struct Config {
    unsigned base = 0;  ///< index of its GByte
    unsigned windows = 16;
    unsigned packets = 32, units = 256;              ///< receive buffer at each end of a link
    unsigned rate = 16, south_rate = 32, scale = 1;  ///< bytes that a link carries in `scale` cycles
    unsigned reads = 16, bus_reads = 4;              ///< maximum outstanding reads of a DMA channel, of a bus lane
    unsigned ram_bits = 11;
    unsigned contexts = 4, sums = 16, records = 8, latency = 8;
    unsigned starts = 8;
    unsigned timeout = 0;  ///< of the DMA controller's reads after reset, in kTimeoutUnit
    Clock net, bus;
  };
  /// Inputs of a link in a cycle.
  struct LinkIn {
    const HubWord* word = nullptr;
    std::optional<unsigned> credit;  ///< units of a packet that has left the other end's buffer
  };

  Hub(const Config& config, std::uint16_t own)
      : ingresses_(ingresses(config, own)),
        egresses_(egresses(config)),
        channels_{Channel(config, own, 0), Channel(config, own, kSideTag)},
        lanes_{Lane(config, own), Lane(config, own)},
        timeout_(config.timeout),
        loads_(kFewDepth, kStages, config.bus, config.net),
        commands_(kFewDepth, kStages, config.bus, config.net),
        tells_(kFewDepth, kStages, config.net, config.bus),
        bus_(
            {.ram_bits = config.ram_bits, .contexts = config.contexts, .sums = config.sums, .records = config.records}),
        calculator_(
            {.contexts = config.contexts, .sums = config.sums, .latency = config.latency, .records = config.records}),
        control_({.windows = config.windows,
                  .contexts = config.contexts,
                  .starts = config.starts,
                  .timeout = config.timeout}),
        ram_(std::size_t{1} << config.ram_bits) {}

  /// Sets the components that step the hub in each clock domain, which clock crossings wake.
  void bind(Domain& net, ComponentId at_net, Domain& bus, ComponentId at_bus) {
    tells_.reader.bind(bus, at_bus);
    loads_.reader.bind(net, at_net);
    commands_.reader.bind(net, at_net);
    for (auto& channel : channels_) channel.starts.reader.bind(net, at_net);
    for (auto& lane : lanes_) {
      lane.to_bus.reader.bind(bus, at_bus);
      lane.from_bus.reader.bind(net, at_net);
    }
  }

  /// End of a chain: completed, aborted by a fault, or dropped because the queue of starts was full (`missed`).
  struct ChainEnd {
    unsigned channel = 0;
    std::uint64_t start = 0;  ///< address of its first descriptor
    bool missed = false;
    std::optional<DmaReader::Fault> fault{};
  };
  /// A contiguous range of dropped beats.
  struct Dropped {
    std::uint64_t address = 0, bytes = 0;
  };
  /// All events since the last report. The registers have only counts and the last event of each kind.
  struct Report {
    std::vector<std::pair<unsigned, Note>> refused;  ///< packets, each with its port
    std::vector<Dropped> strays, untaken;            ///< dropped by the bus, by the calculator
    std::vector<ChainEnd> chains;                    ///< chains started by writes are in order
  };
  /// Returns the events since the last call.
  [[nodiscard]] Report take_report() { return std::exchange(report_, {}); }

  /// Outstanding reads of the DMA controller, one entry per channel that waits.
  [[nodiscard]] std::vector<DmaReader::Unanswered> unanswered() const {
    std::vector<DmaReader::Unanswered> all;
    for (const auto& channel : channels_)
      if (const auto& of = channel.reader.unanswered()) all.push_back(*of);
    return all;
  }

  // --- Packet clock domain

  [[nodiscard]] const HubWord* out(unsigned link) const { return egresses_[link].out(); }
  /// Units of a packet that has left the input buffer, to be returned as credits.
  [[nodiscard]] const std::optional<unsigned>& freed(unsigned link) const { return ingresses_[link].freed(); }

  /// True if, without inputs, an edge of the packet clock changes nothing.
  [[nodiscard]] bool net_idle(Tick cycle) const {
    for (const auto& ingress : ingresses_)
      if (!ingress.idle()) return false;
    for (unsigned l = 0; l < kLinks; ++l)
      if (!egresses_[l].idle() || !inbound_[l].idle() || !outbound_[l].idle()) return false;
    for (const auto& channel : channels_)
      if (!channel.idle(cycle)) return false;
    for (const auto& lane : lanes_)
      if (lane.from_bus.valid(cycle)) return false;
    return switch_.idle() && !events_.valid() && !loads_.valid(cycle) && !commands_.valid(cycle);
  }
  /// One edge of the packet clock. Links must accept out() and freed() of this cycle.
  void step_net(Tick cycle, const std::array<LinkIn, kLinks>& links) {
    const auto shown = [&](unsigned port) { return switch_.valid(port) ? &switch_.front(port) : nullptr; };
    std::array<bool, kPorts> passes;
    std::array<Switch::Offer, kPorts> offers;
    std::array<std::optional<Note>, Control::kSources> happened;
    for (unsigned p = 0; p < kPorts; ++p) {
      passes[p] = switch_.ready(p);
      if (const auto* word = ingresses_[p].front()) offers[p] = {word, ingresses_[p].to()};
      if (const auto& refused = ingresses_[p].refused())
        happened[p] = Note{static_cast<unsigned>(refused->reason), refused->read, refused->source, refused->address};
      if (happened[p]) report_.refused.emplace_back(p, *happened[p]);
    }
    for (unsigned c = 0; c < kChannels; ++c) {
      const DmaReader& reader = channels_[c].reader;
      if (reader.finished()) happened[Control::kFinished + c] = Note{};
      if (const auto& fault = reader.fault())
        happened[Control::kFault + c] = Note{.reason = static_cast<unsigned>(fault->reason), .address = fault->address};
      if (reader.finished() || reader.fault())
        report_.chains.push_back({.channel = c, .start = channels_[c].chain, .fault = reader.fault()});
    }
    Control::Command command;
    const bool commanded = commands_.valid(cycle);
    if (commanded) {
      command = commands_.front();
      commands_.pop(cycle);
    }

    std::uint32_t taken = 0;
    for (unsigned l = 0; l < kLinks; ++l) {
      if (outbound_[l].ready()) taken |= 1U << l;
      const bool goes = egresses_[l].ready();
      egresses_[l].step(outbound_[l].out(), links[l].word && links[l].word->last, links[l].credit);
      outbound_[l].step(shown(l), goes);
    }
    std::array<std::optional<HubWord>, kPorts> inside;  // inputs of the internal ports
    for (unsigned l = 0; l < Bus::kLanes; ++l) {
      const unsigned port = l == 0 ? kBus : kSide;
      auto& [to_bus, from_bus, bridge] = lanes_[l];
      if (to_bus.ready(cycle)) {
        taken |= 1U << port;
        if (const auto* word = shown(port)) to_bus.push(cycle, *word);
      }
      if (!from_bus.valid(cycle)) continue;
      inside[port] = from_bus.front();
      if (ingresses_[port].ready()) from_bus.pop(cycle);
    }
    for (unsigned c = 0; c < kChannels; ++c) {
      const unsigned port = c == 0 ? kEngine : kResults;
      Channel& channel = channels_[c];
      if (channel.writer.ready()) taken |= 1U << port;
      if (channel.out.valid(0)) inside[port] = channel.out.front(0);
      channel.step(
          cycle, shown(port), ingresses_[port].ready(),
          {.abort = (command.abort >> c & 1) != 0, .purge = (command.purge >> c & 1) != 0, .timeout = timeout_});
    }
    switch_.step(offers, taken);

    for (unsigned p = 0; p < kPorts; ++p)
      ingresses_[p].step(p < kLinks ? inbound_[p].out() : inside[p] ? &*inside[p] : nullptr, passes[p], owners_);
    for (unsigned l = 0; l < kLinks; ++l) inbound_[l].step(links[l].word, true);
    if (commanded) {
      owners_ = command.owners;
      timeout_ = command.timeout;
    }
    if (loads_.valid(cycle)) {
      load(loads_.front().first, loads_.front().second);
      loads_.pop(cycle);
    }
    const bool tells = tells_.ready(cycle) && events_.valid();
    if (tells) tells_.push(cycle, events_.front());
    events_.step(happened, tells);
  }

  // --- Bus clock domain

  /// The beat offered to memory, or null.
  [[nodiscard]] const BusBeat* memory() const {
    const auto beats = this->beats();
    const unsigned lane = bus_.lane(beats);
    const auto* beat = beats[lane];
    return beat && bus_.target(*beat) == Bus::Target::memory && bus_.memory_takes(*beat, lane) ? beat : nullptr;
  }
  /// True if, without inputs, an edge of the bus clock changes nothing.
  [[nodiscard]] bool bus_idle(Tick cycle) const {
    for (const auto& lane : lanes_)
      if (!lane.bridge.idle() || lane.to_bus.valid(cycle)) return false;
    return bus_.idle() && calculator_.idle(control_.kept()) && control_.idle() && !tells_.valid(cycle);
  }
  /// Number of beats that the bus has accepted, register reads excepted.
  [[nodiscard]] std::uint64_t beats_taken() const { return beats_; }
  /// One edge of the bus clock. `ready`: memory accepts the offered beat; `reply`: read data of memory, or null.
  void step_bus(Tick cycle, bool ready, const Word<128>* reply) {
    const auto beats = this->beats();
    const unsigned turn = bus_.lane(beats);
    const BusBeat* beat = beats[turn];
    const bool window_taken = loads_.ready(cycle), command_taken = commands_.ready(cycle);
    const Bus::Ready takers{ready, calculator_.ready(), control_.ready(window_taken, command_taken)};
    const bool taken = beat && bus_.takes(*beat, turn, takers);
    const auto target = beat ? bus_.target(*beat) : Bus::Target::none;
    beats_ += taken && (beat->write || target != Bus::Target::registers);
    const auto answer = bus_.reply();
    if (bus_.stray()) drop(report_.strays, *bus_.stray());
    if (calculator_.stray()) drop(report_.untaken, *calculator_.stray_address());
    if (control_.missed()) report_.chains.push_back({.start = *control_.missed(), .missed = true});
    const bool writes = beat && beat->write;

    Control::In control{.write = writes && target == Bus::Target::registers ? beat : nullptr,
                        .address = beat ? beat->address : 0,
                        .window_taken = window_taken,
                        .command_taken = command_taken,
                        .start_taken = channels_[0].starts.ready(cycle),
                        .chain_taken = channels_[1].starts.ready(cycle),
                        .done = calculator_.done(),
                        .dropped = calculator_.stray(),
                        .stray = bus_.stray()};
    if (tells_.valid(cycle)) {
      const auto& notice = tells_.front();
      control.event = Control::Event{notice.place, notice.count, notice.note};
      tells_.pop(cycle);
    }
    const auto setup = control_.setup();
    const auto window = control_.window();
    const auto start = control_.start();
    const auto chain = control_.chain();
    const auto command = control_.command();
    const auto& at_calculator = calculator_.data();
    bus_.step(beats, takers, {{at_calculator[0], at_calculator[1]}, ram_read_, control_.data()}, reply);
    const std::uint64_t address = beat ? beat->address : 0;
    Calculator::Beat operand{bus_.context(address), bus_.place(address), {}, address};
    if (beat) operand.data = {beat->data[0], beat->data[1], 0, 0};
    calculator_.step(setup, writes && target == Bus::Target::calculator ? &operand : nullptr, operand.context,
                     bus_.record(address), control_.kept());
    if (beat) ram_read_ = ram_[bus_.ram(address)];
    if (writes && target == Bus::Target::ram) write(ram_[bus_.ram(address)], *beat);
    if (window && window_taken) loads_.push(cycle, *window);
    if (command && command_taken) commands_.push(cycle, *command);
    if (start && control.start_taken) channels_[0].starts.push(cycle, *start);
    if (chain && control.chain_taken) channels_[1].starts.push(cycle, *chain);
    control_.step(control);

    for (unsigned l = 0; l < Bus::kLanes; ++l) {
      auto& [to_bus, from_bus, bridge] = lanes_[l];
      const bool goes_out = from_bus.ready(cycle);
      if (const auto* word = bridge.out(); word && goes_out) from_bus.push(cycle, *word);
      std::optional<HubWord> word;
      if (to_bus.valid(cycle)) word = to_bus.front();
      if (word && bridge.ready()) to_bus.pop(cycle);
      bridge.step(word ? &*word : nullptr, goes_out, taken && l == turn,
                  answer && answer->lane == l ? &answer->reply : nullptr);
    }
  }

  /// Writes the enabled bytes of a beat to `to`.
  static void write(Word<128>& to, const BusBeat& beat) {
    for (unsigned i = 0; i < 16; ++i) {
      if (!(beat.enable >> i & 1)) continue;
      const std::uint64_t mask = std::uint64_t{0xFF} << i % 8 * 8;
      to[i / 8] = (to[i / 8] & ~mask) | (beat.data[i / 8] & mask);
    }
  }

 private:
  static constexpr unsigned kCrossingDepth = 16, kFewDepth = 8, kStages = 2;

  using Switch = StreamSwitch<HubWord, kPorts, kPorts>;
  using HubEvents = Events<Note, Control::kSources>;

  /// A channel of the DMA controller.
  struct Channel {
    using Out = StreamSwitch<HubWord, 2, 1>;

    Channel(const Config& config, std::uint16_t own, unsigned tag)
        : starts(kFewDepth, kStages, config.bus, config.net),
          reader(config.reads, own, tag),
          writer(config.reads, own, tag) {}

    [[nodiscard]] bool idle(Tick cycle) const {
      return out.idle() && reader.idle() && writer.idle() && !starts.valid(cycle);
    }
    /// `completion`: its input word, or null; `taken`: its output word is accepted; `in`: inputs that do not come from its writer.
    void step(Tick cycle, const HubWord* completion, bool taken, DmaReader::In in) {
      const auto read = reader.out();
      const auto chunk = reader.chunk();
      const bool write_taken = out.ready(1), abandon = reader.abandon(), fetched = reader.fetched();
      in.out_ready = out.ready(0);
      in.written = writer.written();
      in.busy = writer.busy();
      in.answered = writer.answered();
      in.refused = writer.refused();
      in.failed = writer.failed();
      in.quiet = writer.quiet();
      in.waits = writer.waits();
      if (writer.descriptor()) in.descriptor = spec::DmaDescriptor::unpack(*writer.descriptor());
      if (starts.valid(cycle)) {
        in.start = starts.front();
        if (reader.ready()) {
          chain = *in.start;
          starts.pop(cycle);
        }
      }
      out.step({Out::Offer{read ? &*read : nullptr, 0}, Out::Offer{writer.out(), 0}}, taken);
      writer.step(completion, fetched, chunk ? &*chunk : nullptr, write_taken, abandon, reader.forget(in));
      reader.step(in);
    }

    AsyncFifo<std::uint64_t> starts;
    std::uint64_t chain = 0;  ///< first descriptor of the last chain started
    DmaReader reader;
    DmaWriter writer;
    Out out;
  };
  /// A lane of the bus.
  struct Lane {
    Lane(const Config& config, std::uint16_t own)
        : to_bus(kCrossingDepth, kStages, config.net, config.bus),
          from_bus(kCrossingDepth, kStages, config.bus, config.net),
          bridge(config.bus_reads, own) {}

    AsyncFifo<HubWord> to_bus, from_bus;
    BusBridge bridge;
  };

  static std::vector<Ingress> ingresses(const Config& config, std::uint16_t own) {
    std::vector<Ingress> made;
    for (unsigned p = 0; p < kPorts; ++p)
      made.emplace_back(Ingress::Config{.port = p,
                                        .reads = p == kNorth || p == kEngine || p == kResults,
                                        .answers = p == kNorth || p == kBus || p == kSide,
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
      made.emplace_back(Egress::Config{.rate = l == kSouth ? config.south_rate : config.rate,
                                       .scale = config.scale,
                                       .packets = config.packets,
                                       .units = config.units});
    return made;
  }

  /// `number`: of a register.
  void load(unsigned number, const Window& window) {
    if (number < kTranslationRegisters) {
      for (auto& ingress : ingresses_) ingress.windows().load(number, window);
    } else {
      const unsigned at = number - kTranslationRegisters;
      (at % 2 ? outbound_ : inbound_)[at / 2].load(window);
    }
  }

  /// `address`: in beats.
  static void drop(std::vector<Dropped>& to, std::uint64_t address) {
    if (!to.empty() && to.back().address + to.back().bytes == address * 16)
      to.back().bytes += 16;
    else
      to.push_back({address * 16, 16});
  }
  [[nodiscard]] std::array<const BusBeat*, Bus::kLanes> beats() const {
    return {lanes_[0].bridge.beat(), lanes_[1].bridge.beat()};
  }

  std::vector<Ingress> ingresses_;
  std::vector<Egress> egresses_;
  std::vector<Translate> inbound_ = std::vector(kLinks, Translate(true)),
                         outbound_ = std::vector(kLinks, Translate(false));
  Switch switch_;
  std::array<Channel, kChannels> channels_;
  HubEvents events_;

  std::array<Lane, Bus::kLanes> lanes_;
  Report report_;
  std::uint32_t owners_ = 0;  ///< nodes that may write registers
  unsigned timeout_;          ///< time-out for a chain's reads
  AsyncFifo<std::pair<unsigned, Window>> loads_;
  AsyncFifo<Control::Command> commands_;
  AsyncFifo<HubEvents::Event> tells_;

  Bus bus_;
  Calculator calculator_;
  Control control_;
  std::uint64_t beats_ = 0;
  std::vector<Word<128>> ram_;
  Word<128> ram_read_{};
};

}  // namespace thalweg::peach2
