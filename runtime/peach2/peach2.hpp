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

/// Bytes to copy: their number and the addresses are multiples of 4.
struct Copy {
  std::uint64_t to = 0, from = 0, bytes = 0;
};
/// Records that lie behind each other: an address of this node, a multiple of 16, and bytes.
using Sources = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

/// Where the DMA controller finds its descriptors: in the hub's working RAM, where the host stores them, or in the host's memory.
enum class Descriptors { ram, host };

/// What the calculator is to do.
struct Reduction {
  unsigned context = 0;
  spec::Operator op = spec::Operator::sum;
  spec::Datatype type = spec::Datatype::float32;
  unsigned record_bytes = 32;
  bool tree = false;  ///< all fields of a record to one

  friend bool operator==(const Reduction&, const Reduction&) = default;
};

class Peach2 {
 public:
  explicit Peach2(Fabric& fabric)
      : fabric_(fabric), map_(fabric), nodes_(fabric.nodes(), NodeState(fabric.config().contexts)) {}

  [[nodiscard]] Fabric& fabric() { return fabric_; }

  /// Until all operations have ended, and everything is quiet. Throws Stuck: processors wait, and nothing moves.
  void run();
  /// What the hub of a node has counted: its registers are read, which takes time. Refused where the node has operations that have not ended.
  [[nodiscard]] Counts counts(unsigned node);

  static constexpr std::size_t kMostStored = 1 << 24;
  static constexpr unsigned kLongestAnswer = 64;  ///< units of kTimeoutUnit, 262 us at 250 MHz
  /// The processor writes bytes itself, to wherever the address is: into its own memory without a cost.
  Outcome store(unsigned node, std::uint64_t to, std::span<const std::byte> data);
  /// Until the 32 bits at a place of the processor's memory have a value.
  Outcome await(unsigned node, std::uint64_t at, std::uint32_t value);
  /// Works for so many cycles.
  Outcome work(unsigned node, Tick cycles);
  /// From memory to memory of the node, by the processor's and the GPU's own means.
  Outcome copy(unsigned node, Processor::MemoryAddress to, Processor::MemoryAddress from, std::uint64_t bytes);

  /// The DMA controller copies from the node's own memories, one after the other; at the end the processor is told. With `waits` it
  /// goes on only then.
  Outcome chain(unsigned node, const std::vector<Copy>& copies, Descriptors in = Descriptors::ram, bool waits = true);
  Outcome put(unsigned node, std::uint64_t to, std::uint64_t from, std::uint64_t bytes,
              Descriptors in = Descriptors::ram, bool waits = true) {
    return chain(node, {{to, from, bytes}}, in, waits);
  }

  /// The hub of the node that `from` is of copies to this node: packets that read go to no other node, so the processor writes
  /// what that hub is to do into a place of its own in the hub's working RAM, starts it, and waits for the flag behind the data.
  Outcome get(unsigned node, std::uint64_t to, std::uint64_t from, std::uint64_t bytes);

  /// The data at `from` are copied into the node's calculator, and its result to `to`. The host looks for the result and starts its
  /// copy; or nobody does, `by_hub`: the calculator starts it.
  Outcome reduce(unsigned node, std::uint64_t to, const Sources& from, const Reduction& how = {}, bool by_hub = true);

  /// Nodes that reduce together: the first one is the root.
  class Group;
  /// Each of them has its results at `at` of its processor's memory. Takes the contexts from `how.context` on: two, or three where
  /// there are more nodes than a calculator has places for. An operation of all its nodes, each of which goes on when those that it
  /// will write to are set up.
  Group group(const std::vector<unsigned>& nodes, std::uint64_t at, const Reduction& how = {});
  /// One of the group's nodes brings its data; all nodes have to. No host takes part in between.
  Outcome reduce(Group& group, unsigned node, const Sources& from);

  /// After Stuck: what processors have left undone is forgotten. Contexts are set up anew when they are used again; groups of which an
  /// operation was left are void.
  void recover();

  /// After run: operations of which a write was refused or dropped, or a chain was given up, get an error. Returns a line for
  /// each such write and chain.
  [[nodiscard]] std::string settle();

  /// Gives up the chain that a channel of the hub's DMA controller is at: 0 that of starts, 1 that of results. The hub counts it as a fault.
  /// Throws std::invalid_argument where there is no such channel.
  Outcome abort(unsigned node, unsigned channel = 0);
  /// Both channels, and the chains that wait; after a restart of the host also reads that have had no answer within the time-out, or within
  /// kLongestAnswer units where there is none.
  Outcome reset(unsigned node);
  /// From then on a read of a chain that so many cycles pass without an answer of gives up the chain; 0: none does. Rounded up to units
  /// of kTimeoutUnit.
  Outcome timeout(unsigned node, std::uint64_t cycles);
  /// The host's root complex is reset by itself: it forgets reads that it has not answered.
  Outcome restart_host(unsigned node);
  /// Nodes that may write the hub's registers beside its host: a bit each.
  Outcome owners(unsigned node, std::uint32_t nodes);

  /// The calculator's place for a beat's address in a context.
  [[nodiscard]] std::uint64_t calculator(unsigned node, unsigned context, std::uint64_t at = 0) const;

 private:
  /// Who writes to a context. A program's own writes and the library's don't mix, as neither sees the other's.
  enum class Owner { nobody, program, reductions, group };
  struct SetUp {
    Reduction how;
    std::uint32_t beats = 0;
    bool starts = false;  ///< a chain, when there is a result
    friend bool operator==(const SetUp&, const SetUp&) = default;
  };
  struct Context {
    Owner owner = Owner::nobody;
    std::optional<SetUp> set_up;  ///< as the processor's last store has it
    std::uint32_t results = 0;    ///< of reductions
  };
  struct NodeState {
    explicit NodeState(unsigned all) : contexts(all) {}
    std::uint32_t sequence = 0;  ///< of chains
    std::uint32_t gets = 0;
    struct Due {
      std::uint32_t sequence;
      std::shared_ptr<const Times> of;
    };
    std::optional<Due> due;  ///< the chain that has not been waited for
    bool restarted = false;  ///< the host, since the last reset
    unsigned timeout = 0;    ///< in units, when all operations have ended
    unsigned timeout_now = 0;
    std::vector<Context> contexts;
  };

  void check_node(unsigned node) const;
  void check(unsigned node, const Copy& copy) const;
  void check(const Reduction& how) const;
  void check(const Reduction& how, unsigned node, const Sources& from) const;
  void check_length(std::size_t copies, Descriptors in) const;
  void check_area(std::size_t descriptors) const;
  void check_group(const std::vector<unsigned>& nodes, std::uint64_t at, const Reduction& how) const;
  void writable(const std::string& what, std::uint64_t to, std::uint64_t bytes) const;
  /// Calls visit(node, context) for each context whose beats or register are among those bytes.
  template <class Visit>
  void each_context(std::uint64_t to, std::uint64_t bytes, Visit&& visit) const;

  // From here on nothing is refused.
  /// A program writes there: contexts among it are its own from now on.
  void claim(std::uint64_t to, std::uint64_t bytes);
  [[nodiscard]] std::shared_ptr<Times> begin(unsigned node, const std::string& what, const std::string& about = "");
  [[nodiscard]] Processor::Then ends(const std::shared_ptr<Times>& times);
  void stores(unsigned node, std::uint64_t to, std::span<const std::byte> data, const Processor::Then& then = {});
  /// `of`: the operation that it is a part of, or null where it is one itself.
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
  std::uint32_t groups_ = 0;  ///< made so far
  std::uint32_t recoveries_ = 0;
  Ledger ledger_;
};

class Peach2::Group {
 public:
  [[nodiscard]] const std::vector<unsigned>& nodes() const { return nodes_; }
  /// Of a node's reductions, the number that its flag has when the last one is there.
  [[nodiscard]] std::uint32_t sequence(unsigned node) const { return sequence_.at(node); }

 private:
  friend Peach2;
  std::uint32_t age_ = 0;  ///< how often its Peach2 had recovered
  std::vector<unsigned> nodes_;
  std::uint64_t at_ = 0;
  std::uint64_t flag_ = 0;  ///< the root's, in its hub's working RAM
  Reduction how_;
  std::vector<std::uint32_t> sequence_;  ///< by node
};

}  // namespace thalweg::peach2
