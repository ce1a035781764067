// SPDX-License-Identifier: Apache-2.0
// Functions that compiled kernels call (device/calls.h).
#include <array>

#include "smi/running.hpp"

namespace thalweg::smi {

struct Calls {
  static Program::Running& running() { return *static_cast<Program::Running*>(Kernel::current().context()); }

  static void open(void* channel, const smi__open* description) {
    auto& self = running();
    self.program.open(self, *static_cast<Channel*>(new (channel) Channel), *description);
  }
  static void push(void* to, smi__variable value, int flush, smi__location location) {
    auto& self = running();
    auto& channel = *static_cast<Channel*>(to);
    auto& program = self.program;
    auto& state = program.enter(self, channel, SMI__SEND, location);
    program.check_type(self, channel, value, location);
    if (flush != 0 && state.circuit)
      program.reject(
          self, location,
          std::string("SMI_Push_flush: the message (") + channel.file + ":" + std::to_string(channel.line) +
              ") is a circuit, whose packets are always full; flushing needs a cluster with packet switching");
    program.push_element(state, channel, value, flush != 0, location);
    if (program.config_.synchronous) program.wait_for_pop(self, state, location);
    program.finish(state, channel);
    if (flush) state.flushed = channel.done;
  }
  static void pop(void* from, smi__variable value, smi__location location) {
    auto& self = running();
    auto& channel = *static_cast<Channel*>(from);
    auto& program = self.program;
    auto& state = program.enter(self, channel, SMI__RECEIVE, location);
    program.check_type(self, channel, value, location);
    const unsigned source = program.pop_element(state, channel, value, location);
    if (source != static_cast<unsigned>(channel.peer))
      program.reject(self, location,
                     "the data at port " + std::to_string(state.port.endpoint.port) + " come from rank " +
                         std::to_string(source) + ", but the channel (" + channel.file + ":" +
                         std::to_string(channel.line) + ") is for rank " + std::to_string(channel.peer));
    if (program.config_.synchronous) program.popped(self, channel, state.port.endpoint.port);
    program.finish(state, channel);
  }
  static void collective(void* channel, smi__kind kind, smi__variable send, smi__variable receive,
                         smi__location location) {
    auto& self = running();
    self.program.collective(self, *static_cast<Channel*>(channel), kind, send, receive, location);
  }
  static void world(int* comm) {
    auto& self = running();
    comm[0] = static_cast<int>(self.rank);
    comm[1] = static_cast<int>(self.program.config_.world);
    comm[2] = 0;
    comm[3] = 1;
  }
  static void range(int* comm, int first, int stride, int size, smi__location location) {
    auto& self = running();
    const int last = first + stride * (size - 1), own = comm[0] - first;
    if (size < 1 || stride == 0 || first < 0 || first >= comm[1] || last < 0 || last >= comm[1])
      self.program.reject(self, location,
                          "SMI_Comm_range: a communicator of " + std::to_string(comm[1]) + " has no ranks " +
                              std::to_string(first) + ", " + std::to_string(first + stride) + ", ..., " +
                              std::to_string(size) + " of them");
    if (own % stride != 0 || own / stride < 0 || own / stride >= size)
      self.program.reject(self, location, "SMI_Comm_range: rank " + std::to_string(comm[0]) + " is not one of them");
    comm[0] = own / stride;
    comm[1] = size;
    comm[2] += comm[3] * first;
    comm[3] *= stride;
  }
  static void write(void* channel, const void* value, unsigned long, smi__location location) {
    auto& self = running();
    self.current_call = {"", location, nullptr};
    ++self.program.uses_;
    self.library->pipe(channel).write(*self.kernel, value, source_line(location));
  }
  static void read(void* channel, void* value, unsigned long, smi__location location) {
    auto& self = running();
    self.current_call = {"", location, nullptr};
    ++self.program.uses_;
    self.library->pipe(channel).read(*self.kernel, value, source_line(location));
  }
  static int try_write(void* channel, const void* value, unsigned long, smi__location) {
    auto& self = running();
    return self.library->pipe(channel).try_write(*self.kernel, value);
  }
  static int try_read(void* channel, void* value, unsigned long, smi__location) {
    auto& self = running();
    return self.library->pipe(channel).try_read(*self.kernel, value);
  }
  static void iterate(kernel__loop* loop, const void* from) { running().iterate(*loop, from); }
  static void leave(kernel__loop* loop) {
    auto& self = running();
    self.loops.leave(*self.kernel, *loop);
  }
  static void begin_pipeline(kernel__loop* loop, long depth, const void* from) {
    auto& self = running();
    if (loop->interval < 1 || depth < 0)
      throw Misuse(self.program.error_prefix(self.number, std::array{const_cast<void*>(from)}) +
                   "#pragma smi: interval(" + std::to_string(loop->interval) + ") depth(" + std::to_string(depth) +
                   "); the interval must be at least 1, the depth at least 0");
    self.loops.begin_pipeline(*loop, depth);
  }
  static void exits(int code, const void* from) {
    auto& self = running();
    throw Misuse(self.program.error_prefix(self.number, std::array{const_cast<void*>(from)}) + "calls exit(" +
                 std::to_string(code) + "); a kernel must end by return");
  }
  static void throws(const void* thrown, const void* from) {
    if (!Kernel::inside()) return;
    auto& self = running();
    self.thrown = thrown;
    self.thrown_from = from;
  }
  static void memory(unsigned long address, unsigned long bytes, int writes, const void* from) {
    auto& self = running();
    self.program.memory(self, address, bytes, writes != 0, from);
  }
  static void channel(void* to, void* address, unsigned long bytes, unsigned long element, long depth,
                      const char* name) {
    static_cast<Library*>(to)->add_channel(address, bytes, element, depth, name);
  }
};

const smi__calls& smi_calls() {
  static const smi__calls kCalls = {.open = Calls::open,
                                    .push = Calls::push,
                                    .pop = Calls::pop,
                                    .collective = Calls::collective,
                                    .world = Calls::world,
                                    .range = Calls::range,
                                    .write = Calls::write,
                                    .read = Calls::read,
                                    .try_write = Calls::try_write,
                                    .try_read = Calls::try_read,
                                    .iterate = Calls::iterate,
                                    .leave = Calls::leave,
                                    .begin_pipeline = Calls::begin_pipeline,
                                    .exits = Calls::exits,
                                    .throws = Calls::throws,
                                    .memory = Calls::memory,
                                    .channel = Calls::channel};
  return kCalls;
}

}  // namespace thalweg::smi
