// The order of what happens in virtual time: completions of the engine, and events of the server's own.
#pragma once

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>
#include <vector>

#include "mpi/server/host_memory.hpp"
#include "mpi_fpga/engine.hpp"

namespace thalweg::mpi {

using namespace mpi_fpga;  // whose front this is
namespace spec = mpi_fpga::spec;

class Timeline {
 public:
  using Done = std::function<void(Completion::Kind, Tick)>;

  Timeline(Engine& engine, HostMemory memory) : engine_(engine), memory_(memory) {}

  [[nodiscard]] Engine& engine() { return engine_; }
  [[nodiscard]] const Engine& engine() const { return engine_; }
  [[nodiscard]] const HostMemory& memory() const { return memory_; }
  [[nodiscard]] Tick now() const { return engine_.now(); }
  /// The engine takes what is dated `at`, or as early as it still can.
  [[nodiscard]] Tick possible(Tick at) const { return std::max(at, now() - engine_.lookahead()); }

  /// A handle for the engine; `done` is called for each of its completions.
  [[nodiscard]] Handle expect(Done done);
  /// The handle was not used after all.
  void forget(Handle handle) { expected_.erase(handle); }
  /// Sends a message from a rank of a node to another rank. `done` gets `injected` and `arrived`.
  void send(NodeId source, NodeId destination, std::uint64_t bytes, Tick at, Done done);
  /// Calls `event` at time `at`, or at once where that has passed.
  void at(Tick at, std::function<void()> event);

  /// Lets the next thing happen that is due up to `until`, or lets the time pass up to there.
  void step(Tick until);
  /// True when nothing more will happen by itself.
  [[nodiscard]] bool idle() const { return events_.empty() && engine_.idle(); }

 private:
  struct Event {
    Tick at;
    std::uint64_t order;
    std::function<void()> call;
    bool operator>(const Event& other) const { return at != other.at ? at > other.at : order > other.order; }
  };
  void pop_event();

  Engine& engine_;
  HostMemory memory_;
  std::uint64_t next_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::unordered_map<Handle, Done> expected_;
  std::vector<Completion> completed_;
};

}  // namespace thalweg::mpi
