// SPDX-License-Identifier: Apache-2.0
// Reductions by calculators: of a node, and of groups.
#include <algorithm>
#include <bit>
#include <set>

#include "core/require.hpp"
#include "peach2/bytes.hpp"
#include "peach2/peach2.hpp"

namespace thalweg::peach2 {
namespace {

/// Address of a group's last record at a node, followed by its flag.
constexpr std::uint64_t group_result(unsigned context) {
  return kGroupResults + kHead * context;
}

std::uint64_t total(const Sources& from) {
  std::uint64_t bytes = 0;
  for (const auto& source : from) bytes += source.second;
  return bytes;
}

}  // namespace

/// Structure of a group: the root combines all records, or those of leaders.
struct Peach2::Shape {
  Shape(unsigned sums, std::size_t nodes, const Reduction& how)
      : all(nodes), most(sums * 16 / how.record_bytes), levels(nodes > most ? 2 : 1) {}
  [[nodiscard]] std::size_t leaders() const { return (all + most - 1) / most; }

  std::size_t all;
  unsigned most;  ///< records that a calculator combines in one order
  unsigned levels;
};

std::uint64_t Peach2::calculator(unsigned node, unsigned context, std::uint64_t at) const {
  return hub_address(node, kCalculatorAt + map_.context_bytes() * context + at);
}

// --- Checks

void Peach2::check(const Reduction& how) const {
  const auto& config = fabric_.config();
  require(how.context < config.contexts, "context " + std::to_string(how.context) +
                                             " does not exist; the last one is " + std::to_string(config.contexts - 1));
  const auto op = static_cast<std::size_t>(how.op), type = static_cast<std::size_t>(how.type);
  const std::string pair = (op < spec::operator_names.size() ? std::string(name(how.op)) : std::to_string(op)) + " " +
                           (type < spec::datatype_names.size() ? std::string(name(how.type)) : std::to_string(type));
  std::string pairs;
  for (const auto& known : fabric_.pairs()) pairs += (pairs.empty() ? "" : ", ") + known;
  require(std::ranges::find(fabric_.pairs(), pair) != fabric_.pairs().end(),
          "the calculators do not reduce by " + pair + ", only by " + pairs);
  const unsigned most = 16 * config.records;
  require(how.record_bytes >= 16 && how.record_bytes <= most && std::has_single_bit(how.record_bytes),
          "a record of " + std::to_string(how.record_bytes) + " bytes; must be a power of two from 16 to " +
              std::to_string(most));
}

void Peach2::check(const Reduction& how, unsigned node, const Sources& from) const {
  require(!from.empty(), "a reduction must have at least one source");
  check_length(from.size(), Descriptors::ram);
  std::uint64_t bytes = 0;
  for (const auto& [at, count] : from) {
    static_cast<void>(map_.readable("a source", node, at, count));
    require(at % 16 == 0 && count % how.record_bytes == 0,
            "a source of " + std::to_string(count) + " bytes at " + hex(at) + ": must be whole records of " +
                std::to_string(how.record_bytes) + " bytes at a multiple of 16, the bytes of a beat of the bus");
    bytes += count;
  }
  require(bytes <= map_.context_bytes(), "a reduction of " + std::to_string(bytes) +
                                             " bytes; a context accepts at most " +
                                             std::to_string(map_.context_bytes()));
}

void Peach2::check_area(std::size_t descriptors) const {
  const std::uint64_t bytes = kHead + descriptors * kLine;
  require(descriptors <= map_.result_copies(), "the working RAM has " + std::to_string(map_.area_bytes()) +
                                                   " bytes for a context's chain, and " + std::to_string(bytes) +
                                                   " are needed: increase ram_bits or reduce contexts");
}

// --- Reductions of a node

void Peach2::set_up(unsigned node, const Reduction& how, std::uint64_t bytes, bool by_hub) {
  auto& context = nodes_[node].contexts[how.context];
  const SetUp wanted{how, static_cast<std::uint32_t>(bytes / 16), by_hub};
  if (context.set_up == wanted) return;
  context.set_up = wanted;
  const auto record = static_cast<std::uint64_t>(std::countr_zero(how.record_bytes / 16));
  const std::array<std::uint64_t, 2> value{
      wanted.beats | static_cast<std::uint64_t>(how.op) << 32 | static_cast<std::uint64_t>(how.type) << 40 |
          record << 48 | std::uint64_t{how.tree} << 56,
      hub_address(node, map_.result_area(how.context) + kHead) | std::uint64_t{by_hub} << 63};
  fabric_.node(node).processor().store(register_address(node, kContextRegisters + how.context), bytes_of(value));
}

std::vector<Copy> Peach2::into_calculator(unsigned node, const Sources& from, const Reduction& how) const {
  std::vector<Copy> copies;
  std::uint64_t bytes = 0;
  for (const auto& [at, count] : from) {
    copies.push_back({calculator(node, how.context, bytes), at, count});
    bytes += count;
  }
  return copies;
}

Outcome Peach2::reduce(unsigned node, std::uint64_t to, const Sources& from, const Reduction& how, bool by_hub) {
  check_node(node);
  check(how);
  check(how, node, from);
  check_area(2);
  const std::uint64_t bytes = how.tree ? 16 : how.record_bytes;
  writable("a result", to, bytes);
  auto& context = nodes_[node].contexts[how.context];
  require(context.owner == Owner::nobody || context.owner == Owner::reductions,
          "context " + std::to_string(how.context) + " of node " + std::to_string(node) + " belongs to " +
              (context.owner == Owner::group ? "a group" : "the program, which has written to it") +
              ": use another one");
  context.owner = Owner::reductions;
  claim(to, bytes);

  auto& processor = fabric_.node(node).processor();
  const auto times = begin(node, "a reduction", "in context " + std::to_string(how.context) + " to " + hex(to));
  ledger_.writes(node, to, bytes, times);
  set_up(node, how, total(from), by_hub);
  const std::uint32_t result = ++context.results;
  const std::uint64_t at = hub_address(node, map_.result_area(how.context)), first = at + kHead;
  const std::uint64_t flag = kResultFlags + 4 * how.context;
  stores(node, at, bytes_of(result));
  stores(node, first,
         descriptors({{to, calculator(node, how.context), bytes}, {memory_address(node, kProcessor, flag), at, 4}},
                     first));
  add_chain(node, into_calculator(node, from, how), Descriptors::ram, false, times);
  if (!by_hub) {
    processor.await_register(register_address(node, kResultRegisters + how.context), result);
    launch(node, first);
  }
  processor.await(flag, result, ends(times));
  return times;
}

// --- Groups

void Peach2::check_group(const std::vector<unsigned>& nodes, std::uint64_t at, const Reduction& how,
                         const std::vector<unsigned>& memories) const {
  check(how);
  const Shape shape(fabric_.config().sums, nodes.size(), how);
  const auto contexts = fabric_.config().contexts;
  for (const unsigned node : nodes) check_node(node);
  require(!nodes.empty() && std::set(nodes.begin(), nodes.end()).size() == nodes.size(),
          "a group must have at least one node, and each only once");
  require(!how.tree, "a group combines records; a tree is only for reductions of one node");
  require(nodes.size() <= std::size_t{shape.most} * shape.most,
          std::to_string(nodes.size()) + " nodes; with records of " + std::to_string(how.record_bytes) +
              " bytes a calculator has slots for " + std::to_string(shape.most) +
              " nodes, so a group can have at most " + std::to_string(shape.most * shape.most));
  require(how.context + shape.levels < contexts,
          "a group of " + std::to_string(nodes.size()) + " nodes needs " + std::to_string(shape.levels + 1) +
              " contexts from " + std::to_string(how.context) + " on; the last one is " + std::to_string(contexts - 1));
  require(
      !memories.empty() && std::set(memories.begin(), memories.end()).size() == memories.size() &&
          *std::ranges::max_element(memories) < kMemories,
      "the results of a group go to at least one memory of each node, and to each once: 0 is the processor's, 1 and 2 "
      "are the GPUs'");
  check_area(1 + shape.most * (1 + memories.size()) + 3 * shape.leaders());
  const std::string results = "results of " + std::to_string(how.record_bytes) + " bytes";
  if (std::ranges::find(memories, kProcessor) != memories.end()) map_.of_processor(results, at, how.record_bytes);
  require(at % 4 == 0 && at < kProcessorBytes && how.record_bytes <= kProcessorBytes - at,
          results + " at " + std::to_string(at) + ": must be a multiple of 4, and within a memory of " +
              std::to_string(kProcessorBytes) + " bytes");
  for (const unsigned node : nodes)
    for (unsigned level = 0; level <= shape.levels; ++level) {
      const Owner owner = nodes_[node].contexts[how.context + level].owner;
      require(owner == Owner::nobody || owner == Owner::reductions,
              "context " + std::to_string(how.context + level) + " of node " + std::to_string(node) + " belongs to " +
                  (owner == Owner::group ? "another group" : "the program, which has written to it"));
    }
}

/// Sets up a group's processors and hubs before the first reduction.
class Peach2::Making {
 public:
  Making(Peach2& hubs, const std::vector<unsigned>& nodes, std::uint64_t at, const Reduction& how,
         const std::vector<unsigned>& memories, const Shape& shape, std::uint32_t number)
      : hubs_(hubs), nodes_(nodes), at_(at), how_(how), memories_(memories), shape_(shape), number_(number) {}

  /// Record and flag are adjacent in the head of the last context's area, and are sent as one.
  [[nodiscard]] std::uint64_t head(unsigned node) const { return hub_address(node, area(top())); }

  void all() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const unsigned node = nodes_[i], leader = leader_of(i);
      clear_flag(node);
      const std::uint64_t place = i % shape_.most * record();
      chain(node, own(), {{hubs_.calculator(leader, next(), place), hubs_.calculator(node, own()), record()}});
      if (node == leader) lead(i);
    }
    root_chain();
    // No node writes to a calculator before that node's processor has read a register of its hub, which shows that its
    // earlier stores have arrived.
    for (std::size_t i = 0; i < nodes_.size(); i += shape_.most) announce(i);
  }

 private:
  [[nodiscard]] unsigned root() const { return nodes_.front(); }
  [[nodiscard]] unsigned own() const { return how_.context; }
  [[nodiscard]] unsigned next() const { return own() + 1; }
  [[nodiscard]] unsigned top() const { return own() + shape_.levels; }
  [[nodiscard]] unsigned record() const { return how_.record_bytes; }
  [[nodiscard]] std::uint64_t area(unsigned context) const { return hubs_.map_.result_area(context); }
  [[nodiscard]] unsigned leader_of(std::size_t i) const { return nodes_[i / shape_.most * shape_.most]; }
  [[nodiscard]] std::size_t members(std::size_t first) const {
    return std::min<std::size_t>(shape_.most, nodes_.size() - first);
  }
  Processor& processor(unsigned node) { return hubs_.fabric_.node(node).processor(); }

  void clear_flag(unsigned node) {
    auto& memory = hubs_.fabric_.node(node).host().memory(kProcessor);
    processor(node).work(0, [&memory, at = group_result(own()) + record()](Tick) { memory.write(at, bytes_of(0u)); });
  }
  void chain(unsigned node, unsigned context, const std::vector<Copy>& copies) {
    const std::uint64_t at = hub_address(node, area(context) + kHead);
    hubs_.stores(node, at, descriptors(copies, at));
  }
  void combine(unsigned node, unsigned context, std::size_t records) {
    Reduction again = how_;
    again.context = context;
    hubs_.set_up(node, again, records * record(), true);
  }
  [[nodiscard]] std::vector<Copy> to_members(std::vector<Copy> copies, std::size_t first) const {
    const std::uint64_t from = head(nodes_[first]);
    for (std::size_t i = members(first); i-- > 0;) {  // the leader last, since it may then begin the next reduction
      const unsigned node = nodes_[first + i];
      for (const unsigned memory : memories_)  // before the flag, which follows them on the same way
        if (memory != kProcessor) copies.push_back({memory_address(node, memory, at_), from, record()});
      copies.push_back({memory_address(node, kProcessor, group_result(own())), from, record() + 4});
    }
    return copies;
  }
  /// A leader's calculator combines its members' records, and its result is copied to the root's calculator.
  void lead(std::size_t first) {
    const unsigned node = nodes_[first];
    combine(node, next(), members(first));
    if (shape_.levels == 1) return;
    chain(
        node, next(),
        {{hubs_.calculator(root(), top(), first / shape_.most * record()), hubs_.calculator(node, next()), record()}});
    // Other leaders receive record and flag, then a start, and copy them to their members.
    if (node != root()) chain(node, top(), to_members({}, first));
  }
  [[nodiscard]] std::uint64_t start_of(std::size_t first) const {
    return hub_address(root(), area(top()) + hubs_.map_.area_bytes() - 8 * (first / shape_.most));
  }
  void root_chain() {
    std::vector<Copy> copies{{head(root()), hubs_.calculator(root(), top()), record()}};
    for (std::size_t first = shape_.most; first < nodes_.size(); first += shape_.most) {
      const unsigned node = nodes_[first];
      hubs_.stores(root(), start_of(first), bytes_of(hub_address(node, area(top()) + kHead)));
      copies.push_back({head(node), head(root()), record() + 4});
      copies.push_back({register_address(node, kStartRegister), start_of(first), 8});
    }
    if (shape_.levels == 2) combine(root(), top(), shape_.leaders());
    chain(root(), top(), to_members(std::move(copies), 0));
  }
  void announce(std::size_t first) {
    const unsigned leader = nodes_[first];
    const std::uint64_t flag = kReadyFlags + 4 * own();
    processor(leader).load(register_address(leader, kContextRegisters), [](auto) {});
    if (leader != root()) processor(leader).await(flag, number_);
    const auto tell = [&](unsigned node) {
      hubs_.stores(leader, memory_address(node, kProcessor, flag), bytes_of(number_));
    };
    if (leader == root())
      for (std::size_t other = shape_.most; other < nodes_.size(); other += shape_.most) tell(nodes_[other]);
    for (std::size_t i = 1; i < members(first); ++i) {
      tell(nodes_[first + i]);
      processor(nodes_[first + i]).await(flag, number_);
    }
  }

  Peach2& hubs_;
  const std::vector<unsigned>& nodes_;
  std::uint64_t at_;
  const Reduction& how_;
  const std::vector<unsigned>& memories_;
  Shape shape_;
  std::uint32_t number_;
};

Peach2::Group Peach2::group(const std::vector<unsigned>& nodes, std::uint64_t at, const Reduction& how,
                            const std::vector<unsigned>& memories) {
  check_group(nodes, at, how, memories);
  const Shape shape(fabric_.config().sums, nodes.size(), how);
  for (const unsigned node : nodes)
    for (unsigned level = 0; level <= shape.levels; ++level)
      nodes_[node].contexts[how.context + level].owner = Owner::group;
  Making making(*this, nodes, at, how, memories, shape, ++groups_);
  making.all();
  Group group;
  group.nodes_ = nodes;
  group.age_ = recoveries_;
  group.at_ = at;
  group.to_processor_ = std::ranges::find(memories, kProcessor) != memories.end();
  group.flag_ = making.head(nodes.front()) + how.record_bytes;
  group.how_ = how;
  group.sequence_.resize(fabric_.nodes());
  return group;
}

Outcome Peach2::reduce(Group& group, unsigned node, const Sources& from) {
  check_node(node);
  require(std::ranges::find(group.nodes_, node) != group.nodes_.end(),
          "node " + std::to_string(node) + " is not in the group");
  require(group.age_ == recoveries_,
          "the group is invalid, as a run has stopped since it was made: its nodes may have executed different numbers "
          "of operations; make a new one");
  check(group.how_, node, from);
  const unsigned record = group.how_.record_bytes;
  const auto times = begin(node, "a group's reduction", "in context " + std::to_string(group.how_.context));
  set_up(node, group.how_, total(from), true);
  const std::uint32_t sequence = ++group.sequence_[node];
  if (node == group.nodes_.front()) stores(node, group.flag_, bytes_of(sequence));
  add_chain(node, into_calculator(node, from, group.how_), Descriptors::ram, false, times);
  // The hub writes to the library's memory, so data of the program at `at` are never taken for a flag.
  const std::uint64_t at = group.at_, result = group_result(group.how_.context);
  fabric_.node(node).processor().await(
      result + record, sequence,
      [this, node, at, result, record, copies = group.to_processor_, end = ends(times)](Tick cycle) {
        if (copies) {
          std::vector<std::byte> data(record);
          auto& memory = fabric_.node(node).host().memory(kProcessor);
          memory.read(result, data);
          memory.write(at, data);
        }
        end(cycle);
      });
  return times;
}

void Peach2::recover() {
  operations_.forget();
  ++recoveries_;
  for (unsigned node = 0; node < nodes_.size(); ++node) {
    nodes_[node].due.reset();
    nodes_[node].timeout = nodes_[node].timeout_now;
    const auto results = fabric_.counts(node).results;
    for (unsigned c = 0; c < results.size(); ++c) {
      auto& context = nodes_[node].contexts[c];
      context.set_up.reset();
      context.results = results[c];
      if (context.owner == Owner::group) context.owner = Owner::nobody;
    }
  }
}

}  // namespace thalweg::peach2
