// SPDX-License-Identifier: Apache-2.0
// What a program does with hubs: puts, chains of copies, notices and reductions, each an operation of a node's processor.
//
// Operations of one node come one behind the other, those of different nodes at once; `Fabric::run` lets them happen. Addresses
// are those that all share (peach2/addresses.hpp). The processor's memory ends with a page and a MByte that are kept for flags and
// for descriptors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "peach2/driver/fabric.hpp"

namespace thalweg::peach2 {

/// When an operation began and ended, in cycles of the packets' clock; before that, negative.
struct Times {
  Tick begin = -1, end = -1;
};
using Handle = std::shared_ptr<const Times>;

/// Bytes to copy: their number and the addresses are multiples of 4.
struct Copy {
  std::uint64_t to = 0, from = 0;
  std::uint32_t bytes = 0;
};

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
  explicit Peach2(Fabric& fabric) : fabric_(fabric), nodes_(fabric.nodes(), NodeState(fabric.config().contexts)) {}

  [[nodiscard]] Fabric& fabric() { return fabric_; }

  /// The processor writes bytes itself, to wherever the address is: into its own memory without a cost.
  /// Throws std::invalid_argument where they are no multiples of 4.
  Handle store(unsigned node, std::uint64_t to, std::span<const std::byte> data);
  /// Until the 32 bits at a place of the processor's memory have a value.
  Handle await(unsigned node, std::uint64_t at, std::uint32_t value);
  /// Works for so many cycles.
  Handle work(unsigned node, Tick cycles);
  /// From memory to memory of the node, by the processor's and the GPU's own means.
  Handle copy(unsigned node, Processor::Place to, Processor::Place from, std::size_t bytes);

  /// The DMA controller copies, one after the other; at the end the processor is told. With `waits` it goes on only then.
  /// Throws std::invalid_argument where addresses are wrong, or descriptors too many.
  Handle chain(unsigned node, const std::vector<Copy>& copies, Descriptors in = Descriptors::ram, bool waits = true);
  Handle put(unsigned node, std::uint64_t to, std::uint64_t from, std::uint32_t bytes,
             Descriptors in = Descriptors::ram, bool waits = true) {
    return chain(node, {{to, from, bytes}}, in, waits);
  }

  /// The hub of the node that `from` is of copies to this node: packets that read go to no other node, so the processor writes
  /// what that hub is to do into a place of its own in the hub's working RAM, starts it, and waits for the flag behind the data.
  /// Throws std::invalid_argument where addresses are wrong.
  Handle get(unsigned node, std::uint64_t to, std::uint64_t from, std::uint32_t bytes);

  /// The data at `from`, records that lie behind each other, are copied into the node's calculator, and its result to `to`. The
  /// host looks for the result and starts its copy; or nobody does, `by_hub`: the calculator starts it.
  /// Throws std::invalid_argument where bytes are no records, or too many.
  Handle reduce(unsigned node, std::uint64_t to, const std::vector<std::pair<std::uint64_t, std::uint32_t>>& from,
                const Reduction& how = {}, bool by_hub = true);

  /// Nodes that reduce together: the first one is the root.
  class Group;
  /// Each of them has its results at `at` of its processor's memory, a record and a flag of 4 bytes. Takes the contexts from
  /// `how.context` on: two, or three where there are more nodes than a calculator has places for.
  /// Throws std::invalid_argument where there are too many nodes for that, or one twice.
  Group group(const std::vector<unsigned>& nodes, std::uint64_t at, const Reduction& how = {});
  /// One of the group's nodes brings its data; all nodes have to. No host takes part in between.
  Handle reduce(Group& group, unsigned node, const std::vector<std::pair<std::uint64_t, std::uint32_t>>& from);

  /// The calculator's place for a beat's address in a context.
  [[nodiscard]] std::uint64_t calculator(unsigned node, unsigned context, std::uint64_t at = 0) const;

 private:
  struct NodeState {
    explicit NodeState(unsigned all) : contexts(all), beats(all), results(all), starts(all), taken(all) {}
    std::uint32_t sequence = 0;  ///< of chains
    std::uint32_t gets = 0;
    std::optional<std::uint32_t> due;  ///< the chain that has not been waited for
    std::vector<std::optional<Reduction>> contexts;
    std::vector<std::uint32_t> beats, results;
    std::vector<bool> starts;  ///< contexts whose result starts a chain
    std::vector<bool> taken;   ///< by groups
  };

  [[nodiscard]] std::uint64_t ram_bytes() const { return std::uint64_t{16} << fabric_.config().ram_bits; }
  [[nodiscard]] std::uint64_t area_bytes() const;
  [[nodiscard]] std::uint64_t result_area(unsigned context) const;
  void set_up(unsigned node, const Reduction& how, std::uint64_t bytes, bool by_hub);
  void stores(unsigned node, std::uint64_t to, std::span<const std::byte> data, const Processor::Then& then);
  [[nodiscard]] std::shared_ptr<Times> begin(unsigned node);
  [[nodiscard]] Processor::Then ends(const std::shared_ptr<Times>& times);
  void check(const Copy& copy) const;
  std::vector<std::byte> descriptors(const std::vector<Copy>& copies, std::uint64_t at) const;
  void launch(unsigned node, std::uint64_t chain, const Processor::Then& then);
  std::vector<Copy> into_calculator(unsigned node, const std::vector<std::pair<std::uint64_t, std::uint32_t>>& from,
                                    const Reduction& how, std::uint64_t& bytes) const;

  Fabric& fabric_;
  std::vector<NodeState> nodes_;
};

class Peach2::Group {
 public:
  [[nodiscard]] const std::vector<unsigned>& nodes() const { return nodes_; }
  /// Of a node's reductions, the number that its flag has when the last one is there.
  [[nodiscard]] std::uint32_t sequence(unsigned node) const { return sequence_.at(node); }

 private:
  friend Peach2;
  std::vector<unsigned> nodes_;
  std::uint64_t at_ = 0, flag_ = 0;
  Reduction how_;
  std::vector<std::uint32_t> sequence_;  ///< by node
};

}  // namespace thalweg::peach2
