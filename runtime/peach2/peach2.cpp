// SPDX-License-Identifier: Apache-2.0
// Stores, copies and chains; reductions are in reductions.cpp.
#include "peach2/peach2.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "core/require.hpp"
#include "peach2/bytes.hpp"

namespace thalweg::peach2 {

// --- Parts of operations

void Peach2::check_node(unsigned node) const {
  require(node < nodes_.size(),
          "node " + std::to_string(node) + " does not exist; the last one is " + std::to_string(nodes_.size() - 1));
}

void Peach2::run() {
  while (!operations_.idle()) operations_.step(kNever);
  fabric_.check_ended();
}

Counts Peach2::counts(unsigned node) {
  check_node(node);
  require(fabric_.node(node).processor().idle(),
          "node " + std::to_string(node) +
              " has outstanding operations, and its hub's registers are read after them: call run() first");
  auto counts = fabric_.counts(node);
  require(counts.complete, "hub " + std::to_string(node) + " does not answer reads of its registers");
  return counts;
}

std::string Peach2::settle() {
  auto lines = ledger_.settle(fabric_);
  // All is idle: a failed chain will not write its flag.
  for (auto& node : nodes_)
    if (node.due && !node.due->of->error.empty()) node.due.reset();
  return lines;
}

std::shared_ptr<Times> Peach2::begin(unsigned node, const std::string& what, const std::string& about) {
  auto times = std::make_shared<Times>();
  times->what = what + " of node " + std::to_string(node) + (about.empty() ? "" : " " + about);
  times->handle = operations_.expect([this, times](const Completion& completion) {
    (completion.last ? times->end : times->begin) = fabric_.cycles(completion.at);
  });
  fabric_.node(node).processor().work(0, fabric_.completes(times->handle, false));
  return times;
}
Processor::Then Peach2::ends(const std::shared_ptr<Times>& times) {
  return fabric_.completes(times->handle);
}

void Peach2::check(unsigned node, const Copy& copy) const {
  static_cast<void>(map_.readable("a copy", node, copy.from, copy.bytes));
  static_cast<void>(writable("a copy", copy.to, copy.bytes));
}

template <class Visit>
void Peach2::each_context(std::uint64_t to, std::uint64_t bytes, Visit&& visit) const {
  const auto place = map_.locate(to);
  const bool calculator = place.part == Location::Part::calculator;
  if (!calculator && place.part != Location::Part::registers) return;
  const std::uint64_t each = calculator ? map_.context_bytes() : 16,
                      first = calculator ? 0 : unsigned{kContextRegisters};
  for (unsigned c = 0; c < fabric_.config().contexts; ++c)
    if (place.at < (first + c + 1) * each && place.at + bytes > (first + c) * each) visit(place.node, c);
}

void Peach2::writable(const std::string& what, std::uint64_t to, std::uint64_t bytes) const {
  static_cast<void>(map_.writable(what, to, bytes));
  each_context(to, bytes, [&](unsigned node, unsigned c) {
    const Owner owner = nodes_[node].contexts[c].owner;
    require(owner == Owner::nobody || owner == Owner::program,
            what + " to " + hex(to) + " accesses context " + std::to_string(c) + " of hub " + std::to_string(node) +
                ", which belongs to " + (owner == Owner::group ? "a group" : "reductions of its node"));
  });
}

void Peach2::claim(std::uint64_t to, std::uint64_t bytes) {
  each_context(to, bytes, [&](unsigned node, unsigned c) { nodes_[node].contexts[c].owner = Owner::program; });
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

std::vector<std::byte> descriptors(const std::vector<Copy>& copies, std::uint64_t at) {
  std::vector<std::byte> data;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    spec::DmaDescriptor descriptor;
    descriptor.source = copies[i].from;
    descriptor.destination = copies[i].to;
    descriptor.size = static_cast<std::uint32_t>(copies[i].bytes);
    descriptor.last = i + 1 == copies.size();
    descriptor.next = descriptor.last ? 0 : at + (i + 1) * kLine;
    append(data, descriptor.pack());
  }
  return data;
}

void Peach2::launch(unsigned node, std::uint64_t chain, const Processor::Then& then) {
  fabric_.node(node).processor().store(register_address(node, kStartRegister), bytes_of(chain), then);
}

Outcome Peach2::abort(unsigned node, unsigned channel) {
  check_node(node);
  require(channel < kChannels, "channel " + std::to_string(channel) +
                                   " of a DMA controller does not exist: 0 is for started chains, 1 for result chains");
  const auto times = begin(node, "an abort");
  fabric_.node(node).processor().store(register_address(node, kAbortRegister), bytes_of(std::uint64_t{1} << channel),
                                       ends(times));
  return times;
}

Outcome Peach2::reset(unsigned node) {
  check_node(node);
  const auto times = begin(node, "a reset");
  auto& state = nodes_[node];
  auto& processor = fabric_.node(node).processor();
  const auto purge = [&] { processor.store(register_address(node, kAbortRegister), bytes_of(std::uint64_t{0x303})); };
  const auto limit = [&](std::uint64_t units) {
    processor.store(register_address(node, kTimeoutRegister), bytes_of(units));
  };
  if (std::exchange(state.restarted, false)) {  // a hub abandons reads only after a time-out
    const unsigned units = state.timeout ? std::min(state.timeout, kLongestAnswer) : kLongestAnswer;
    purge();
    if (state.timeout != units) limit(units);
    processor.work(Tick{units + 1} * kTimeoutUnit);
    if (state.timeout != units) limit(state.timeout);
  }
  purge();
  processor.work(2 * kPurgeCycles, ends(times));  // a chain that starts sooner is aborted, too
  ledger_.gives_up(node);
  return times;
}

Outcome Peach2::timeout(unsigned node, std::uint64_t cycles) {
  check_node(node);
  const std::uint64_t units = (cycles + kTimeoutUnit - 1) / kTimeoutUnit;
  require(units <= kMostTimeout, "a time-out of " + std::to_string(cycles) + " cycles; the maximum is " +
                                     std::to_string(kMostTimeout * kTimeoutUnit));
  const auto times = begin(node, "a change of the time-out");
  nodes_[node].timeout = static_cast<unsigned>(units);
  fabric_.node(node).processor().store(register_address(node, kTimeoutRegister), bytes_of(units),
                                       [this, node, units, end = ends(times)](Tick cycle) {
                                         nodes_[node].timeout_now = static_cast<unsigned>(units);
                                         end(cycle);
                                       });
  return times;
}

Outcome Peach2::restart_host(unsigned node) {
  check_node(node);
  const auto times = begin(node, "a restart of the host");
  nodes_[node].restarted = true;
  fabric_.node(node).processor().restart(ends(times));
  return times;
}

Outcome Peach2::owners(unsigned node, std::uint32_t nodes) {
  check_node(node);
  require(nodes < 1U << kMostNodes, "owners must have one bit for each of " + std::to_string(kMostNodes) + " nodes");
  const auto times = begin(node, "a change of owners");
  fabric_.node(node).processor().store(register_address(node, kOwnersRegister), bytes_of(std::uint64_t{nodes}),
                                       ends(times));
  return times;
}

Outcome Peach2::translate(unsigned node, unsigned link, bool outbound, std::uint64_t first, std::uint64_t to,
                          std::uint64_t bytes) {
  check_node(node);
  require(link < kLinks,
          "link " + std::to_string(link) + " does not exist; a hub has links 0 to 3: north, east, west, south");
  require(std::has_single_bit(bytes) && bytes >> kPageBits != 0,
          "a translation of " + std::to_string(bytes) + " bytes; must be a power of two of at least 4096");
  for (const std::uint64_t address : {first, to}) {
    const auto place = map_.writable("a translation", address, bytes);
    require(place.part <= Location::Part::hub_memory && address % bytes == 0,
            "a translation at " + hex(address) + " in " + place.name() +
                "; must be in a memory, at a multiple of its size, " + std::to_string(bytes));
  }
  const auto times = begin(node, "a change of a translation");
  const auto page = [](std::uint64_t address) { return static_cast<std::uint32_t>(address >> kPageBits); };
  const auto rule =
      register_of({.used = first != to, .mask = page(kAddresses - bytes), .lower = page(first), .upper = page(to)});
  stores(node, register_address(node, kTranslationRegisters + 2 * link + outbound), std::as_bytes(std::span(rule)),
         ends(times));
  return times;
}

// --- Stores, copies, chains

Outcome Peach2::store(unsigned node, std::uint64_t to, std::span<const std::byte> data) {
  check_node(node);
  require(data.size() <= kMostStored, "a store of " + std::to_string(data.size()) +
                                          " bytes; a processor stores at most " + std::to_string(kMostStored) +
                                          ": use a put");
  writable("a store", to, data.size());
  claim(to, data.size());
  const auto times = begin(node, "a store", "of " + std::to_string(data.size()) + " bytes to " + hex(to));
  if (to >> kMemoryShift == memory_address(node, kProcessor) >> kMemoryShift) {
    std::vector<std::byte> bytes(data.begin(), data.end());
    fabric_.node(node).processor().work(0, [this, node, to, bytes = std::move(bytes), end = ends(times)](Tick cycle) {
      fabric_.node(node).host().memory(kProcessor).write(to % kProcessorBytes, bytes);
      end(cycle);
    });
  } else {
    stores(node, to, data, ends(times));
    ledger_.writes(node, to, data.size(), times);
  }
  return times;
}

Outcome Peach2::await(unsigned node, std::uint64_t at, std::uint32_t value) {
  check_node(node);
  map_.of_processor("a wait for 4 bytes", at, 4);
  const auto times = begin(node, "a wait");
  fabric_.node(node).processor().await(at, value, ends(times));
  return times;
}

Outcome Peach2::work(unsigned node, Tick cycles) {
  check_node(node);
  require(cycles >= 0, "work of " + std::to_string(cycles) + " cycles; must be at least 0");
  const auto times = begin(node, "work");
  fabric_.node(node).processor().work(cycles, ends(times));
  return times;
}

Outcome Peach2::kernel(unsigned node, Tick cycles, const Sources& reads) {
  check_node(node);
  require(cycles >= 0, "a kernel of " + std::to_string(cycles) + " cycles; must be at least 0");
  for (const auto& [at, bytes] : reads) {
    const auto place = map_.readable("a kernel's read", node, at, bytes);
    require(place.part == Location::Part::gpu0 || place.part == Location::Part::gpu1,
            "a kernel's read of " + std::to_string(bytes) + " bytes at " + hex(at) + ": that is " + place.name() +
                "; a kernel reads its GPU's memory");
  }
  const auto times = begin(node, "a kernel");
  fabric_.node(node).processor().work(cycles, ends(times), [this, node, reads, times](Tick cycle) {
    for (const auto& [at, bytes] : reads) {
      const auto place = map_.locate(at);
      auto& seen = times->seen.emplace_back(bytes);
      const unsigned memory = place.part == Location::Part::gpu0 ? kGpu0 : kGpu1;
      if (const auto unseen = fabric_.node(node).host().read_by_gpu(cycle, memory, place.at, seen)) {
        const auto ns = std::llround(1e9 * static_cast<double>(cycle - unseen->arrived) / fabric_.cycles_per_second());
        times->error = place.name() + " gave its kernel old data: it does not yet see the write of " +
                       std::to_string(unseen->before.size()) + " bytes to " + hex(at - place.at + unseen->at) +
                       " by node " + std::to_string(unseen->source.node) + ", which arrived " + std::to_string(ns) +
                       " ns before; flush the GPU first";
        stale_.push_back(times->error);
      }
    }
  });
  return times;
}

Outcome Peach2::flush(unsigned node, unsigned gpu) {
  check_node(node);
  require(gpu < kMemories - 1, "GPU " + std::to_string(gpu) + " does not exist; a node has 0 and 1");
  const auto times = begin(node, "a flush");
  fabric_.node(node).processor().flush(kGpu0 + gpu, ends(times));
  return times;
}

std::string Peach2::take_stale() {
  std::string lines;
  for (const auto& line : std::exchange(stale_, {})) lines += (lines.empty() ? "" : "\n") + line;
  return lines;
}

Outcome Peach2::copy(unsigned node, Processor::MemoryAddress to, Processor::MemoryAddress from, std::uint64_t bytes) {
  check_node(node);
  for (const auto& place : {to, from}) {
    require(place.memory < kMemories, "a copy of memory " + std::to_string(place.memory) +
                                          "; a processor copies between its own, 0, and its GPUs', 1 and 2");
    require(bytes > 0 && bytes <= kMostBytes,
            "a copy of " + std::to_string(bytes) + " bytes; must be 1 to " + std::to_string(kMostBytes));
    const std::uint64_t size = place.memory == kProcessor ? kProgramBytes : kProcessorBytes;
    require(place.at <= size && bytes <= size - place.at,
            "a copy of " + std::to_string(bytes) + " bytes at " + std::to_string(place.at) + " of memory " +
                std::to_string(place.memory) + ", of which a program may use " + std::to_string(size));
  }
  const auto times = begin(node, "a copy");
  fabric_.node(node).processor().copy(from, to, bytes, ends(times));
  return times;
}

Outcome Peach2::chain(unsigned node, const std::vector<Copy>& copies, Descriptors in, bool waits) {
  check_node(node);
  require(!copies.empty(), "a chain must have at least one copy");
  check_length(copies.size(), in);
  for (const auto& copy : copies) check(node, copy);
  for (const auto& copy : copies) claim(copy.to, copy.bytes);
  return add_chain(node, copies, in, waits);
}

void Peach2::check_length(std::size_t copies, Descriptors in) const {
  const bool ram = in == Descriptors::ram;
  const std::uint64_t most = ram ? map_.ram_copies() : kChainBytes / kLine - kOwnLines;
  require(copies <= most, std::to_string(copies) + " copies; a chain in " +
                              (ram ? "the working RAM" : "the host's memory") + " can have at most " +
                              std::to_string(most));
}

Outcome Peach2::add_chain(unsigned node, const std::vector<Copy>& copies, Descriptors in, bool waits,
                          std::shared_ptr<Times> of) {
  auto& state = nodes_[node];
  auto& processor = fabric_.node(node).processor();
  // Two areas alternate: a chain has been waited for before its area is reused.
  const std::uint32_t sequence = ++state.sequence;
  const bool ram = in == Descriptors::ram;
  const std::uint64_t at = ram ? hub_address(node, kRamAt) + sequence % 2 * map_.chain_area()
                               : memory_address(node, kProcessor, kChainsAt) + sequence % 2 * kChainBytes;
  auto with_flag = copies;
  with_flag.push_back({memory_address(node, kProcessor, kChainFlag), at, 4});
  const auto block = flagged(sequence, descriptors(with_flag, at + kLine));

  const auto& first = copies.front();
  const std::string what = copies.size() == 1 ? "a put" : "a chain of " + std::to_string(copies.size()) + " copies";
  const auto times = begin(node, what,
                           std::string(copies.size() == 1 ? "" : "with the first one ") + "of " +
                               std::to_string(first.bytes) + " bytes to " + hex(first.to) + " from " + hex(first.from));
  if (!of) of = times;
  for (const auto& copy : with_flag) ledger_.writes(node, copy.to, copy.bytes, of);
  if (ram)
    stores(node, at, block, {});
  else
    processor.work(0, [this, node, at, block](Tick) {
      fabric_.node(node).host().memory(kProcessor).write(at % kProcessorBytes, block);
    });
  if (state.due) processor.await(kChainFlag, state.due->sequence);
  launch(node, at + kLine, [this, node, at, of, end = waits ? Processor::Then{} : ends(times)](Tick cycle) {
    ledger_.started(node, at + kLine, of);
    if (end) end(cycle);
  });
  if (waits) processor.await(kChainFlag, sequence, ends(times));
  state.due.reset();
  if (!waits) state.due = NodeState::Due{sequence, of};
  return times;
}

Outcome Peach2::get(unsigned node, std::uint64_t to, std::uint64_t from, std::uint64_t bytes) {
  check_node(node);
  const auto source = map_.locate(from);
  require(source.part != Location::Part::nothing, "a get from " + hex(from) + ": no node has that address");
  const unsigned of = source.node;
  check(of, {to, from, bytes});
  require(map_.locate(to).node == node, "a get to " + hex(to) + ": that is " + map_.locate(to).name() + "; node " +
                                            std::to_string(node) + " can only get into its own memories");
  claim(to, bytes);
  const std::uint32_t sequence = ++nodes_[node].gets;
  const std::uint64_t at = hub_address(of, kRamAt) + map_.proxies_at() + kProxy * node;
  const auto block = flagged(
      sequence, descriptors({{to, from, bytes}, {memory_address(node, kProcessor, kGetFlag), at, 4}}, at + kLine));

  auto& processor = fabric_.node(node).processor();
  const auto times =
      begin(node, "a get", "of " + std::to_string(bytes) + " bytes to " + hex(to) + " from " + hex(from));
  ledger_.writes(node, at, block.size(), times);
  ledger_.writes(node, register_address(of, kStartRegister), 8, times);
  ledger_.writes(of, to, bytes, times);
  stores(node, at, block, {});
  processor.store(register_address(of, kStartRegister), bytes_of(at + kLine));
  processor.await(kGetFlag, sequence, ends(times));
  return times;
}

}  // namespace thalweg::peach2
