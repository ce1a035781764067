// SPDX-License-Identifier: Apache-2.0
#include "accl/program.hpp"

#include <algorithm>
#include <cstring>

#include "core/require.hpp"

namespace thalweg::accl {

/// Functions that compiled kernels call (include/thalweg_hls.hpp).
struct KernelCalls {
  using Running = KernelProgram::Running;
  using Pipe = KernelProgram::Pipe;

  static Running& running() { return *static_cast<Running*>(Kernel::current().context()); }
  static Words& words(void* stream) {
    ++running().program->uses_;
    return *static_cast<Pipe*>(stream)->words;
  }
  static StreamWord word(void* stream, const void* bytes) {
    const auto* from = static_cast<const std::byte*>(bytes);
    return {from, from + static_cast<Pipe*>(stream)->bytes};
  }
  static SourceLine source_line(const hls__location& location) { return {location.file, location.line}; }

  static void* make(const char* name, unsigned long depth) {
    auto& self = running();
    return &self.program->stream_between(self.rank, *name ? name : "of kernel " + self.name, std::max(depth, 1UL));
  }
  static void attach(void* stream, unsigned long bytes) {
    auto& pipe = *static_cast<Pipe*>(stream);
    if (pipe.bytes == 0) pipe.bytes = bytes;
    if (pipe.bytes != bytes)
      throw Misuse("kernel " + running().name + " of rank " + std::to_string(pipe.rank) + ": " + pipe.words->name +
                   " has words of " + std::to_string(pipe.bytes) + " bytes including sideband, but this kernel uses " +
                   std::to_string(bytes));
  }
  static void deepen(void* stream, unsigned long depth) { static_cast<Pipe*>(stream)->words->deepen(depth); }
  static void push(void* stream, const void* value, hls__location location) {
    words(stream).push(word(stream, value), source_line(location));
  }
  static void pop(void* stream, void* value, hls__location location) {
    const auto word = words(stream).pop(source_line(location));
    std::memcpy(value, word.data(), word.size());
  }
  static int try_push(void* stream, const void* value) {
    return static_cast<Pipe*>(stream)->words->try_push(word(stream, value));
  }
  static int try_pop(void* stream, void* value) {
    StreamWord word;
    if (!static_cast<Pipe*>(stream)->words->try_pop(word)) return 0;
    ++running().program->uses_;
    std::memcpy(value, word.data(), word.size());
    return 1;
  }
  static int is_full(void* stream) { return !static_cast<Pipe*>(stream)->words->takes(); }
  static int is_empty(void* stream) { return !static_cast<Pipe*>(stream)->words->gives(); }
  static unsigned long size(void* stream) {
    Kernel::current().synchronize();
    return static_cast<Pipe*>(stream)->words->size();
  }
  static void* begin_process(const char* name, void (*call)(void*), void* context) {
    auto& parent = running();
    auto& program = *parent.program;
    parent.kernel->synchronize();
    auto& process = program.running_.emplace_back();
    process.program = parent.program;
    process.rank = parent.rank;
    process.library = parent.library;
    process.options = parent.options;
    process.start_cycle = parent.start_cycle;
    process.regions = parent.regions;
    process.default_port = parent.default_port;
    process.name = std::string(name) + " in " + parent.name;
    process.call = [call, context] { call(context); };
    process.end = std::make_unique<Words>("the end of " + process.name, 1);
    process.kernel = &program.kernels_.add(
        "kernel " + process.name + " of rank " + std::to_string(process.rank), parent.kernel->domain(),
        [&process] { process.program->body(process, [&process] { process.end->push({}); }); },
        {.serves = process.options.serves, .context = &process, .stack_bytes = KernelProgram::kStack});
    return &process;
  }
  static void join(void* process, hls__location location) {
    static_cast<void>(static_cast<Running*>(process)->end->pop(source_line(location)));
  }
  static void iterate(kernel__loop* loop, const void* from) {
    auto& self = running();
    self.program->iterate(self, *loop, from);
  }
  static void leave(kernel__loop* loop) {
    auto& self = running();
    self.loops.leave(*self.kernel, *loop);
  }
  static void begin_pipeline(kernel__loop* loop, long depth, const void* from) {
    auto& self = running();
    if (loop->interval < 1 || depth < 0)
      throw Misuse(self.program->error_prefix(self, from) + "invalid pipeline with an interval of " +
                   std::to_string(loop->interval) + " cycles and a latency of " + std::to_string(depth) + " cycles");
    self.loops.begin_pipeline(*loop, depth);
  }
  static void pause(long cycles) { Kernel::current().pause(cycles); }
  static void exits(int code, const void* from) {
    auto& self = running();
    const auto what =
        code == HLS__ABORTS ? "aborts" : "calls exit(" + std::to_string(code) + "); a kernel must end by return";
    throw Misuse(self.program->error_prefix(self, from) + what);
  }
  static void throws(const void* thrown, const void* from) {
    if (!Kernel::inside()) return;
    auto& self = running();
    self.thrown = thrown;
    self.thrown_from = from;
  }
  static void memory(unsigned long address, unsigned long bytes, int writes, const void* from) {
    if (!Kernel::inside()) return;
    auto& self = running();
    self.program->memory(self, address, bytes, writes != 0, from);
  }
};

namespace {

const hls__calls kCalls = {.make = KernelCalls::make,
                           .attach = KernelCalls::attach,
                           .deepen = KernelCalls::deepen,
                           .push = KernelCalls::push,
                           .pop = KernelCalls::pop,
                           .try_push = KernelCalls::try_push,
                           .try_pop = KernelCalls::try_pop,
                           .is_full = KernelCalls::is_full,
                           .is_empty = KernelCalls::is_empty,
                           .size = KernelCalls::size,
                           .begin_process = KernelCalls::begin_process,
                           .join = KernelCalls::join,
                           .iterate = KernelCalls::iterate,
                           .leave = KernelCalls::leave,
                           .begin_pipeline = KernelCalls::begin_pipeline,
                           .pause = KernelCalls::pause,
                           .exits = KernelCalls::exits,
                           .throws = KernelCalls::throws,
                           .memory = KernelCalls::memory};

}  // namespace

KernelProgram::KernelProgram(Network& network) : network_(network), kernels_(network.assembly().time()) {
  network_.kernels_blocked = [this] { return blocked(); };
}

KernelProgram::~KernelProgram() {
  network_.kernels_blocked = nullptr;
}

KernelProgram::Pipe& KernelProgram::pipe(Words& words, std::size_t bytes, unsigned rank) {
  for (auto& pipe : pipes_)
    if (pipe.words == &words) return pipe;
  return pipes_.emplace_back(Pipe{.words = &words, .bytes = bytes, .rank = rank});
}

KernelProgram::Pipe& KernelProgram::commands(unsigned rank, std::size_t pair) {
  return pipe(network_.board(rank).kernels().commands(pair), kCommandBytes + kSideband, rank);
}

KernelProgram::Pipe& KernelProgram::status(unsigned rank, std::size_t pair) {
  return pipe(network_.board(rank).kernels().status(pair), kCommandBytes + kSideband, rank);
}

KernelProgram::Pipe& KernelProgram::to_engine(unsigned rank, std::size_t depth) {
  return pipe(network_.board(rank).kernels().to_engine(depth), kDataBytes + kSideband, rank);
}

KernelProgram::Pipe& KernelProgram::from_engine(unsigned rank, unsigned number, std::size_t depth) {
  return pipe(network_.board(rank).kernels().from_engine(number, depth), kDataBytes + kSideband, rank);
}

KernelProgram::Pipe& KernelProgram::stream_between(unsigned rank, const std::string& name, std::size_t depth) {
  auto own = std::make_unique<Words>("stream " + name + " of rank " + std::to_string(rank), depth);
  auto& pipe = pipes_.emplace_back(Pipe{.words = own.get(), .rank = rank});
  pipe.own = std::move(own);
  return pipe;
}

const LoadedLibrary& KernelProgram::library(unsigned rank, const std::string& file) {
  auto& loaded = libraries_[{rank, file}];
  if (loaded) return *loaded;
  loaded = std::make_unique<LoadedLibrary>(file);
  auto* table = static_cast<hls__library_type*>(loaded->symbol("hls__library"));
  if (!table || table->version != HLS__CALLS_VERSION)
    throw std::runtime_error(file + " is not a library of HLS kernels of this version");
  table->calls = &kCalls;
  const Node& board = network_.board(rank);
  for (const int k : {0, 1}) {
    const Memory& memory = k == 0 ? board.device : board.host;
    table->memory[k] = reinterpret_cast<std::uintptr_t>(memory.base());
    table->memory_bytes[k] = memory.limit();
  }
  return *loaded;
}

std::shared_ptr<AxiPort> KernelProgram::port(unsigned rank, bool host) {
  const NodeConfig& config = network_.board(rank).config();
  return std::make_shared<AxiPort>(host ? config.host_bytes_per_cycle : config.memory_bytes_per_cycle,
                                   host ? config.host_latency : config.memory_latency);
}

void KernelProgram::start(Handle handle, unsigned rank, const std::string& file, const std::string& kernel,
                          const std::vector<Argument>& arguments, const Options& options) {
  Node& board = network_.board(rank);
  auto& from = library(rank, file);
  const auto call = reinterpret_cast<void (*)(const hls__argument*)>(from.symbol("hls__call_" + kernel));
  if (!call) throw std::runtime_error(file + " has no kernel " + kernel);
  auto& running = running_.emplace_back();
  running.program = this;
  running.rank = rank;
  running.name = kernel;
  running.library = &from;
  running.options = options;
  running.default_port = port(rank, false);
  std::vector<hls__argument> values;
  std::map<std::pair<bool, std::string>, std::shared_ptr<AxiPort>> ports;
  for (const Argument& argument : arguments) {
    values.push_back(argument.value);
    if (argument.pipe) values.back().at = argument.pipe;
    if (const Region* region = argument.region) {
      values.back().at = (region->host ? board.host : board.device).base() + region->address;
      auto& axi_port = ports[{region->host, region->port}];
      if (!axi_port) axi_port = port(rank, region->host);
      running.regions.emplace_back(*region, axi_port);
    }
  }
  running.call = [this, call, values, &running] {
    do {
      call(values.data());
      ++uses_;
      if (running.options.serves) running.kernel->pause(1);
    } while (running.options.serves);
  };
  running.kernel = &kernels_.add(
      "kernel " + kernel + " of rank " + std::to_string(rank), board.domain(),
      [this, &running, handle] { body(running, [&] { network_.complete({handle, running.kernel->tick()}); }); },
      {.serves = options.serves, .context = &running, .stack_bytes = kStack});
  running.start_cycle = running.kernel->cycle();
}

/// Calls a kernel's code; a fault returns from it.
void KernelProgram::call(Running& running) const {
  if (sigsetjmp(running.fault.jump, 1) != 0)
    throw Misuse(error_prefix(running, running.fault.code) + running.fault.text());
  running.fault.is_set = true;
  running.call();
  running.fault.is_set = false;
}

/// An uncaught exception of a kernel is its fault; exceptions of the runtime are passed to the caller of advance().
void KernelProgram::body(Running& running, const std::function<void()>& at_end) {
  try {
    call(running);
  } catch (...) {
    running.fault.is_set = false;
    const std::string message = describe_exception(running.thrown);
    throw Misuse(error_prefix(running, running.thrown_from) + message);
  }
  for (auto& [region, axi_port] : running.regions) axi_port->drain(*running.kernel);
  running.default_port->drain(*running.kernel);
  running.kernel->synchronize();
  for (const auto& pipe : pipes_) {
    pipe.words->writer.leave(*running.kernel);
    pipe.words->reader.leave(*running.kernel);
  }
  at_end();
}

void KernelProgram::iterate(Running& running, kernel__loop& loop, const void* from) {
  if (running.loops.iterate(*running.kernel, loop) && running.options.limit != kNever &&
      running.kernel->cycle() - running.start_cycle > running.options.limit) [[unlikely]]
    throw Misuse(error_prefix(running, from) + "has not ended after " + std::to_string(running.options.limit) +
                 " cycles, its limit");
  if ((++running.iterations & 0xFFF) != 0 || running.options.patience_s <= 0) return;
  const auto now = std::clock();
  if (checked_uses_ != uses_ || checked_at_ == 0) {
    checked_uses_ = uses_;
    checked_at_ = now;
  } else if (static_cast<double>(now - checked_at_) > running.options.patience_s * CLOCKS_PER_SEC) {
    throw Misuse(error_prefix(running, from) + "has run for " +
                 std::to_string(std::lround(running.options.patience_s)) +
                 " s of processor time in which no kernel has used a stream or memory, up to cycle " +
                 std::to_string(running.kernel->cycle()));
  }
}

void KernelProgram::memory(Running& running, std::uintptr_t address, std::size_t bytes, bool writes, const void* from) {
  Kernel& kernel = *running.kernel;
  const Node& board = network_.board(running.rank);
  for (const bool host : {false, true}) {
    const Memory& memory = host ? board.host : board.device;
    const auto at = address - reinterpret_cast<std::uintptr_t>(memory.base());
    if (address < reinterpret_cast<std::uintptr_t>(memory.base()) || at >= memory.limit()) continue;
    if (!memory.has(at, bytes))
      throw Misuse(error_prefix(running, from) + (writes ? "writes " : "reads ") + std::to_string(bytes) +
                   " bytes at " + std::to_string(at) + " of " + memory.name() + ", which are not allocated");
    ++uses_;
    kernel.synchronize();  // shared with the engine
    auto* axi_port = running.default_port.get();
    for (const auto& [region, port] : running.regions)
      if (region.host == host && at >= region.address && at < region.address + region.bytes) axi_port = port.get();
    if (writes)
      axi_port->write(kernel, at, bytes);
    else
      axi_port->read(kernel, running.loops.pipeline(), at, bytes);
    return;
  }
  throw Misuse(error_prefix(running, from) + (writes ? "writes " : "reads ") + std::to_string(bytes) +
               " bytes at an invalid address");
}

std::string KernelProgram::error_prefix(const Running& running, const void* code) const {
  std::string source_line;
  const auto is_user_code = [](const std::string& line) {
    return !line.starts_with("/usr/") && line.find("runtime/kernels/device/") == std::string::npos &&
           line.find("runtime/accl/include/") == std::string::npos;
  };
  for (const auto& line : running.library->lines(code))
    if (source_line.empty() || (!is_user_code(source_line) && is_user_code(line))) source_line = line;
  return (source_line.empty() ? "" : source_line + ": ") + "kernel " + running.name + " of rank " +
         std::to_string(running.rank) + ": ";
}

}  // namespace thalweg::accl
