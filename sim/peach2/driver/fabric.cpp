// SPDX-License-Identifier: Apache-2.0
#include "peach2/driver/fabric.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>

#include "core/microseconds.hpp"
#include "core/require.hpp"
#include "memory/dram_values.hpp"

namespace thalweg::peach2 {
namespace {

constexpr std::uint16_t kEngineOf =
    0x0100;  ///< requester ID of a hub's DMA controller: first device behind the root complex
constexpr std::uint64_t kMostRateCycles = 4096;
constexpr Tick kStride = 1'000;      ///< cycles between two checks of progress
constexpr unsigned kPatience = 250;  ///< strides without progress, while processors poll their hubs, before giving up

/// A number of a node. Throws std::invalid_argument outside of its range, which is that of cluster files.
unsigned within(const Values& values, const char* name, unsigned least, unsigned most) {
  const auto value = values.get<unsigned>(name);
  require(value >= least && value <= most, values.of() + ": " + name + " is " + std::to_string(value) + "; must be " +
                                               std::to_string(least) + " to " + std::to_string(most));
  return value;
}

/// Times and rates of a node in cycles of a clock.
class Cycles {
 public:
  Cycles(const Values& values, double per_second) : values_(values), per_ns_(per_second * 1e-9) {}

  [[nodiscard]] double exact(const char* name) const {
    constexpr double kMostNs = 1e9;
    const auto ns = values_.get<double>(name);
    require(ns >= 0 && ns <= kMostNs,
            values_.of() + ": " + name + " is " + std::to_string(ns) + "; must be 0 to 1e9, a second");
    return ns * per_ns_;
  }
  [[nodiscard]] Tick whole(const char* name) const {
    return std::max<Tick>(1, static_cast<Tick>(std::llround(exact(name))));
  }
  [[nodiscard]] double bytes(const char* name) const {  // from GB/s
    constexpr double kMostGb = 1e3;
    const auto gb = values_.get<double>(name);
    require(gb > 0 && gb <= kMostGb,
            values_.of() + ": " + name + " is " + std::to_string(gb) + "; must be above 0, and at most 1000");
    return gb / per_ns_;
  }

 private:
  const Values& values_;
  double per_ns_;
};

/// Bytes that a lane carries in a number of cycles of the packet clock.
struct LaneRate {
  unsigned bytes = 0, cycles = 0;
};
LaneRate lane_rate(const Values& values, double net_hertz) {
  // 65 times its bytes per second: 2.5 and 5 GT/s with 8b/10b coding, 8 and 16 GT/s with 128b/130b.
  static constexpr std::array<std::uint64_t, 4> kLane{16'250'000'000, 32'500'000'000, 64'000'000'000, 128'000'000'000};
  const std::uint64_t bytes = kLane.at(within(values, "gen", 1, kLane.size()) - 1),
                      cycles = 65 * static_cast<std::uint64_t>(std::llround(net_hertz)),
                      common = std::gcd(bytes, cycles);
  require(cycles / common <= kMostRateCycles, values.of() + ": a lane must carry a whole number of bytes in at most " +
                                                  std::to_string(kMostRateCycles) + " cycles of the packet clock");
  return {static_cast<unsigned>(bytes / common), static_cast<unsigned>(cycles / common)};
}

Hub::Config hub_config(const Values& values, unsigned node, double net_hertz, const Domain& net, const Domain& bus) {
  const auto number = [&](const char* name, unsigned least, unsigned most) {
    return within(values, name, least, most);
  };
  const auto power = [&](const char* name, unsigned most) {
    const unsigned value = number(name, 2, most);
    require(std::has_single_bit(value),
            values.of() + ": " + name + " is " + std::to_string(value) + "; must be a power of two");
    return value;
  };
  const LaneRate lane = lane_rate(values, net_hertz);
  const unsigned sums = power("sums", kMostSums);
  const double timeout = std::ceil(values.get<double>("completion_timeout_us") * (net_hertz / 1e6) / kTimeoutUnit);
  require(timeout >= 0 && timeout <= kMostTimeout, values.of() + ": completion_timeout_us is " +
                                                       std::to_string(timeout) + " x 1,024 cycles; must be 0 to " +
                                                       std::to_string(kMostTimeout));
  return {.base = base_of(node),
          .windows = number("windows", 1, kMostWindows),
          .packets = number("packets", 1, 128),
          .units = number("units", 16, 1024),
          .rate = lane.bytes * number("lanes", 1, 16),
          .south_rate = lane.bytes * number("south_lanes", 1, 16),
          .scale = lane.cycles,
          .reads = number("reads", 2, kMostReads),
          .bus_reads = number("bus_reads", 1, 16),
          .ram_bits = number("ram_bits", 9, 16),
          .contexts = power("contexts", kMostContexts),
          .sums = sums,
          .records = power("records", std::min(sums, kMostRecord)),
          .latency = number("latency", 1, 16),
          .starts = number("starts", 1, 16),
          .timeout = static_cast<unsigned>(timeout),
          .net = net.clock,
          .bus = bus.clock};
}

Node::Config node_config(const Values& values, const Hub::Config& hub, double net_hertz, double bus_hertz) {
  const Cycles net(values, net_hertz), bus(values, bus_hertz);
  Node::Config config;
  config.host_latency = net.whole("host_link_ns");
  config.memory = {
      .commands = within(values, "memory_commands", 1, 64),
      .bank = {.latency = bus.whole("memory_ns"), .dram = dram_of(values, values.get<double>("memory_gb"), bus_hertz)}};
  config.host.packets = hub.packets;
  config.host.units = hub.units;
  config.host.rate = hub.rate;
  config.host.scale = hub.scale;
  for (unsigned m = 0; m < kMemories; ++m) {
    const bool processor = m == kProcessor;
    config.host.memories[m].read_latency = net.exact(processor ? "processor_read_ns" : "gpu_read_ns");
    config.host.memories[m].read_rate = net.bytes(processor ? "processor_read_gb" : "gpu_read_gb");
  }
  config.host.gpu_landing = net.whole("gpu_landing_ns");
  config.processor = {.store = net.whole("store_ns"),
                      .landing = net.whole("landing_ns"),
                      .poll = net.whole("poll_ns"),
                      .copy_start = net.whole("copy_start_ns"),
                      .copy_rate = net.bytes("copy_gb")};
  return config;
}

Wiring wiring_of(const Description& description) {
  Wiring wiring(description.nodes.size());
  for (const auto& link : description.links) {
    wiring.at(link.node_a).at(link.port_a + kEast) = PortOf{link.node_b, link.port_b + kEast};
    wiring.at(link.node_b).at(link.port_b + kEast) = PortOf{link.node_a, link.port_a + kEast};
  }
  return wiring;
}

std::string hex(std::uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

constexpr const char* kPortNames[kPorts] = {"north",   "east",       "west",        "south",
                                            "the bus", "the engine", "the results", "the bus for results"};
std::string who(const Source& source) {
  return "node " + std::to_string(source.node) + "'s " +
         (source.port == kEngine    ? "DMA controller"
          : source.port == kResults ? "DMA controller, for a result,"
                                    : "processor");
}
std::string why(Refusal refusal) {
  static constexpr const char* kReasons[] = {"?",
                                             "outside of all windows",
                                             "to the port where it came in, or to no port",
                                             "across a page's end",
                                             "malformed",
                                             "a read where only writes are allowed",
                                             "after 16 cables: the windows form a loop",
                                             "a register that its host has not opened to that node"};
  return kReasons[static_cast<unsigned>(refusal) % 8];
}
std::string why(ChainFault fault) {
  static constexpr const char* kReasons[] = {"?",
                                             "not a valid descriptor",
                                             "a read was refused",
                                             "a read completion reported an error",
                                             "the chain is too long or cyclic",
                                             "the host aborted it",
                                             "read completion time-out",
                                             "?"};
  return kReasons[static_cast<unsigned>(fault) % 8];
}

std::string place_of(std::uint64_t address) {
  static constexpr const char* kParts[] = {"the processor's memory", "GPU 0", "GPU 1", "the hub"};
  return std::string(kParts[(address >> kMemoryShift) % 4]) + " of node " + std::to_string(address >> kNodeShift);
}

template <class T>
T part(std::span<const std::byte> data, std::size_t at) {
  T value;
  std::memcpy(&value, data.data() + at, sizeof value);
  return value;
}

}  // namespace

Tables tables_of(const Description& description) {
  Tables tables;
  for (const auto& node : description.nodes) {
    const auto& numbers = node.values.get<std::vector<std::int64_t>>("window_table");
    require(numbers.size() % 4 == 0,
            node.values.of() + ": window_table has " + std::to_string(numbers.size()) + " numbers; each window has 4");
    auto& table = tables.emplace_back();
    for (std::size_t at = 0; at < numbers.size(); at += 4) {
      const auto number = [&](std::size_t field) { return static_cast<std::uint32_t>(numbers[at + field]); };
      table.push_back({true, number(0), number(1), number(2), number(3)});
    }
  }
  return tables;
}

std::unique_ptr<HubModel> Fabric::sim_hub(const Hub::Config& config, std::uint16_t own, unsigned, Domain&, Domain&) {
  return std::make_unique<SimHub>(config, own);
}

/// Values collected from the kinds during assembly.
struct Fabric::Parts {
  Hub::Config config;
  std::vector<std::string> pairs;
  Domain* net = nullptr;
  double per_second = 0;
  Kinds kinds;
};

Fabric::Fabric(const Description& description, const Tables& windows, const MakeHub& make_hub)
    : Fabric(description, windows, make_hub, std::make_unique<Parts>()) {}

Fabric::Fabric(const Description& description, const Tables& windows, const MakeHub& make_hub,
               std::unique_ptr<Parts> made)
    : assembly_(description, [&]() -> const Kinds& {
        const auto ticks = static_cast<double>(description.ticks_per_second);
        auto& m = *made;
        m.kinds.nodes["peach2"] = [&m, ticks, &make_hub](const Values& values, unsigned number, const Clocks& clocks) {
          Domain &net = *clocks.at(values.get<std::string>("clock")),
                 &bus = *clocks.at(values.get<std::string>("bus_clock"));
          require(!m.net || m.net == &net, values.of() + ": all hubs must have the same packet clock");
          const double hertz = ticks / static_cast<double>(net.clock.period);
          m.net = &net;
          m.per_second = hertz;
          m.config = hub_config(values, number, hertz, net, bus);
          m.pairs = values.get<std::vector<std::string>>("pairs");
          return std::make_unique<Node>(
              node_config(values, m.config, hertz, ticks / static_cast<double>(bus.clock.period)), number,
              make_hub(m.config, kEngineOf, number, net, bus), net, bus);
        };
        m.kinds.links["pcie"] = [&m](const Values& values, LinkPort& a, LinkPort& b, const Clocks&) {
          return std::make_unique<Cable>(Cycles(values, m.per_second).whole("latency_ns"), dynamic_cast<Node::Port&>(a),
                                         dynamic_cast<Node::Port&>(b));
        };
        return m.kinds;
      }()) {
  config_ = made->config;
  pairs_ = std::move(made->pairs);
  net_ = made->net;
  cycles_per_second_ = made->per_second;
  wiring_ = wiring_of(description);
  require(nodes() <= kMostNodes,
          "the address map supports " + std::to_string(kMostNodes) + " nodes, not " + std::to_string(nodes()));
  load(windows);
  run();
  start_ = net_->scheduler.now();
}

void Fabric::load(const Tables& tables) {
  require(tables.size() == nodes(),
          "windows are for " + std::to_string(tables.size()) + " hubs; there are " + std::to_string(nodes()));
  for (unsigned n = 0; n < nodes(); ++n) {
    require(tables[n].size() <= config_.windows, "hub " + std::to_string(n) + " has " +
                                                     std::to_string(config_.windows) + " windows; " +
                                                     std::to_string(tables[n].size()) + " are needed");
    for (unsigned i = 0; i < config_.windows; ++i) {
      const auto value = register_of(i < tables[n].size() ? tables[n][i] : Window{});
      const auto bytes = std::as_bytes(std::span(value));
      node(n).processor().store(register_address(n, kWindowRegisters + i), {bytes.begin(), bytes.end()});
    }
  }
}

Processor::Then Fabric::completes(Handle handle, bool last) {
  gave_up_ = false;
  return [this, handle, last](Tick cycle) {
    ended_.push_back({handle, (cycle - start_) * net_->clock.period, last});
    assembly_.time().interrupt();
  };
}

std::uint64_t Fabric::progress() {
  std::uint64_t all = 0;
  for (unsigned n = 0; n < nodes(); ++n) all += node(n).moved() + node(n).processor().ended();
  return all;
}

Tick Fabric::settled() {
  Tick last = 0;
  for (unsigned n = 0; n < nodes(); ++n) last = std::max(last, node(n).hub().settling().rests());
  return last;
}

bool Fabric::works() {
  for (unsigned n = 0; n < nodes(); ++n)
    if (node(n).processor().works()) return true;
  return false;
}

void Fabric::look() {
  const std::uint64_t all = progress();
  still_ = all == seen_ && !works() ? still_ + 1 : 0;
  gave_up_ = still_ > kPatience;
  if (all != seen_) moved_ = assembly_.time().now();
  seen_ = all;
  if (between_) between_();
}

bool Fabric::idle() const {
  return ended_.empty() && (gave_up_ || (rests_ && assembly_.time().next_due() == kNever));
}

void Fabric::advance(Tick until, std::vector<Completion>& completed) {
  auto& time = assembly_.time();
  const Tick end = until == kNever ? kNever : start() + until, stride = kStride * net_->clock.period;
  while (ended_.empty() && !idle() && time.now() < end) {
    if (std::exchange(rests_, false)) {
      begin_ = look_ = moved_ = time.now();
      seen_ = progress();
      still_ = 0;
    }
    if (look_ <= time.now()) {
      if (time.next_due() == kNever) {
        const Tick late = std::max<Tick>(0, settled() - look_);
        const Tick rest = std::max(look_ + (late + stride - 1) / stride * stride, moved_ + 2 * stride);
        time.advance(std::min(std::max(time.now(), rest), end));
        rests_ = time.now() >= rest;
        continue;
      }
      const Tick due = std::max(time.now(), time.next_due());
      look_ = due + stride - (due - begin_) % stride;
    }
    time.advance(std::min(look_, end));
    if (time.now() >= look_) look();
  }
  if (ended_.empty() && end != kNever) time.advance(std::max(time.now(), end));
  completed.insert(completed.end(), ended_.begin(), ended_.end());
  ended_.clear();
}

void Fabric::run() {
  std::vector<Completion> completed;
  while (!idle()) advance(kNever, completed);
  check_ended();
}

void Fabric::check_ended() {
  auto waits = blocked();
  if (gave_up_ || !waits.empty()) throw stuck(std::move(waits));
}

std::vector<Lost> Fabric::lost() const {
  std::vector<Lost> all;
  for (const auto& [what, count] : lost_) all.push_back({what.first, what.second, count});
  return all;
}

Report Fabric::report() {
  Report made;
  for (unsigned n = 0; n < nodes(); ++n) report(n, made);
  return made;
}

void Fabric::report(unsigned node, Report& to) {
  const std::string hub = "hub " + std::to_string(node) + " ";
  const auto of_hub = this->node(node).hub().take_report();
  const auto drop = [&](const char* what, std::uint64_t count, Loss loss) {
    lost_[{node, what}] += count;
    to.losses.push_back(std::move(loss));
  };
  for (const auto& [port, note] : of_hub.refused) {
    if (note.read) continue;  // reported with its chain
    drop("writes refused by its windows or rules", 1,
         {hub + "refused, from " + kPortNames[port] + ", a write of " + who(note.source) + " to " + hex(note.address) +
              ": " + why(static_cast<Refusal>(note.reason)),
          note.source, note.address});
  }
  const auto beats = [](const Hub::Dropped& dropped, const char* where) {
    return dropped.bytes == 16
               ? std::string("dropped a beat ") + where + " at " + hex(dropped.address)
               : "dropped " + std::to_string(dropped.bytes / 16) + " beats " + where + " from " + hex(dropped.address);
  };
  for (const auto& stray : of_hub.strays)
    drop("beats on its bus to unmapped addresses", stray.bytes / 16,
         {hub + beats(stray, "on its bus") + ", an unmapped address", std::nullopt, stray.address, stray.bytes});
  const std::uint64_t context = kCalculatorBytes / config_.contexts;
  for (const auto& untaken : of_hub.untaken)
    drop("beats not accepted by its calculator", untaken.bytes / 16,
         {hub + beats(untaken, "for its calculator") + ": context " +
              std::to_string(untaken.address % kCalculatorBytes / context) + " accepts none",
          std::nullopt, untaken.address, untaken.bytes});
  for (const auto& [port, source, address] : this->node(node).take_astray())
    drop("writes out of an unconnected port", 1,
         {hub + "sent a write of " + who(source) + " to " + hex(address) + " out of " + kPortNames[port] +
              ", which is not connected",
          source, address});
  for (unsigned p = kEast; p < kLinks; ++p) {
    auto& port = this->node(node).port(p - kEast);
    if (std::exchange(port.reported, port.outstanding) != port.outstanding && port.outstanding != 0)
      to.losses.push_back(
          {credits_of(node, p) + ": a hub that is reset alone loses its credit counts; reset its neighbours with it",
           std::nullopt});
  }
  for (const auto& [source, address] : this->node(node).host().take_unclaimed())
    drop("writes outside of its host's memory", 1,
         {"the host of node " + std::to_string(node) + " dropped a write of " + who(source) + " to " + hex(address) +
              ", outside of its memory",
          source, address});
  for (const std::uint64_t address : this->node(node).host().take_failed_loads())
    drop("loads of its host that failed", 1,
         {"the processor of node " + std::to_string(node) + " loaded from " + hex(address) + ": Unsupported Request",
          std::nullopt, address});
  for (const auto& [channel, start, missed, fault] : of_hub.chains) {
    ChainEnd end{.hub = node, .start = start};
    if (missed) end.what = hub + "had no free slot to start the chain at " + hex(start);
    if (fault)
      end.what = hub + "gave up the chain at " + hex(start) + (channel == 0 ? "" : ", of a result,") +
                 (fault->reason == ChainFault::late
                      ? ": " + place_of(fault->address) + " has not completed all reads up to " + hex(fault->address)
                      : " at its descriptor at " + hex(fault->address) + ": " + why(fault->reason));
    end.aborted = fault && fault->reason == ChainFault::aborted;
    to.chains.push_back(std::move(end));
  }
}

std::string Fabric::outstanding() {
  std::string lines;
  for (unsigned n = 0; n < nodes(); ++n) {
    for (const auto& [reads, last] : node(n).hub().unanswered())
      lines.append("\nhub " + std::to_string(n) + " waits for the completions of " + std::to_string(reads) +
                   " reads, the last one at " + hex(last) + " in " + place_of(last) +
                   ": if its host was restarted, none will arrive, and reset() of node " + std::to_string(n) +
                   " cancels them");
    for (unsigned p = kEast; p < kLinks; ++p)
      if (node(n).port(p - kEast).outstanding != 0) lines.append("\n").append(credits_of(n, p));
  }
  return lines;
}

std::string Fabric::credits_of(unsigned node, unsigned port) {
  const auto outstanding = this->node(node).port(port - kEast).outstanding;
  const std::string number = std::to_string(std::abs(outstanding)), to = std::to_string(wiring_[node][port]->node);
  return "hub " + std::to_string(node) +
         (outstanding > 0
              ? " waits for hub " + to + " to return the credits of " + number + " packets sent out of "
              : " received credits from hub " + to + " for " + number + " packets that it has not sent out of ") +
         kPortNames[port];
}

std::vector<Blocked> Fabric::blocked() const {
  std::vector<Blocked> all;
  for (unsigned n = 0; n < nodes(); ++n) {
    const auto& processor = node(n).processor();
    if (processor.idle()) continue;
    all.push_back(processor.blocked());
    all.back().since = (processor.since() - start_) * net_->clock.period;
  }
  return all;
}

Stuck Fabric::stuck(std::vector<Blocked> waits) {
  gave_up_ = false;
  if (waits.empty())
    return Stuck("deadlock: no processor waits, but a hub waits for completions or buffer space" + outstanding());
  const auto ticks_per_second = static_cast<double>(this->ticks_per_second());
  std::string lines;
  for (const auto& wait : waits)
    lines += (lines.empty() ? "" : "\n") + wait.line(in_microseconds(wait.since, ticks_per_second));
  for (unsigned n = 0; n < nodes(); ++n) node(n).processor().abandon();
  for (unsigned n = 0; n < nodes(); ++n) {
    const auto counts = this->counts(n);
    const std::string hub = "\nhub " + std::to_string(n) + " ";
    if (!counts.complete) {
      lines += hub + "does not answer reads of its registers";
      continue;
    }
    for (unsigned p = 0; p < kPorts; ++p)
      if (const auto& refused = counts.refused[p]; refused.count > 0)
        lines += hub + "refused " + std::to_string(refused.count) + " packets from " + kPortNames[p] +
                 ", the last one of " + who(refused.note.source) + " to " + hex(refused.note.address) + ": " +
                 why(static_cast<Refusal>(refused.note.reason));
    for (const auto& given_up : counts.given_up)
      if (given_up.count > 0)
        lines += hub + "gave up " + std::to_string(given_up.count) + " chains of descriptors, the last one at " +
                 hex(given_up.note.address) + ": " + why(static_cast<ChainFault>(given_up.note.reason));
    if (counts.strays || counts.dropped)
      lines += hub + "dropped " + std::to_string(counts.strays) + " beats on its bus, " +
               std::to_string(counts.dropped) + " in its calculator";
    if (counts.missed) lines += hub + "had no free slot to start " + std::to_string(counts.missed) + " chains";
  }
  Stuck stuck(lines + outstanding(), std::move(waits));
  stuck.ticks_per_second = ticks_per_second;
  return stuck;
}

Counts Fabric::counts(unsigned number) {
  const auto read_back = std::make_shared<Counts>();  // shared, as reads remain outstanding if the hub does not reply
  read_back->results.resize(config_.contexts);
  auto& processor = node(number).processor();
  const std::size_t failed = node(number).host().failed_loads();
  const auto read = [&](unsigned at, std::function<void(std::span<const std::byte>)> take) {
    processor.load(register_address(number, at), std::move(take));
  };
  read(kChainsRegister, [read_back](auto data) {
    read_back->chains = part<std::uint32_t>(data, 0);
    read_back->missed = part<std::uint32_t>(data, 4);
    read_back->faults = part<std::uint32_t>(data, 8);
  });
  read(kStraysRegister, [read_back](auto data) {
    read_back->strays = part<std::uint32_t>(data, 0);
    read_back->dropped = part<std::uint32_t>(data, 4);
  });
  const auto record = [](std::span<const std::byte> data) {
    const auto about = part<std::uint32_t>(data, 4);
    return Counts::Refused{
        part<std::uint32_t>(data, 0),
        {about % 8, (about >> 3 & 1) != 0, {about >> 16 & 15, about >> 8 & 7}, part<std::uint64_t>(data, 8)}};
  };
  for (unsigned p = 0; p < kPorts; ++p)
    read(kRefusedRegisters + p, [read_back, record, p](auto data) { read_back->refused[p] = record(data); });
  for (unsigned c = 0; c < kChannels; ++c)
    read(kGivenUpRegisters + c, [read_back, record, c](auto data) { read_back->given_up[c] = record(data); });
  for (unsigned c = 0; c < config_.contexts; ++c)
    read(kResultRegisters + c, [read_back, c](auto data) { read_back->results[c] = part<std::uint32_t>(data, 0); });
  auto& time = assembly_.time();
  // Waits as long if nothing moves any more: hubs of hardware would rest some cycles later.
  for (unsigned waited = 0; !processor.idle() && waited < kPatience; ++waited)
    for (const Tick end = time.now() + kStride * net_->clock.period; time.now() < end;) time.advance(end);
  const bool ended = processor.idle();
  read_back->complete = ended && node(number).host().failed_loads() == failed;
  if (!ended) processor.abandon();
  return *read_back;
}

}  // namespace thalweg::peach2
