// SPDX-License-Identifier: Apache-2.0
#include "smi/program.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

#include "core/require.hpp"
#include "kernels/faults.hpp"
#include "smi/running.hpp"

namespace thalweg::smi {

Program::Program(Domains& time, Domain& clock, const Config& config, std::vector<std::vector<Port>> ports)
    : time_(time), clock_(clock), config_(config), kernels_(time) {
  if (config_.world == 0) config_.world = static_cast<unsigned>(ports.size());
  require(config_.world <= ports.size(),
          std::to_string(ports.size()) + " ranks, but programs for " + std::to_string(config_.world));
  for (auto& rank_ports : ports) {
    auto& rank = ranks_.emplace_back();
    for (auto& port : rank_ports) rank.ports.push_back({.port = std::move(port)});
    rank.banks.assign(config.banks, Bank(config.bank));
  }
}

Program::~Program() = default;

Buffer& Program::buffer(unsigned rank, unsigned bank, const std::string& name, std::size_t bytes) {
  require(rank < ranks(), "rank " + std::to_string(rank) + " does not exist; there are " + std::to_string(ranks()));
  require(bank < config_.banks, "buffer " + name + " is in bank " + std::to_string(bank) + ", and a rank has " +
                                    std::to_string(config_.banks));
  auto& added = memory_.add(name, rank, bank, bytes);
  added.address = ranks_[rank].banks[bank].allocate(bytes);
  return added;
}

Library& Program::library(unsigned rank, const std::string& file) {
  auto& libraries = ranks_[rank].libraries;
  for (auto& [name, library] : libraries)
    if (name == file) return *library;
  libraries.emplace_back(file,
                         std::make_unique<Library>(file, smi_calls(), memory_.begin(), DeviceMemory::kReserved, rank));
  return *libraries.back().second;
}

Handle Program::start(unsigned rank, const std::string& file, const std::string& kernel,
                      std::vector<Argument> arguments, bool serves) {
  require(rank < ranks(), "rank " + std::to_string(rank) + " does not exist; there are " + std::to_string(ranks()));
  auto& from = library(rank, file);
  const auto call = from.kernel(kernel);
  if (!call) throw std::runtime_error(file + " has no kernel " + kernel);
  auto& running = running_.emplace_back(*this, rank, kernel);
  running.library = &from;
  running.arguments = std::move(arguments);
  std::vector<bool> banks(config_.banks);
  std::vector<Buffer*> seen;
  for (auto& argument : running.arguments) {
    auto* buffer = argument.buffer;
    if (!buffer) continue;
    require(buffer->rank == rank, "kernel " + kernel + " of rank " + std::to_string(rank) + " gets buffer " +
                                      buffer->name + " of rank " + std::to_string(buffer->rank));
    argument.bytes.resize(sizeof buffer->at);
    std::memcpy(argument.bytes.data(), &buffer->at, sizeof buffer->at);
    if (std::find(seen.begin(), seen.end(), buffer) == seen.end()) {
      seen.push_back(buffer);
      ++buffer->kernels;
    }
    banks[buffer->bank] = true;
  }
  for (unsigned bank = 0; bank < config_.banks; ++bank)
    if (banks[bank]) ranks_[rank].banks[bank].share();
  running.call = [call, &running] {
    std::vector<void*> pointers;
    for (auto& argument : running.arguments) pointers.push_back(argument.bytes.data());
    call(pointers.data());
  };
  return start(running, serves);
}

Handle Program::start(unsigned rank, const std::string& kernel, std::function<void()> call, bool serves) {
  require(rank < ranks(), "rank " + std::to_string(rank) + " does not exist; there are " + std::to_string(ranks()));
  auto& running = running_.emplace_back(*this, rank, kernel);
  running.call = std::move(call);
  return start(running, serves);
}

Handle Program::start(Running& running, bool serves) {
  running.number = static_cast<int>(running_.size()) - 1;
  for (auto& bank : ranks_[running.rank].banks)
    running.banks.push_back({.bursts = Bursts(config_.bank.dram.burst_bytes), .port = BankPort(bank)});
  running.kernel = &kernels_.add("kernel " + running.name + " of rank " + std::to_string(running.rank), clock_,
                                 [this, &running] { body(running); },
                                 {.serves = serves, .context = &running, .stack_bytes = kStack});
  return static_cast<Handle>(running.number);
}

/// Calls a kernel. An uncaught exception of the kernel is its fault; exceptions of the runtime are passed to the caller
/// of run().
void Program::call(Running& running) const {
  try {
    running.call();
  } catch (...) {
    const std::string message = describe_exception(running.thrown);
    throw Misuse(error_prefix(running.number, std::array{const_cast<void*>(running.thrown_from)}) + message);
  }
}

int Program::number(const Running& running) const {
  return running.number;
}

std::string Program::error_prefix(int kernel, std::span<void* const> code) const {
  const auto& running = running_[static_cast<std::size_t>(kernel)];
  std::string source_line;
  const auto is_user_code = [](const std::string& line) { return !line.starts_with("/usr/"); };
  for (auto* at : code)
    for (const auto& line : running.library ? running.library->lines(at) : std::vector<std::string>{})
      if (source_line.empty() || (!is_user_code(source_line) && is_user_code(line))) source_line = line;
  return (source_line.empty() ? "" : source_line + ": ") + "rank " + std::to_string(running.rank) + ", kernel " +
         running.name + ": ";
}

void Program::body(Running& running) {
  call(running);
  auto& kernel = *running.kernel;
  end_bursts(running);
  for (auto& state : ranks_[running.rank].ports)
    if (state.user == &running && state.unfinished) {
      const smi__location opened{state.channel.file, state.channel.line};
      reject(running, opened,
             "the kernel has ended, and of the channel that this opens on port " +
                 std::to_string(state.port.endpoint.port) + " only " + std::to_string(state.channel.done) + " of " +
                 std::to_string(state.channel.calls) + " elements have been used");
    }
  check_limit(running, {}, kernel.cycle());
  ++uses_;
  running.ended = kernel.cycle();
  running.has_ended = true;
  ended_.push_back({static_cast<Handle>(running.number), kernel.tick()});
  time_.interrupt();
}

bool Program::idle() const {
  return ended_.empty() && (kernels_.running() == 0 || time_.next_due() == kNever);
}

void Program::advance(Tick until, std::vector<Completion>& completed) {
  while (ended_.empty() && !idle() && now() < until) kernels_.advance(until);
  completed.insert(completed.end(), ended_.begin(), ended_.end());
  ended_.clear();
}

void Program::run() {
  const auto& clock = clock_.clock;
  const bool limited = limit_ < kNever / clock.period - 1;
  const Tick end = limited ? clock.phase + (limit_ + 1) * clock.period : kNever;
  std::vector<Completion> completed;
  while (!idle() && now() < end) advance(end, completed);
  if (kernels_.running() == 0) return warn_of_unread();
  if (idle()) throw stuck();
  throw Late(late());
}

void Program::check_limit(const Running& running, std::span<void* const> code, Tick cycle) const {
  if (cycle > limit_ && !running.kernel->serves()) throw Late(late(running, code));
}

std::string Program::late(const Running& running, std::span<void* const> code) const {
  auto source_line = error_prefix(running.number, code);
  if (source_line.starts_with("rank ") && running.current_call.location.file)
    source_line = line(running.current_call.location) + ": " + source_line;
  return source_line + "has not ended by cycle " + std::to_string(limit_) +
         ", the limit; if that is not an endless loop, allow more (--max-cycles)";
}

/// The message for the first kernel that should have ended.
std::string Program::late() const {
  const auto first = std::find_if(running_.begin(), running_.end(), [](const Running& running) {
    return !running.has_ended && !running.kernel->serves();
  });
  return late(*first, {});
}

std::vector<Program::Started> Program::started() const {
  std::vector<Started> all;
  for (const auto& running : running_)
    all.push_back({.rank = running.rank,
                   .kernel = running.name,
                   .serves = running.kernel->serves(),
                   .ended = running.has_ended,
                   .cycle = running.ended,
                   .stalls = running.kernel->stalls()});
  return all;
}

void Program::reject(const Running& running, const smi__location& location, const std::string& message) const {
  throw Misuse(line(location) + ": rank " + std::to_string(running.rank) + ", kernel " + running.name + ": " + message);
}

void Program::warn(const std::string& message) {
  if (std::find(warnings_.begin(), warnings_.end(), message) == warnings_.end()) warnings_.push_back(message);
}

Program::PortState& Program::port_of(Running& running, const Channel& channel) {
  return ranks_[running.rank].ports[channel.port];
}

}  // namespace thalweg::smi
