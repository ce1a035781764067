// SPDX-License-Identifier: Apache-2.0
// Kernels: user code that runs in simulated time, as plain calls on its own stack.
//
// A kernel has a current cycle of its clock. It uses each end of a stream at most once per cycle; a second use moves it
// to the next cycle, so a loop takes as many cycles as its pipeline would. Data carry the tick at which they became
// available. A kernel can therefore run ahead of others as long as these ticks are known, with the same timing as in
// cycle-by-cycle stepping.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <source_location>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/blocked.hpp"
#include "core/clock.hpp"
#include "core/fiber.hpp"
#include "core/stalls.hpp"

namespace thalweg {

/// A source line of a kernel's code.
struct SourceLine {
  const char* file = "";
  unsigned line = 0;

  SourceLine(const char* in_file, unsigned at_line) : file(in_file), line(at_line) {}
  SourceLine(const std::source_location& place) : file(place.file_name()), line(place.line()) {}

  [[nodiscard]] std::string text() const { return std::string(file) + ":" + std::to_string(line); }
};

/// A resource that its kernel can use once per cycle: the tick of the last use.
struct OncePerCycle {
  Tick used = -1;
};

class StreamEnd;

/// The operation that a kernel is blocked in.
struct Wait {
  const char* to = nullptr;          ///< "push into", "pop from"; null: it does not wait
  const StreamEnd* other = nullptr;  ///< the stream's other end, whose user must act
  SourceLine where{"", 0};
  Tick since = 0;
};

class Kernels;

class Kernel : public Component {
 public:
  struct Options {
    bool serves = false;      ///< runs forever: it does not count as deadlocked when it waits
    void* context = nullptr;  ///< user data, returned by current().context()
    std::size_t stack_bytes = Fiber::kStack;
  };

  /// The calling kernel. Throws std::logic_error outside of kernels.
  static Kernel& current();
  static bool inside() { return current_ != nullptr; }

  [[nodiscard]] const std::string& name() const { return name_; }
  /// The edge of the current cycle, in ticks.
  [[nodiscard]] Tick tick() const { return tick_; }
  [[nodiscard]] Tick cycle() const { return (tick_ - domain_.clock.phase) / domain_.clock.period; }
  [[nodiscard]] bool ended() const { return fiber_.done(); }
  [[nodiscard]] bool serves() const { return serves_; }
  [[nodiscard]] const Wait& waits() const { return wait_; }
  [[nodiscard]] void* context() const { return context_; }
  /// Total stalled ticks.
  [[nodiscard]] Tick stalled() const { return stalled_; }
  /// Stalls with times and causes; null if not recorded.
  [[nodiscard]] const Stalls* stalls() const { return stalls_.get(); }
  [[nodiscard]] Domain& domain() { return domain_; }
  [[nodiscard]] Tick period() const { return domain_.clock.period; }
  /// True if an address lies in the guard page below the stack. Called by a signal handler.
  [[nodiscard]] bool overflowed(const void* at) const { return fiber_.overflowed(at); }

  /// Called in the kernel: consumes `cycles`. Throws std::invalid_argument if negative.
  void pause(Tick cycles);

  /// Pipeline depth: ticks from the start of an iteration to its end; 0 outside of pipelines.
  [[nodiscard]] Tick depth_ticks() const { return depth_ticks_; }
  /// The same in cycles: the number of iterations in flight.
  [[nodiscard]] Tick depth() const { return depth_; }

  // Primitives of streams and memories; called in the kernel, except awake().

  /// Before a use of a port: a second use in a cycle moves to the next cycle.
  void open(const OncePerCycle& port) {
    if (port.used == tick_) skip_to(tick_ + domain_.clock.period);
  }
  /// After a use.
  void close(OncePerCycle& port) { port.used = tick_; }
  /// Stalls with this cause until the first cycle whose edge is later than `tick`.
  void continue_after(Tick tick, Cause cause) {
    if (tick < tick_) return;
    const auto next = first_after(tick);
    stalled_ += next - tick_;
    if (stalls_) [[unlikely]]
      record_stall(next, cause);
    skip_to(next);
  }
  /// Advances to `edge` if it lies ahead; not counted as a stall.
  void reach(Tick edge) {
    if (edge > tick_) skip_to(edge);
  }
  /// Waits until all others have been stepped up to the kernel's cycle.
  void synchronize() {
    if (tick_ > stepped_) suspend_until(tick_);
  }
  /// Blocks until awake() is called.
  void block(const Wait& wait);
  /// Called by others: the awaited event happened at `tick`.
  void awake(Tick tick) { domain_.wake(id_, domain_.clock.cycle_after(tick)); }

  /// Called by Kernels::add().
  Kernel(Kernels& all, std::string name, Domain& domain, std::function<void()> body, const Options& options);
  bool step(Tick cycle) override;

 private:
  friend Kernels;
  friend class Pipeline;

  struct Cancelled {};

  void end();
  void cancel();

  [[nodiscard]] Tick first_after(Tick tick) const {
    const auto late = tick - tick_, period = domain_.clock.period;
    return tick_ + (late < period ? period : (late / period + 1) * period);
  }
  void skip_to(Tick tick) {
    tick_ = tick;
    if (tick > limit_) [[unlikely]]
      suspend_until(tick);
  }
  void suspend_until(Tick tick);
  void suspend();
  void record_stall(Tick until, Cause cause);

  static thread_local Kernel* current_;

  Kernels& all_;
  std::string name_;
  Domain& domain_;
  ComponentId id_ = 0;
  Tick tick_ = 0;
  Tick limit_ = 0;    ///< tick up to which it may run ahead of the others
  Tick stepped_ = 0;  ///< everything before this tick has been stepped
  Tick stalled_ = 0;
  Tick depth_ = 0, depth_ticks_ = 0;
  bool serves_, cancelled_ = false;
  void* context_;
  Wait wait_;
  std::unique_ptr<Stalls> stalls_;
  Fiber fiber_;
};

/// A pipelined loop in a kernel. An iteration starts `interval` cycles after the previous one, plus stalls. Pushed data
/// leave `depth` cycles later. Space is claimed at the push, as in a pipeline that never stalls for data already
/// inside. At the end of the scope the pipeline drains.
class Pipeline {
 public:
  /// Throws std::invalid_argument if the interval is not positive or the depth is negative.
  explicit Pipeline(Tick interval = 1, Tick depth = 0);
  ~Pipeline() noexcept(false);
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  /// Call at the start of each iteration.
  void iterate();

 private:
  Kernel& kernel_;
  Tick interval_;
  Tick begun_ = -1;
  Tick stalled_ = 0;
  Tick outer_depth_;
  int unwinding_ = std::uncaught_exceptions();
};

/// The kernels of a simulation.
class Kernels {
 public:
  /// `ahead`: cycles that a kernel may run ahead of the others; 0 steps cycle by cycle, with the same result.
  explicit Kernels(Domains& time, Tick ahead = 4096) : time_(time), ahead_(ahead) {}
  /// Unwinds the stacks of unfinished kernels, which frees their objects.
  ~Kernels();
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;

  /// Kernels added from now on record their stalls.
  void record() { records_ = true; }

  /// The kernel starts in its clock's next cycle. Call between two advances or in a step. The reference stays valid.
  Kernel& add(std::string name, Domain& domain, std::function<void()> body, const Kernel::Options& options = {});

  /// Returns true once all non-serving kernels have ended, false at tick `until`. Throws Stuck, or a kernel's
  /// exception.
  bool run(Tick until = kNever);
  /// Advances to `until`, to the tick after an interrupt, or by 2^40 ticks. Rethrows a kernel's exception.
  void advance(Tick until);

  /// The number of non-serving kernels that have not ended.
  [[nodiscard]] std::size_t running() const { return running_; }
  /// Those of them that wait.
  [[nodiscard]] std::vector<Blocked> blocked() const;

 private:
  friend Kernel;

  /// Deadlock report: a line per waiting kernel, and the wait-for cycle.
  [[nodiscard]] Stuck stuck() const;

  Domains& time_;
  Tick ahead_;
  std::deque<Kernel> kernels_;
  std::size_t running_ = 0;
  bool records_ = false;
};

}  // namespace thalweg
