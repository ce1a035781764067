// SPDX-License-Identifier: Apache-2.0
// A board with the offload engine. Calls wait in the queues of their ports; up to `contexts` of them are in flight. A
// sequencer runs their programs (spec/accl/programs.txt). The data path executes their moves segment by segment, so
// that a call that waits for a message does not block others.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "accl/call_checks.hpp"
#include "accl/collective_plan.hpp"
#include "accl/collective_units.hpp"
#include "accl/config.hpp"
#include "accl/connections.hpp"
#include "accl/context.hpp"
#include "accl/exchange_memory.hpp"
#include "accl/hardware_engine.hpp"
#include "accl/hardware_mover.hpp"
#include "accl/kernel_streams.hpp"
#include "accl/memory.hpp"
#include "accl/move_engine.hpp"
#include "accl/mover.hpp"
#include "accl/program_runner.hpp"
#include "accl/tcp_connections.hpp"
#include "accl/udp_port.hpp"
#include "accl/unit_calls.hpp"
#include "cluster/assembly.hpp"

namespace thalweg::accl {

/// Completion of a call.
struct Ended {
  Handle handle = 0;
  Tick at = 0;  ///< in ticks
  std::uint32_t code = 0;
  std::string why{};  ///< if the code is not 0
};

class Node final : public Component, public AssembledNode {
 public:
  using Done = std::function<void(const Ended&)>;

  Node(const NodeConfig& config, ethernet::UdpEnd own, unsigned number, Domain& engine, Domain& line,
       ethernet::Frames& frames)
      : device("the board's memory of node " + std::to_string(number), config.memory_limit),
        host("the host's memory of node " + std::to_string(number), config.memory_limit),
        udp(own, config.port_latency, line, frames),
        config_(config),
        number_(number),
        domain_(engine),
        frames_(frames),
        component_(engine.scheduler.add(*this)),
        kernels_("the engine of node " + std::to_string(number), engine, component_,
                 [this](std::size_t pair, const Call& call) { submit_of_kernel(pair, call); }),
        connections_(transport(config, udp, line, frames)) {
    auto mover =
        std::make_unique<Mover>(config_, device, host, udp, connections_.get(), engine, frames, kernels_, waker());
    connect(mover->receiver);
    if (connections_)
      mover->receiver.wanted = [this, &mover = *mover](const Channel& channel, const spec::AcclPacket& packet) {
        return std::ranges::any_of(contexts_,
                                   [&](const Context& context) { return mover.wants(context, channel, packet); });
      };
    simulated_ = mover.get();
    use(std::move(mover));
    exchange.set_identity(kMoves | (config.arithmetic ? kCombines : 0) | (config.compression ? kCompresses : 0) |
                          (config.rendezvous ? kRdma : 0) | (config.tcp ? kTcp : 0));
  }

  /// Lets hardware execute the board's moves or calls. Call before time starts. `ends`: UDP endpoints of all boards, by
  /// rank. Throws std::invalid_argument if the hardware cannot be used.
  void use_hardware(std::unique_ptr<NodeCircuit> circuit, const std::vector<ethernet::UdpEnd>& ends) {
    require(!config_.reliable, "the hardware supports only plain UDP");
    require(!units_, "the hardware has no port to collective units");
    simulated_ = nullptr;
    if (circuit->limits().calls > 0) {
      auto made = std::make_unique<HardwareEngine>(config_, device, host, udp, domain_, kernels_, frames_, waker(),
                                                   ends, std::move(circuit));
      engine_ = made.get();
      made->ended = [this](Context& context, Tick now) { report(context, now); };
      use(std::move(made));
    } else {
      use(std::make_unique<HardwareMover>(config_, device, host, udp, domain_, kernels_, frames_, waker(), ends,
                                          std::move(circuit)));
    }
    kernels_.want(HardwarePorts::kWords);
  }

  /// Lets collective units execute the collectives that they accept. Call before time starts; the units must outlive
  /// the simulation. Throws std::invalid_argument with hardware.
  void use_units(CollectiveUnits& units) {
    require(simulated_ != nullptr, "the hardware has no port to collective units");
    units_.emplace(units, *simulated_, domain_, component_);
  }

  ExchangeMemory exchange;
  Memory device, host;
  UdpPort udp;
  Done done;
  std::function<void(const std::string& who, const Ended&)> failed;      ///< called for a kernel's call that fails
  std::function<std::optional<ethernet::UdpEnd>(const Member&)> end_of;  ///< UDP endpoint of a communicator's member
  std::function<std::string(const Member&)> missing_light;  ///< reason for a missing light path to a member's board;
                                                            ///< empty if there is one
  std::function<void(std::uint32_t communicator)> forget;   ///< called when the board restarts its count of collectives
  std::function<std::string(const Context&)>
      disagrees;  ///< returns how a collective differs from other members' calls; empty if it matches

  [[nodiscard]] LinkPort& port(unsigned number) override {
    require(number == 0, "port " + std::to_string(number) + " does not exist; a board has only port 0");
    return udp.port;
  }

  /// Records transactions at the engine's ports from now on.
  void record(std::vector<Transaction>& to) {
    mover_->seen = [&to](Transaction one) { to.push_back(std::move(one)); };
    udp.seen = [&to, own = udp.own.address, before = std::move(udp.seen)](Tick cycle, const ethernet::Frame& frame) {
      if (before) before(cycle, frame);
      if (frame.source() == own)
        to.push_back({.port = 's', .bytes = frame.size(), .frame{frame.bytes().begin(), frame.bytes().end()}});
    };
  }
  /// A host write of an exchange-memory word; returns false if there is no such word.
  bool write(std::uint64_t address, std::uint32_t value) {
    if (!exchange.write(address, value)) return false;
    if (engine_) engine_->write(static_cast<std::uint32_t>(address), value);
    if (const auto at = exchange.completed_by(address)) {
      const auto all = exchange.communicator(*at);
      if (std::ranges::all_of(all->members, [&](const Member& member) { return end_of(member).has_value(); }))
        static_cast<void>(mover_->know(exchange.identify(*all, *at)));  // if this fails, a call that uses it reports it
      if (config_.tcp) mover_->greet(*all);
    }
    return true;
  }
  /// Submits a call from the next cycle on. Throws std::invalid_argument if the call is invalid.
  void submit(Handle handle, unsigned port, const Call& call) { submit(handle, port, call, std::nullopt); }
  /// Starts to close its connections; TCP notifies the peers. Call between two advances.
  void disconnect() {
    if (connections_) connections_->close(domain_.clock.edge(domain_.scheduler.now()));
  }
  /// Closed connections that their peers have not acknowledged yet.
  [[nodiscard]] std::size_t disconnecting() const { return connections_ ? connections_->closing() : 0; }
  /// Streams between the engine and the board's kernels.
  [[nodiscard]] KernelStreams& kernels() { return kernels_; }
  [[nodiscard]] Domain& domain() { return domain_; }
  [[nodiscard]] const NodeConfig& config() const { return config_; }
  /// Passes a packet of a kernel to the engine's stream, padded to whole words.
  void give(std::span<const std::byte> data) {
    mover_->give(data);
    domain_.wake(component_, domain_.next());
  }
  /// Returns and removes packets for kernels, with times in ticks.
  [[nodiscard]] std::vector<KernelPacket> take() {
    for (KernelPacket& packet : mover_->output) packet.at = domain_.clock.edge(packet.at);
    return std::exchange(mover_->output, {});
  }

  bool step(Tick now) override {
    const Tick next =
        kernels_.step(now, mover_->words(), [this](std::span<const std::byte> word) { mover_->give(word); });
    mover_->step(now);
    for (bool again = true; again;) {
      again = false;
      for (Context& context : contexts_) again |= run(context, now);
      again |= std::erase_if(contexts_, [](const Context& context) { return context.ended; }) > 0;
    }
    admit(now);
    const Tick begins = engine_ ? engine_->begin(now) : kNever;
    schedule(now, kernels_.again() ? now + 1 : std::min(next, begins));
    return false;
  }

  /// The tick of the next time-out; kNever if no call waits.
  [[nodiscard]] Tick time_out() const {
    Tick first = kNever;
    if (time_out_ == 0) return first;
    for (const Context& context : contexts_)
      for (const Waits& waits : waits_of(context))
        if (context.code == 0) first = std::min(first, waits.since + time_out_);
    return domain_.clock.edge(first);
  }
  /// Ends the calls whose waits have timed out by `tick`. Call between two advances.
  void expire(Tick tick) {
    const Tick now = domain_.next();
    for (Context& context : contexts_)
      for (const Waits& waits : waits_of(context))
        if (context.code == 0 && domain_.clock.edge(waits.since + time_out_) <= tick) {
          context.fail(code::kReceiveTimeOut,
                       "waited " + what(context, waits) + " for too long" + because(context, waits) +
                           (waits.move && !waits.move->for_kernel ? dark(context, waits.move->from) : ""));
          context.resumes_at = now;
        }
    domain_.wake(component_, now);
  }
  /// One line per rank to which calls have sent data without a light path. A kernel's stream there stays empty.
  [[nodiscard]] const std::set<std::string>& unlit() const { return unlit_; }
  void blocked(std::vector<Blocked>& all) const {
    for (const Context& context : contexts_) {
      const auto all_waits = waits_of(context);
      const Waits* waits = all_waits.empty() ? nullptr : &all_waits.back();
      Blocked one{.who = who(context),
                  .what = waits ? what(context, *waits)
                                : "to begin: an earlier call uses the same data, stream, messages or units",
                  .since = domain_.clock.edge(waits ? waits->since : context.called)};
      if (waits && waits->move && !waits->move->for_kernel)
        if (const auto end = end_of(context.communicator.members[waits->move->from]))
          one.on = "node " + std::to_string(end->address & 0xFFFF'FFFF);
      if (waits && !waits->move && !context.units->in.for_kernel)
        if (const auto board = (*units_)->waits(context).board) one.on = "node " + std::to_string(*board);
      if (waits && waits->move && !waits->move->for_kernel)
        for (const auto& why : mover_->because(context, *waits->move)) one.because(why);
      if (waits && waits->move && !waits->move->for_kernel)
        if (const auto why = dark(context, waits->move->from); !why.empty()) one.because(why.substr(2));
      all.push_back(std::move(one));
    }
    if (engine_)
      engine_->open([&](const Context& context, bool taken) {
        all.push_back({.who = who(context),
                       .what = taken ? "in its board's hardware" : "for its board's hardware to accept it",
                       .since = domain_.clock.edge(context.called)});
      });
    for (const auto& queue : queues_)
      for (const Context& context : queue)
        all.push_back({.who = who(context),
                       .what = contexts_.size() == config_.contexts
                                   ? "to begin: " + std::to_string(config_.contexts) + " calls are in progress"
                                   : "to begin",
                       .since = domain_.clock.edge(context.called)});
  }
  void lost(NodeId node, std::vector<Lost>& all) const override {
    udp.lost(node, all);
    mover_->lost(node, all);
    if (connections_) connections_->lost(node, all);
  }

 private:
  static constexpr unsigned kPorts = 3, kKernel = 2;
  // Bits of the identity: DMA and kernel streams; plug-ins; TCP or RDMA.
  static constexpr std::uint32_t kMoves = 0x24, kCombines = 0x8, kCompresses = 0x10, kTcp = 1, kRdma = 2;

  [[nodiscard]] Waker waker() const {
    Waker made;
    made.bind(domain_, component_);
    return made;
  }
  /// A wait of a call: its first cycle, and the waiting move; null: the call waits for units beside the engine.
  struct Waits {
    Tick since;
    const Move* move;
  };
  [[nodiscard]] static std::vector<Waits> waits_of(const Context& context) {
    std::vector<Waits> all;
    for (const Move* move : {&context.move, &context.background})
      if (move->what && move->waits != kNever) all.push_back({move->waits, move});
    if (context.units && context.units->waits != kNever) all.push_back({context.units->waits, nullptr});
    return all;
  }
  [[nodiscard]] std::string what(const Context& context, const Waits& waits) const {
    if (waits.move) return mover_->waits_for(context, *waits.move);
    return context.units->in.for_kernel ? "for data from its kernel's stream" : (*units_)->waits(context).what;
  }
  [[nodiscard]] std::string who(const Context& context) const {
    return std::string(name_of(static_cast<std::uint32_t>(context.call.scenario))) + " of node " +
           std::to_string(number_);
  }
  /// "; ..." for each obstacle to the end of a wait.
  [[nodiscard]] std::string because(const Context& context, const Waits& waits) const {
    std::string text;
    if (waits.move && !waits.move->for_kernel)
      for (const auto& why : mover_->because(context, *waits.move)) text += "; " + why;
    return text;
  }
  /// "; no light path ..." if the board has none to a rank, else empty.
  [[nodiscard]] std::string dark(const Context& context, std::uint32_t rank) const {
    const auto why = missing_light ? missing_light(context.communicator.members[rank]) : "";
    return why.empty() ? why : "; " + why;
  }
  void use(std::unique_ptr<MoveEngine> mover) {
    mover_ = std::move(mover);
    mover_->dark = [this](const Context& context, std::uint32_t rank) { return dark(context, rank); };
    mover_->end_of = [this](const Member& member) { return end_of(member); };
  }
  /// Connects the receiver to the network.
  void connect(Receiver& to) {
    const auto cycle = [this](Tick tick) { return domain_.clock.cycle_after(tick); };
    if (!connections_) {
      udp.receive = [this, &to, cycle](const ethernet::FrameRef& frame, Tick first, Tick end) {
        to.push(frame, cycle(first), cycle(end));
      };
      return;
    }
    connections_->arrived = [this, &to, cycle](unsigned connection, const ReceiveWindow::Content& packet, Tick now) {
      to.push(connection, packet.frame, cycle(packet.first), cycle(std::max(packet.end, now)));
    };
    connections_->freed = [this, cycle](Tick now) { domain_.wake(component_, cycle(now)); };
    to.taken = [this](unsigned connection, Tick now) { connections_->leave(connection, domain_.clock.edge(now)); };
  }
  static std::unique_ptr<Transport> transport(const NodeConfig& config, UdpPort& udp, Domain& line,
                                              ethernet::Frames& frames) {
    if (config.tcp) return std::make_unique<TcpConnections>(*config.tcp, config.packet_bytes, udp, line, frames);
    if (config.reliable) return std::make_unique<Connections>(config.session, udp, line, frames);
    return nullptr;
  }
  // Calls.

  void submit(Handle handle, unsigned port, const Call& call, std::optional<std::size_t> pair) {
    require(port < kPorts,
            "call port " + std::to_string(port) + " does not exist; there are " + std::to_string(kPorts));
    Context made;
    made.kernel = pair;
    made.call = call;
    made.port = port;
    made.handle = handle;
    made.communicator = check_.communicator(call, end_of).value_or(Communicator{});
    made.order = given_++;
    made.called = domain_.next();
    made.resumes_at = made.called + (port == kKernel ? 0 : config_.invocation);
    domain_.wake(component_, made.resumes_at);
    if (engine_)
      engine_->call(std::move(made));
    else
      queues_[port].push_back(std::move(made));
  }

  /// Translates the pointers of a kernel's call into addresses of the board.
  void submit_of_kernel(std::size_t pair, Call call) {
    for (std::uint64_t& address : call.address)
      for (const Memory* memory : {&device, &host})
        if (const auto base = reinterpret_cast<std::uintptr_t>(memory->base());
            address >= base && address - base < memory->limit())
          address -= base;
    try {
      submit(0, kKernel, call, pair);
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument("a command of a kernel to the engine of node " + std::to_string(number_) + ": " +
                                  error.what());
    }
  }

  /// Admits the call that has waited longest, if the sequencer is idle.
  void admit(Tick now) {
    if (sequencer_.free() > now) return;
    for (auto& queue : queues_) {  // a reset overtakes the calls that it ends
      const auto reset = std::ranges::find_if(
          queue, [now](const Context& context) { return context.is_reset() && context.resumes_at <= now; });
      if (reset == queue.end()) continue;
      contexts_.push_back(std::move(*reset));
      queue.erase(reset);
      prepare(contexts_.back(), now);
      return;
    }
    if (contexts_.size() >= config_.contexts) return;
    std::deque<Context>* first = nullptr;
    for (auto& queue : queues_)
      if (!queue.empty() && queue.front().resumes_at <= now &&
          (!first || queue.front().resumes_at < first->front().resumes_at))
        first = &queue;
    if (!first) return;
    contexts_.push_back(std::move(first->front()));
    first->pop_front();
    prepare(contexts_.back(), now);
  }
  [[nodiscard]] Handling handling(const Call& call) const {
    const auto found = config_.processor.find(call.scenario);
    const Handling of = found == config_.processor.end() ? Handling{} : found->second;
    return {.command = std::max(ProgramRunner::kCommand, of.command - ProgramRunner::kFirstMove),
            .result = std::max<Tick>(0, of.result - ProgramRunner::kEnd)};
  }
  /// Fetches a call and sets its registers.
  void prepare(Context& context, Tick now) {
    const Call& call = context.call;
    const auto size = static_cast<std::uint32_t>(context.communicator.members.size());
    const auto rank = context.communicator.rank;
    if (size > 0) {
      context.communicator_id = exchange.identify(context.communicator, call.communicator);
      if (config_.tcp) mover_->greet(context.communicator);
      if (!mover_->know(context.communicator_id))
        context.fail(code::kSize, "the hardware has no free entry for another communicator");
    }
    if (context.is_collective()) context.collective = collectives_[context.communicator_id]++;
    check_(context);
    if (call.scenario == Scenario::send)
      if (const auto why = dark(context, call.root); !why.empty()) unlit_.insert(why.substr(2));
    if (units_ && context.is_collective() && context.code == 0)
      if ((context.units = (*units_)->begin(context, domain_.clock.edge(now))))
        context.units->in.elements = context.units->out.elements = call.count;
    if (!context.units) check_.plugin(context);
    if (context.is_collective())
      if (const auto how = disagrees(context); !how.empty()) context.fail(code::kSize, how);
    if (units_ && context.is_collective() && context.code != 0 && !call.compressed_on_wire()) (*units_)->stop(context);
    context[Register::rank] = rank;
    context[Register::size] = size;
    context[Register::root] = call.root;
    context[Register::next] = rank + 1 < size ? rank + 1 : 0;
    context[Register::prev] = rank > 0 ? rank - 1 : std::max(size, 1U) - 1;
    context[Register::count] = context[Register::n] = call.count;
    const Tick quotients = plan_(context, mover_->buffers(), mover_->most_in_circle(context));
    check_.spare(context);
    context.resumes_at = sequencer_.take(now, std::max(handling(call).command, ProgramRunner::kCommand + quotients));
    context[Register::op0] = call.address[0];
    context[Register::op1] = call.address[1];
    context[Register::res] = call.address[2];
    context[Register::e0] = context.bytes(Role::op0);
    context[Register::e1] = context.bytes(Role::op1);
    context[Register::er] = context.bytes(Role::res);
    context.position.next = begin_of(call);
  }
  [[nodiscard]] static std::uint16_t begin_of(const Call& call) {
    auto name = name_of(static_cast<std::uint32_t>(call.scenario));
    if (call.scenario == Scenario::send && call.streams(Role::res)) name = "put";
    if (call.scenario == Scenario::config) name = "nop";
    return std::ranges::find(spec::programs::kBegin, name, &std::pair<std::string_view, std::uint16_t>::first)->second;
  }
  void configure(Context& context, Tick now) {
    const Call& call = context.call;
    switch (static_cast<Setting>(call.function)) {
      case Setting::reset:
        reset(context, now);
        break;
      case Setting::enable_packets: {
        const auto found = exchange.buffers();
        const auto bytes = exchange.buffer_bytes();
        if (found && std::ranges::all_of(*found, [&](auto address) { return device.has(address, bytes); }))
          configure(context, *found, bytes);
        else
          context.fail(code::kSize, "the receive buffers are not in allocated memory");
        if (const auto all = exchange.communicator(call.communicator)) mover_->greet(*all);
        break;
      }
      case Setting::time_out:
        time_out_ = static_cast<Tick>(call.count) * config_.cycles_per_us;
        break;
      case Setting::most_eager:
        if (call.count < exchange.buffer_bytes())
          context.fail(code::kEagerLimit, "an eager limit of " + std::to_string(call.count) +
                                              " bytes; must be at least the size of a receive buffer");
        mover_->eager = call.count;
        break;
      case Setting::most_rendezvous:
        if (call.count <= mover_->eager)
          context.fail(code::kRendezvousLimit,
                       "a rendezvous limit of " + std::to_string(call.count) + " bytes; must be above the eager limit");
        break;
      default:
        context.fail(code::kNotImplemented, "unknown setting " + std::to_string(call.function));
    }
  }
  void configure(Context& context, const std::vector<std::uint64_t>& addresses, std::uint32_t bytes) {
    if (!mover_->configure(addresses, bytes))
      context.fail(code::kSize, "the hardware does not support " + std::to_string(addresses.size()) +
                                    " receive buffers of " + std::to_string(bytes) + " bytes");
  }
  /// Ends all calls in flight and all calls submitted before this one; forgets messages, offered buffers and settings.
  void reset(const Context& by, Tick now) {
    constexpr const char* kWhy = "its board was reset before it had ended";
    for (Context& context : contexts_) {
      if (&context == &by || context.ended) continue;
      context.fail(code::kNotReady, kWhy);
      finish(context, now);
    }
    for (auto& queue : queues_)
      std::erase_if(queue, [&](Context& context) {
        if (context.order > by.order) return false;
        context.fail(code::kNotReady, kWhy);
        report(context, now);
        return true;
      });
    mover_->reset(now);
    for (const auto& [communicator, count] : collectives_) forget(communicator);
    collectives_.clear();
    exchange.write(ExchangeMemory::kConfigured, 0);
    time_out_ = 0;
  }
  void finish(Context& context, Tick now) {
    context.ended = true;
    if (context.units && context.code != 0) (*units_)->stop(context);
    mover_->release(context, now);
    report(context, now);
  }
  /// Reports a completion to the host or to the submitting kernel.
  void report(const Context& context, Tick now) {
    exchange.write(ExchangeMemory::kReturnCode, context.code);
    exchange.write(ExchangeMemory::kCycles,
                   static_cast<std::uint32_t>(std::min<Tick>(now - context.called, 0xFFFF'FFFF)));
    if (context.kernel) {
      kernels_.end(*context.kernel, context.code);
      if (context.code != 0 && failed) failed(who(context), {0, domain_.clock.edge(now), context.code, context.why});
    } else {
      done({context.handle, domain_.clock.edge(now), context.code, context.why});
    }
  }

  /// Runs a call as far as possible in this cycle. Returns true if this may let other calls proceed.
  bool run(Context& context, Tick now) {
    if (context.ended || !begins(context, now)) return false;
    if (context.code != 0 || context.ending) {
      if (context.resumes_at > now || reports(context, now)) return false;
      finish(context, now);
      return true;
    }
    if (context.units) return units_->run(context, contexts_, now);
    bool moved = context.background.what && context.background.resumes_at <= now &&
                 mover_->segment(context, context.background, now);
    if (context.code != 0) return true;
    if (context.move.what)
      moved |= context.move.resumes_at <= now && mover_->segment(context, context.move, now);
    else if (context.resumes_at <= now)
      sequencer_.run(context, now);
    return moved;
  }
  /// Starts to report a call's result, if that takes cycles of the sequencer. Returns true if just started.
  bool reports(Context& context, Tick now) {
    const Tick cycles = handling(context.call).result;
    if (cycles == 0 || std::exchange(context.reporting, true)) return false;
    context.resumes_at = sequencer_.take(now, cycles);
    return true;
  }
  /// Starts a call once all earlier calls that conflict with it have ended. Returns true if it is started.
  bool begins(Context& context, Tick now) {
    if (context.started) return true;
    if (context.resumes_at > now) return false;
    for (const Context& earlier : contexts_) {
      if (&earlier == &context) break;
      if (!earlier.ended && !context.is_reset() && conflicts(earlier, context)) return false;
    }
    context.started = true;
    if (context.call.scenario == Scenario::config) configure(context, now);
    return true;
  }

  /// `next`: the next cycle with work for its streams.
  void schedule(Tick now, Tick next) {
    const auto at = [&](Tick cycle) {
      if (cycle > now) next = std::min(next, cycle);
    };
    for (const Context& context : contexts_) {
      at(context.resumes_at);
      for (const Move* move : {&context.move, &context.background})
        if (move->what) at(move->resumes_at);
      if (context.units) {
        at(context.units->in.resumes_at);
        at(context.units->out.resumes_at);
      }
    }
    for (const auto& queue : queues_)
      if (!queue.empty()) at(std::max(queue.front().resumes_at, sequencer_.free()));
    if (next != kNever) domain_.wake(component_, next);
  }

  const NodeConfig config_;
  const unsigned number_;
  Domain& domain_;
  ethernet::Frames& frames_;
  ComponentId component_;
  KernelStreams kernels_;
  std::unique_ptr<Transport> connections_;  ///< reliable transport; null for plain UDP
  ProgramRunner sequencer_;
  const CallChecks check_{config_, exchange, device, host};
  const CollectivePlan plan_{config_, exchange};
  std::unique_ptr<MoveEngine> mover_;
  Mover* simulated_ = nullptr;        ///< mover_ if it is the simulator's, else null
  HardwareEngine* engine_ = nullptr;  ///< mover_ if it is hardware that takes calls, else null
  std::optional<UnitCalls> units_;    ///< beside the engine

  std::array<std::deque<Context>, kPorts> queues_;
  std::set<std::string> unlit_;                         ///< sends without a light path
  std::list<Context> contexts_;                         ///< in order of admission
  std::uint64_t given_ = 0;                             ///< number of calls submitted
  Tick time_out_ = 0;                                   ///< in cycles; 0: none
  std::map<std::uint32_t, std::uint32_t> collectives_;  ///< number of collectives so far, by communicator
};

}  // namespace thalweg::accl
