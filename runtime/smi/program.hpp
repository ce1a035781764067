// SPDX-License-Identifier: Apache-2.0
// User kernels on the ranks of a cluster, in simulated time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cluster/engine.hpp"
#include "core/clock.hpp"
#include "core/kernel.hpp"
#include "core/stream.hpp"
#include "memory/bank.hpp"
#include "smi/channel.hpp"
#include "smi/device_memory.hpp"
#include "smi/endpoint.hpp"
#include "smi/library.hpp"

namespace thalweg::smi {

/// A kernel has not finished by the cycle limit.
class Late : public Stuck {
 public:
  using Stuck::Stuck;
};

/// Runs kernels; their numbers are the handles. Kernels may run ahead of time, so an end may be known before now()
/// reaches it.
class Program final : public Engine {
 public:
  /// Stack of a kernel in bytes, which holds arrays that are on-chip memory in hardware.
  static constexpr std::size_t kStack = std::size_t{16} << 20;

  /// A kernel's streams to an endpoint, and the reason why the endpoint waits.
  struct Port {
    EndpointOf endpoint;
    Stream<Open>* open = nullptr;
    Stream<Element>* in = nullptr;   ///< to the endpoint
    Stream<Element>* out = nullptr;  ///< from it
    std::function<std::string()> waits;
  };
  struct Config {
    unsigned world = 0;  ///< number of ranks of SMI_COMM_WORLD, from rank 0; 0: all
    unsigned packet_bytes = 32;
    bool eager = true;         ///< all messages; false: only messages of at most the asynchronicity degree
    bool synchronous = false;  ///< a push returns when its element has been popped (asynchronicity degree 0)
    bool circuits = false;     ///< for eager messages of more than one packet
    unsigned arity = 0;        ///< of collective trees; 0: all ranks are children of the root
    unsigned tile = 32;
    unsigned children = 15;  ///< maximum number of children in a reduction
    bool any_order = false;
    unsigned banks = 4;  ///< memory banks of a rank
    BankTiming bank{};
    std::int64_t ticks_per_second = 1'000'000;
    std::function<std::vector<Lost>()> lost{};  ///< packets dropped by the nodes; empty: none
  };

  /// `ports` are indexed by rank.
  Program(Domains& time, Domain& clock, const Config& config, std::vector<std::vector<Port>> ports);
  ~Program() override;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  [[nodiscard]] unsigned ranks() const { return static_cast<unsigned>(ranks_.size()); }

  /// Allocates a zeroed buffer in a bank. Throws std::invalid_argument if the bank does not exist.
  Buffer& buffer(unsigned rank, unsigned bank, const std::string& name, std::size_t bytes);

  /// A kernel argument: its bytes, or a buffer.
  struct Argument {
    std::vector<std::byte> bytes;
    Buffer* buffer = nullptr;
  };
  /// Starts a kernel of a library in the next cycle. A communicator (SMI_Comm) is passed as its bytes. A kernel that
  /// `serves` need not end. Throws std::runtime_error if the library or the kernel does not exist.
  Handle start(unsigned rank, const std::string& library, const std::string& kernel, std::vector<Argument> arguments,
               bool serves = false);

  /// Starts C++ code that calls smi_calls() as a kernel.
  Handle start(unsigned rank, const std::string& kernel, std::function<void()> call, bool serves = false);
  /// Runs until all kernels that do not serve have ended. Throws Misuse, Stuck with the blocked kernels, or Late with a
  /// kernel that has not ended by the limit.
  void run();
  [[nodiscard]] Tick now() const override { return time_.now(); }
  [[nodiscard]] std::int64_t ticks_per_second() const override { return config_.ticks_per_second; }
  /// Throws Misuse.
  void advance(Tick until, std::vector<Completion>& completed) override;
  /// True also when all kernels that don't serve have ended.
  [[nodiscard]] bool idle() const override;
  [[nodiscard]] std::vector<Blocked> blocked() const override { return stuck().blocked; }
  [[nodiscard]] std::vector<Lost> lost() const override { return config_.lost ? config_.lost() : std::vector<Lost>{}; }

  /// Kernels started afterwards record their stalls.
  void record() { kernels_.record(); }
  /// The last cycle in which a kernel that does not serve may end.
  void limit(Tick cycle) { limit_ = cycle; }

  struct Started {
    unsigned rank = 0;
    std::string kernel;
    bool serves = false, ended = false;
    Tick cycle = 0;                  ///< of its end
    const Stalls* stalls = nullptr;  ///< null if not recorded
  };
  [[nodiscard]] std::vector<Started> started() const;
  /// Suspicious behaviour of the program, each warning once.
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }
  /// Number of elements that kernels have pushed and popped.
  [[nodiscard]] std::uint64_t elements() const { return elements_; }

  struct Running;
  /// Increases whenever a kernel uses a channel or memory, or ends. Read by a signal handler.
  [[nodiscard]] std::uint64_t progress() const { return uses_ + elements_; }
  /// Number of a kernel, in starting order. Read by a signal handler.
  [[nodiscard]] int number(const Running& running) const;
  /// Returns "app.cl:7: rank 0, kernel app: " for a kernel number and return addresses, innermost first.
  [[nodiscard]] std::string error_prefix(int kernel, std::span<void* const> code) const;

 private:
  friend struct Calls;

  /// An endpoint and its users.
  struct PortState {
    Port port;
    Running* user = nullptr;
    Running* not_popped = nullptr;  ///< kernel in a synchronous push whose element has not been popped
    Tick popped_at = 0;
    Running* opener = nullptr;  ///< first kernel that opened a channel on it, used or not
    smi__location used{};
    Channel channel{};  ///< copy of the last channel that was entered
    bool unfinished = false;
    bool circuit = false;  ///< the message is a circuit
    std::uint32_t per_packet = 1,
                  flushed = 0;  ///< of `channel`: elements per packet, and elements up to the last flush
    std::map<unsigned, std::uint64_t> completed{};  ///< elements of finished push and pop channels, by the other rank

    /// Number of elements that its kernels have pushed to, or popped from, rank `other`.
    [[nodiscard]] std::uint64_t transferred(unsigned other) const;
    /// True if its user is inside a call on it.
    [[nodiscard]] bool in_call() const;
  };
  struct Rank {
    std::vector<PortState> ports;
    std::vector<Bank> banks;
    std::vector<std::pair<std::string, std::unique_ptr<Library>>> libraries;
  };

  [[nodiscard]] PortState& port_of(Running& running, const Channel& channel);
  [[nodiscard]] Library& library(unsigned rank, const std::string& file);
  Handle start(Running& running, bool serves);
  void call(Running& running) const;
  void body(Running& running);
  void open(Running& running, Channel& channel, const smi__open& open);
  PortState& enter(Running& running, Channel& channel, unsigned kind, const smi__location& location);
  void check_peers(const Running& running, const Channel& channel, const EndpointOf& own) const;
  void finish(PortState& state, Channel& channel);
  void submit(Running& running, PortState& state, Channel& channel, const smi__location& location);
  [[nodiscard]] Open protocol(const Running& running, const Channel& channel, unsigned port);
  void push_element(PortState& state, const Channel& channel, const smi__variable& value, bool flush,
                    const smi__location& location);
  /// Returns the element's source rank; meaningful for a pop.
  unsigned pop_element(PortState& state, const Channel& channel, const smi__variable& to,
                       const smi__location& location);
  void collective(Running& running, Channel& channel, unsigned kind, const smi__variable& send,
                  const smi__variable& receive, const smi__location& location);
  void check_type(const Running& running, const Channel& channel, const smi__variable& value,
                  const smi__location& location);
  void end_bursts(Running& running);
  void memory(Running& running, std::uintptr_t address, std::size_t bytes, bool writes, const void* from);
  [[noreturn]] void reject(const Running& running, const smi__location& location, const std::string& message) const;
  void warn(const std::string& message);
  void check_limit(const Running& running, std::span<void* const> code, Tick cycle) const;
  [[nodiscard]] std::string late(const Running& running, std::span<void* const> code) const;
  [[nodiscard]] std::string late() const;
  [[nodiscard]] Stuck stuck() const;
  [[nodiscard]] std::vector<const Running*> wait_cycle() const;
  [[nodiscard]] Blocked blocked(const Running& running) const;
  [[nodiscard]] const Running* waited_for(const Running& running, Blocked& blocked) const;
  [[nodiscard]] const Running* waited_for_to_push(const Running& running, Blocked& blocked) const;
  [[nodiscard]] const Running* waited_for_to_pop(const Running& running, Blocked& blocked) const;
  [[nodiscard]] const Running* waited_for_by_all(const Running& running, Blocked& blocked) const;
  [[nodiscard]] const Running* waited_for_by_network(Blocked& blocked) const;
  [[nodiscard]] const PortState* port_of(unsigned rank, EndpointKind kind, unsigned port) const;
  [[nodiscard]] const Running* kernel_of(unsigned rank, EndpointKind kind, unsigned port, Blocked& blocked) const;
  [[nodiscard]] const Running* only_kernel_of(unsigned rank, const Running* except = nullptr) const;
  [[nodiscard]] std::uint64_t in_flight(unsigned from, unsigned to, unsigned port) const;
  void wait_for_pop(Running& running, PortState& state, const smi__location& location);
  void popped(const Running& running, const Channel& channel, unsigned port);
  void warn_of_unread();

  Domains& time_;
  Domain& clock_;
  Config config_;
  DeviceMemory memory_;
  std::vector<Rank> ranks_;
  std::deque<Running> running_;
  std::vector<Completion> ended_;
  Agreement agreement_;
  std::vector<std::string> warnings_;
  std::uint64_t elements_ = 0, uses_ = 0;
  Tick limit_ = kNever;
  Kernels kernels_;  // destroyed first: unwinds kernels
};

/// The functions of smi.h that kernels call.
[[nodiscard]] const smi__calls& smi_calls();

}  // namespace thalweg::smi
