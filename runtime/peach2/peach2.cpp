// SPDX-License-Identifier: Apache-2.0
#include "peach2/peach2.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include "core/require.hpp"

namespace thalweg::peach2 {
namespace {

constexpr std::uint64_t kMemory = std::uint64_t{1} << kMemoryShift;
constexpr std::uint64_t kFlagsAt = kMemory - 4096, kChainsAt = kFlagsAt - (1 << 20);
constexpr std::uint64_t kChainFlag = kFlagsAt, kResultFlag = kFlagsAt + 64, kGetFlag = kFlagsAt + 512;
constexpr std::uint64_t kLine = 32;   ///< a descriptor, and what is beside it
constexpr std::uint64_t kProxy = 96;  ///< a flag and two descriptors
constexpr std::uint64_t kProxies = kProxy * kMostNodes;
constexpr std::uint64_t kHead = 160;  ///< of an area: a record of 128 bytes and a flag, in lines

template <class T>
std::vector<std::byte> bytes_of(const T& value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  return {bytes.begin(), bytes.end()};
}
template <class T>
void append(std::vector<std::byte>& to, const T& value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  to.insert(to.end(), bytes.begin(), bytes.end());
}
void pad(std::vector<std::byte>& data) {
  data.resize((data.size() + kLine - 1) / kLine * kLine);
}

}  // namespace

// --- What operations are made of

std::shared_ptr<Times> Peach2::begin(unsigned node) {
  auto times = std::make_shared<Times>();
  fabric_.node(node).processor().work(0, [this, times](Tick cycle) { times->begin = fabric_.since_start(cycle); });
  return times;
}
Processor::Then Peach2::ends(const std::shared_ptr<Times>& times) {
  return [this, times](Tick cycle) { times->end = fabric_.since_start(cycle); };
}

void Peach2::check(const Copy& copy) const {
  require(copy.bytes > 0 && copy.bytes % 4 == 0 && copy.to % 4 == 0 && copy.from % 4 == 0,
          "a copy of " + std::to_string(copy.bytes) + " bytes from " + std::to_string(copy.from) + " to " +
              std::to_string(copy.to) + ": the bytes, at least 4, and the addresses are multiples of 4");
  require(copy.to + copy.bytes <= kAddresses && copy.from + copy.bytes <= kAddresses,
          "a copy goes beyond the 512 GByte of all addresses");
}

void Peach2::stores(unsigned node, std::uint64_t to, std::span<const std::byte> data, const Processor::Then& then) {
  auto& processor = fabric_.node(node).processor();
  for (std::size_t done = 0; done < data.size();) {
    const std::size_t count =
        std::min<std::size_t>(data.size() - done, Processor::kStoreBytes - (to + done) % Processor::kStoreBytes);
    const auto part = data.subspan(done, count);
    processor.store(to + done, {part.begin(), part.end()}, done + count == data.size() ? then : Processor::Then{});
    done += count;
  }
}

/// They lead from each to the next one, from `at` on.
std::vector<std::byte> Peach2::descriptors(const std::vector<Copy>& copies, std::uint64_t at) const {
  std::vector<std::byte> data;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    check(copies[i]);
    spec::DmaDescriptor descriptor;
    descriptor.source = copies[i].from;
    descriptor.destination = copies[i].to;
    descriptor.size = copies[i].bytes;
    descriptor.last = i + 1 == copies.size();
    descriptor.next = descriptor.last ? 0 : at + (i + 1) * kLine;
    append(data, descriptor.pack());
  }
  return data;
}

void Peach2::launch(unsigned node, std::uint64_t chain, const Processor::Then& then) {
  fabric_.node(node).processor().store(register_address(node, kStartRegister), bytes_of(chain), then);
}

// --- Stores, copies, chains

Handle Peach2::store(unsigned node, std::uint64_t to, std::span<const std::byte> data) {
  require(to % 4 == 0 && data.size() % 4 == 0 && !data.empty() && to + data.size() <= kAddresses,
          "a store of " + std::to_string(data.size()) + " bytes to " + std::to_string(to) +
              ": the bytes, at least 4, and the address are multiples of 4");
  const auto times = begin(node);
  if (to >> kMemoryShift == memory_address(node, kProcessor) >> kMemoryShift) {
    std::vector<std::byte> bytes(data.begin(), data.end());
    fabric_.node(node).processor().work(0, [this, node, to, bytes = std::move(bytes), end = ends(times)](Tick cycle) {
      fabric_.node(node).host().memory(kProcessor).write(to % kMemory, bytes);
      end(cycle);
    });
  } else {
    stores(node, to, data, ends(times));
  }
  return times;
}

Handle Peach2::await(unsigned node, std::uint64_t at, std::uint32_t value) {
  require(at % 4 == 0 && at < kMemory, "what is waited for lies in the processor's memory, at a multiple of 4");
  const auto times = begin(node);
  fabric_.node(node).processor().await(at, value, ends(times));
  return times;
}

Handle Peach2::work(unsigned node, Tick cycles) {
  const auto times = begin(node);
  fabric_.node(node).processor().work(cycles, ends(times));
  return times;
}

Handle Peach2::copy(unsigned node, Processor::Place to, Processor::Place from, std::size_t bytes) {
  const auto times = begin(node);
  fabric_.node(node).processor().copy(from, to, bytes, ends(times));
  return times;
}

Handle Peach2::chain(unsigned node, const std::vector<Copy>& copies, Descriptors in, bool waits) {
  require(!copies.empty(), "a chain has a copy at least");
  auto& state = nodes_.at(node);
  auto& processor = fabric_.node(node).processor();
  // Two areas take turns: what is in one has been waited for when it comes again.
  const std::uint32_t sequence = ++state.sequence;
  const bool ram = in == Descriptors::ram;
  const std::uint64_t area = ram ? (ram_bytes() / 2 - kProxies) / 2 : std::uint64_t{1} << 19;
  const std::uint64_t at =
      (ram ? hub_address(node, kRamAt) : memory_address(node, kProcessor, kChainsAt)) + sequence % 2 * area;
  require((copies.size() + 2) * kLine <= area, std::to_string(copies.size()) + " copies; a chain in " +
                                                   (ram ? "the working RAM" : "the host's memory") + " has " +
                                                   std::to_string(area / kLine - 2) + " at most");
  auto with_flag = copies;
  with_flag.push_back({memory_address(node, kProcessor, kChainFlag), at, 4});
  std::vector<std::byte> block = bytes_of(sequence);
  pad(block);
  const auto described = descriptors(with_flag, at + kLine);
  block.insert(block.end(), described.begin(), described.end());

  const auto times = begin(node);
  if (ram)
    stores(node, at, block, {});
  else
    processor.work(
        0, [this, node, at, block](Tick) { fabric_.node(node).host().memory(kProcessor).write(at % kMemory, block); });
  if (state.due) processor.await(kChainFlag, *state.due);
  launch(node, at + kLine, waits ? Processor::Then{} : ends(times));
  if (waits) processor.await(kChainFlag, sequence, ends(times));
  state.due = waits ? std::nullopt : std::optional(sequence);
  return times;
}

Handle Peach2::get(unsigned node, std::uint64_t to, std::uint64_t from, std::uint32_t bytes) {
  const auto of = static_cast<unsigned>(from >> kNodeShift);
  require(of < fabric_.nodes(), "there is no node with the address " + std::to_string(from));
  const std::uint32_t sequence = ++nodes_.at(node).gets;
  const std::uint64_t at = hub_address(of, kRamAt) + ram_bytes() / 2 - kProxies + kProxy * node;
  std::vector<std::byte> block = bytes_of(sequence);
  pad(block);
  const auto described =
      descriptors({{to, from, bytes}, {memory_address(node, kProcessor, kGetFlag), at, 4}}, at + kLine);
  block.insert(block.end(), described.begin(), described.end());

  auto& processor = fabric_.node(node).processor();
  const auto times = begin(node);
  stores(node, at, block, {});
  processor.store(register_address(of, kStartRegister), bytes_of(at + kLine));
  processor.await(kGetFlag, sequence, ends(times));
  return times;
}

// --- Reductions

std::uint64_t Peach2::calculator(unsigned node, unsigned context, std::uint64_t at) const {
  return hub_address(node, kCalculatorAt + kCalculatorBytes / fabric_.config().contexts * context + at);
}

/// Of the chain that a context's result starts: a part of the working RAM's upper half, with a head and then the descriptors.
std::uint64_t Peach2::area_bytes() const {
  return ram_bytes() / 2 / fabric_.config().contexts;
}
std::uint64_t Peach2::result_area(unsigned context) const {
  return kRamAt + ram_bytes() / 2 + area_bytes() * context;
}

void Peach2::set_up(unsigned node, const Reduction& how, std::uint64_t bytes, bool by_hub) {
  auto& state = nodes_.at(node);
  const auto& config = fabric_.config();
  require(how.context < config.contexts,
          "context " + std::to_string(how.context) + "; a calculator has " + std::to_string(config.contexts));
  require(how.record_bytes >= 16 && how.record_bytes <= 16 * config.records &&
              (how.record_bytes & (how.record_bytes - 1)) == 0,
          "a record of " + std::to_string(how.record_bytes) + " bytes; 16 to " + std::to_string(16 * config.records) +
              " in powers of two can be");
  require(bytes > 0 && bytes % how.record_bytes == 0 && bytes <= kCalculatorBytes / config.contexts,
          std::to_string(bytes) + " bytes are no records of " + std::to_string(how.record_bytes) + ", or more than " +
              std::to_string(kCalculatorBytes / config.contexts));
  const auto beats = static_cast<std::uint32_t>(bytes / 16);
  const unsigned c = how.context;
  if (state.contexts[c] == how && state.beats[c] == beats && state.starts[c] == by_hub) return;
  state.contexts[c] = how;
  state.beats[c] = beats;
  state.starts[c] = by_hub;
  const auto record = static_cast<std::uint64_t>(std::countr_zero(how.record_bytes / 16));
  const std::array<std::uint64_t, 2> value{beats | static_cast<std::uint64_t>(how.op) << 32 |
                                               static_cast<std::uint64_t>(how.type) << 40 | record << 48 |
                                               std::uint64_t{how.tree} << 56,
                                           hub_address(node, result_area(c) + kHead) | std::uint64_t{by_hub} << 63};
  fabric_.node(node).processor().store(register_address(node, kContextRegisters + c), bytes_of(value));
}

std::vector<Copy> Peach2::into_calculator(unsigned node,
                                          const std::vector<std::pair<std::uint64_t, std::uint32_t>>& from,
                                          const Reduction& how, std::uint64_t& bytes) const {
  std::vector<Copy> copies;
  bytes = 0;
  for (const auto& [at, count] : from) {
    copies.push_back({calculator(node, how.context, bytes), at, count});
    require(at % 16 == 0 && count % how.record_bytes == 0,
            std::to_string(count) + " bytes at " + std::to_string(at) + " are no records of " +
                std::to_string(how.record_bytes) + " at a multiple of 16, as a beat of the bus is");
    bytes += count;
  }
  return copies;
}

Handle Peach2::reduce(unsigned node, std::uint64_t to, const std::vector<std::pair<std::uint64_t, std::uint32_t>>& from,
                      const Reduction& how, bool by_hub) {
  require(!nodes_.at(node).taken.at(how.context),
          "context " + std::to_string(how.context) + " of node " + std::to_string(node) + " has a group");
  std::uint64_t bytes = 0;
  const auto copies = into_calculator(node, from, how, bytes);
  auto& state = nodes_.at(node);
  auto& processor = fabric_.node(node).processor();
  const auto times = begin(node);
  set_up(node, how, bytes, by_hub);
  const std::uint32_t result = ++state.results[how.context];
  const std::uint64_t at = hub_address(node, result_area(how.context)), first = at + kHead;
  const std::uint64_t told = kResultFlag + 4 * how.context;
  stores(node, at, bytes_of(result), {});
  stores(node, first,
         descriptors({{to, calculator(node, how.context), how.tree ? 16 : how.record_bytes},
                      {memory_address(node, kProcessor, told), at, 4}},
                     first),
         {});
  chain(node, copies, Descriptors::ram, false);
  if (!by_hub) {
    processor.await_register(register_address(node, kResultRegisters + how.context), result);
    launch(node, first, {});
  }
  processor.await(told, result, ends(times));
  return times;
}

Peach2::Group Peach2::group(const std::vector<unsigned>& nodes, std::uint64_t at, const Reduction& how) {
  const auto& config = fabric_.config();
  const unsigned most = config.sums * 16 / how.record_bytes;  // records that a calculator combines in one order
  const unsigned levels = nodes.size() > most ? 2 : 1;
  require(!nodes.empty() && std::set(nodes.begin(), nodes.end()).size() == nodes.size(),
          "a group has different nodes, one at least");
  require(!how.tree && nodes.size() <= std::size_t{most} * most && how.context + levels < config.contexts,
          std::to_string(nodes.size()) + " nodes: a calculator has " + std::to_string(most) +
              " places for records, and " + std::to_string(config.contexts) + " contexts, of which " +
              std::to_string(levels + 1) + " are needed");
  require(at % 4 == 0 && at + how.record_bytes + 4 <= kChainsAt, "results lie in the processor's memory");
  for (const unsigned node : nodes)
    for (unsigned level = 0; level <= levels; ++level) {
      auto&& taken = nodes_.at(node).taken;
      require(!taken[how.context + level], "context " + std::to_string(how.context + level) + " of node " +
                                               std::to_string(node) + " has a group already");
      taken[how.context + level] = true;
    }

  const unsigned root = nodes.front(), own = how.context, next = own + 1, top = own + levels;
  const unsigned record = how.record_bytes;
  const auto members = [&](std::size_t first) { return std::min<std::size_t>(most, nodes.size() - first); };
  const auto put_chain = [&](unsigned node, unsigned context, const std::vector<Copy>& copies) {
    const std::uint64_t chain = hub_address(node, result_area(context) + kHead);
    stores(node, chain, descriptors(copies, chain), {});
  };
  const auto combine = [&](unsigned node, unsigned context, std::size_t records) {
    Reduction again = how;
    again.context = context;
    set_up(node, again, records * record, true);
  };
  // Record and flag stand together in the head of the last context's area, and go out as one.
  const auto head = [&](unsigned node) { return hub_address(node, result_area(top)); };
  Group group;
  group.nodes_ = nodes;
  group.at_ = at;
  group.flag_ = head(root) + record;
  group.how_ = how;
  group.sequence_.resize(fabric_.nodes());
  const auto to_members = [&](std::vector<Copy> copies, std::size_t first) {
    for (std::size_t i = members(first); i-- > 0;)  // the leader itself at last: after that it may begin anew
      copies.push_back({memory_address(nodes[first + i], kProcessor, at), head(nodes[first]), record + 4});
    return copies;
  };

  std::vector<Copy> last{{head(root), calculator(root, top), record}};  // what the root does with the result
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::size_t first = i / most * most;
    const unsigned node = nodes[i], leader = nodes[first];
    put_chain(node, own, {{calculator(leader, next, (i - first) * record), calculator(node, own), record}});
    if (node != leader) continue;
    combine(node, next, members(first));
    if (levels == 1) continue;
    put_chain(node, next, {{calculator(root, top, first / most * record), calculator(node, next), record}});
    if (node == root) continue;
    // Another leader gets record and flag, and then its start: it hands them on to its own.
    put_chain(node, top, to_members({}, first));
    const std::uint64_t start = hub_address(root, result_area(top) + area_bytes() - 8 * (first / most));
    stores(root, start, bytes_of(hub_address(node, result_area(top) + kHead)), {});
    last.push_back({head(node), head(root), record + 4});
    last.push_back({register_address(node, kStartRegister), start, 8});
  }
  if (levels == 2) combine(root, top, (nodes.size() + most - 1) / most);
  put_chain(root, top, to_members(std::move(last), 0));
  return group;
}

Handle Peach2::reduce(Group& group, unsigned node, const std::vector<std::pair<std::uint64_t, std::uint32_t>>& from) {
  require(std::ranges::find(group.nodes_, node) != group.nodes_.end(),
          "node " + std::to_string(node) + " is not in the group");
  const unsigned record = group.how_.record_bytes;
  std::uint64_t bytes = 0;
  const auto copies = into_calculator(node, from, group.how_, bytes);
  const auto times = begin(node);
  set_up(node, group.how_, bytes, true);
  const std::uint32_t sequence = ++group.sequence_[node];
  if (node == group.nodes_.front()) stores(node, group.flag_, bytes_of(sequence), {});
  chain(node, copies, Descriptors::ram, false);
  fabric_.node(node).processor().await(group.at_ + record, sequence, ends(times));
  return times;
}

}  // namespace thalweg::peach2
