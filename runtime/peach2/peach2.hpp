// SPDX-License-Identifier: Apache-2.0
// Operations of a program on hubs: puts, chains of copies, notifications and reductions, each executed by a node's processor.
//
// Operations of one node are executed in order, those of different nodes concurrently; `run` executes them. Addresses are in the
// shared address map (peach2/addresses.hpp). The library reserves the last 2 MByte of each processor's memory and parts of a hub's
// working RAM (peach2/address_map.hpp). Invalid arguments throw std::invalid_argument with one line, and change nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "peach2/address_map.hpp"
#include "peach2/driver/fabric.hpp"
#include "peach2/ledger.hpp"
#include "queue/timeline.hpp"

namespace thalweg::peach2 {

using thalweg::spec::Datatype;
using thalweg::spec::Operator;

/// A copy; addresses and bytes are multiples of 4.
struct Copy {
  std::uint64_t to = 0, from = 0, bytes = 0;
};
/// Ranges of consecutive records: an address of this node, a multiple of 16, and bytes.
using Sources = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

/// Location of the DMA controller's descriptors: the hub's working RAM, where the host stores them, or the host's
/// memory.
enum class Descriptors { ram, host };

/// Operation of the calculator.
struct Reduction {
  unsigned context = 0;
  Operator op = Operator::sum;
  Datatype type = Datatype::float32;
  unsigned record_bytes = 32;
  bool tree = false;  ///< reduces all fields of a record to one

  friend bool operator==(const Reduction&, const Reduction&) = default;
};

class Peach2 {
 public:
  explicit Peach2(Fabric& fabric) : fabric_(fabric), map_(fabric), nodes_(fabric.nodes(), NodeState(fabric.config())) {}

  [[nodiscard]] Fabric& fabric() { return fabric_; }

  /// Runs until all operations have ended and the network is idle. Throws Stuck if processors wait and nothing else
  /// happens.
  void run();
  /// Reads the counters of a node's hub, which takes simulated time. Throws if the node has unfinished operations.
  [[nodiscard]] Counts counts(unsigned node);

  static constexpr std::size_t kMostStored = 1 << 24;
  static constexpr unsigned kLongestAnswer = 64;  ///< units of kTimeoutUnit, 262 us at 250 MHz
  /// The processor stores bytes to any address; stores to its own memory take no time.
  Outcome store(unsigned node, std::uint64_t to, std::span<const std::byte> data);
  /// Waits until a 32-bit word of the processor's memory has a value.
  Outcome await(unsigned node, std::uint64_t at, std::uint32_t value);
  /// The processor computes for `cycles`.
  Outcome work(unsigned node, Tick cycles);
  /// Copies between memories of the node, by the processor's and the GPU's own means.
  Outcome copy(unsigned node, Processor::MemoryAddress to, Processor::MemoryAddress from, std::uint64_t bytes);

  /// GPUs of the node run kernels for `cycles`, which read ranges (address, bytes) of their memories at the beginning; the
  /// data are in the outcome's `seen`. A GPU sees a write that came over PCI Express only some time after its arrival.
  /// Before, unless flushed, kernels read the old data; the operation's error says so, and so does take_stale().
  Outcome kernel(unsigned node, Tick cycles, const Sources& reads);
  /// The processor reads GPU `gpu` (0 or 1), which thus sees all writes that have arrived.
  Outcome flush(unsigned node, unsigned gpu);
  /// A line for each read of old data since the last call.
  [[nodiscard]] std::string take_stale();

  /// The DMA controller executes copies from the node's own memories in order, and notifies the processor at the end.
  /// With `waits` the processor waits for that.
  Outcome chain(unsigned node, const std::vector<Copy>& copies, Descriptors in = Descriptors::ram, bool waits = true);
  Outcome put(unsigned node, std::uint64_t to, std::uint64_t from, std::uint64_t bytes,
              Descriptors in = Descriptors::ram, bool waits = true) {
    return chain(node, {{to, from, bytes}}, in, waits);
  }

  /// The hub of the node of `from` copies to this node. Read packets do not leave a node, so the processor writes
  /// descriptors into its slot of that hub's working RAM, starts the chain, and waits for the flag that follows the
  /// data.
  Outcome get(unsigned node, std::uint64_t to, std::uint64_t from, std::uint64_t bytes);

  /// Copies data from `from` into the node's calculator, and its result to `to`. The copy of the result is started by
  /// the calculator if `by_hub`, otherwise by the host, which polls for the result.
  Outcome reduce(unsigned node, std::uint64_t to, const Sources& from, const Reduction& how = {}, bool by_hub = true);

  /// A group of nodes that reduce together; the first one is the root.
  class Group;
  /// Makes a group, an operation of all its nodes. Each node receives results at `at` of each of `memories`: its
  /// processor's and its GPUs'. Uses two contexts from `how.context`, or three if there are more nodes than record slots
  /// in a calculator. A node's operation ends when the nodes that it will write to are set up.
  Group group(const std::vector<unsigned>& nodes, std::uint64_t at, const Reduction& how = {},
              const std::vector<unsigned>& memories = {kProcessor});
  /// Contributes the data of one of the group's nodes; all nodes must call it. No host is involved in between.
  Outcome reduce(Group& group, unsigned node, const Sources& from);

  /// After Stuck: discards the processors' remaining operations. Contexts are set up again at their next use; existing
  /// groups become invalid.
  void recover();

  /// After run: sets an error of each operation of which a write was rejected or dropped, or a chain was aborted.
  /// Returns a line for each such write and chain.
  [[nodiscard]] std::string settle();

  /// Aborts the current chain of a channel of the hub's DMA controller: 0 for started chains, 1 for chains of results.
  /// The hub counts it as a fault. Throws std::invalid_argument if there is no such channel.
  Outcome abort(unsigned node, unsigned channel = 0);
  /// Aborts both channels and the waiting chains; after a restart of the host also reads that were not answered within
  /// the time-out, or within kLongestAnswer units if that is shorter.
  Outcome reset(unsigned node);
  /// Sets the time-out for answers to a chain's reads, after which the chain is aborted; 0: none. Rounded up to units
  /// of kTimeoutUnit.
  Outcome timeout(unsigned node, std::uint64_t cycles);
  /// Resets only the host's root complex, which drops reads that it has not answered.
  Outcome restart_host(unsigned node);
  /// Sets which nodes may write the hub's registers besides its host, one bit per node.
  Outcome owners(unsigned node, std::uint32_t nodes);

  /// Translates requests that enter the hub by a link, or leave it: those to `bytes` of a memory from address `first` on go to as many
  /// from `to` on; `bytes` is a power of two of at least a page, and divides both addresses. Replaces the link's rule in this
  /// direction; one with equal addresses translates nothing. Not checked for loops.
  Outcome translate(unsigned node, unsigned link, bool outbound, std::uint64_t first, std::uint64_t to,
                    std::uint64_t bytes);

  /// Calculator address of a beat of a context.
  [[nodiscard]] std::uint64_t calculator(unsigned node, unsigned context, std::uint64_t at = 0) const;

 private:
  /// Writer of a context. Writes of the program and of the library must not mix, since neither sees the other's.
  enum class Owner { nobody, program, reductions, group };
  struct SetUp {
    Reduction how;
    std::uint32_t beats = 0;
    bool starts = false;  ///< a result starts a chain
    friend bool operator==(const SetUp&, const SetUp&) = default;
  };
  struct Context {
    Owner owner = Owner::nobody;
    std::optional<SetUp> set_up;  ///< of the processor's last store
    std::uint32_t results = 0;    ///< number of reductions
  };
  struct NodeState {
    explicit NodeState(const Hub::Config& hub)
        : timeout(hub.timeout), timeout_now(hub.timeout), contexts(hub.contexts) {}
    std::uint32_t sequence = 0;  ///< number of chains
    std::uint32_t gets = 0;
    struct Due {
      std::uint32_t sequence;
      std::shared_ptr<const Times> of;
    };
    std::optional<Due> due;  ///< the last chain, if not waited for
    bool restarted = false;  ///< the host has restarted since the last reset
    unsigned timeout;        ///< in units, after all queued operations
    unsigned timeout_now;
    std::vector<Context> contexts;
  };

  void check_node(unsigned node) const;
  void check(unsigned node, const Copy& copy) const;
  void check(const Reduction& how) const;
  void check(const Reduction& how, unsigned node, const Sources& from) const;
  void check_length(std::size_t copies, Descriptors in) const;
  void check_area(std::size_t descriptors) const;
  void check_group(const std::vector<unsigned>& nodes, std::uint64_t at, const Reduction& how,
                   const std::vector<unsigned>& memories) const;
  void writable(const std::string& what, std::uint64_t to, std::uint64_t bytes) const;
  /// Calls visit(node, context) for each context whose beats or register overlap the range.
  template <class Visit>
  void each_context(std::uint64_t to, std::uint64_t bytes, Visit&& visit) const;

  // The following methods check nothing.
  /// Records a program's write: contexts in the range belong to the program afterwards.
  void claim(std::uint64_t to, std::uint64_t bytes);
  [[nodiscard]] std::shared_ptr<Times> begin(unsigned node, const std::string& what, const std::string& about = "");
  [[nodiscard]] Processor::Then ends(const std::shared_ptr<Times>& times);
  void stores(unsigned node, std::uint64_t to, std::span<const std::byte> data, const Processor::Then& then = {});
  /// `of`: the operation that the chain is part of; null: the chain itself.
  Outcome add_chain(unsigned node, const std::vector<Copy>& copies, Descriptors in, bool waits,
                    std::shared_ptr<Times> of = {});
  void launch(unsigned node, std::uint64_t chain, const Processor::Then& then = {});
  void set_up(unsigned node, const Reduction& how, std::uint64_t bytes, bool by_hub);
  [[nodiscard]] std::vector<Copy> into_calculator(unsigned node, const Sources& from, const Reduction& how) const;
  struct Shape;
  class Making;

  Fabric& fabric_;
  queue::Timeline operations_{fabric_};
  AddressMap map_;
  std::vector<NodeState> nodes_;
  std::uint32_t groups_ = 0;  ///< number of groups made
  std::uint32_t recoveries_ = 0;
  Ledger ledger_;
  std::vector<std::string> stale_;
};

class Peach2::Group {
 public:
  [[nodiscard]] const std::vector<unsigned>& nodes() const { return nodes_; }
  /// Value of a node's flag after its last reduction.
  [[nodiscard]] std::uint32_t sequence(unsigned node) const { return sequence_.at(node); }

 private:
  friend Peach2;
  std::uint32_t age_ = 0;  ///< recoveries of its Peach2 before it was made
  std::vector<unsigned> nodes_;
  std::uint64_t at_ = 0;
  bool to_processor_ = true;
  std::uint64_t flag_ = 0;  ///< address of the root's flag in its hub's working RAM
  Reduction how_;
  std::vector<std::uint32_t> sequence_;  ///< by node
};

}  // namespace thalweg::peach2
