// SPDX-License-Identifier: Apache-2.0
// Kernels: user code that runs in simulated time, as plain calls on its own stack.
//
// A kernel is in a cycle of its clock. It uses each end of a stream at most once per cycle; a second use is in the next cycle, so a
// loop takes as many cycles as its pipeline would. Data carry the tick at which they became available. A kernel can therefore run
// ahead of others as long as these ticks are known, with the same timing as if all were stepped cycle by cycle.
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

/// A line of the code that runs as a kernel.
struct SourceLine {
  const char* file = "";
  unsigned line = 0;

  SourceLine(const char* in_file, unsigned at_line) : file(in_file), line(at_line) {}
  SourceLine(const std::source_location& place) : file(place.file_name()), line(place.line()) {}

  [[nodiscard]] std::string text() const { return std::string(file) + ":" + std::to_string(line); }
};

/// What can be used once a cycle by its kernel: the tick of its last use.
struct OncePerCycle {
  Tick used = -1;
};

class StreamEnd;

/// What a kernel stands still for.
struct Wait {
  const char* to = nullptr;          ///< "push into", "pop from"; none: it does not wait
  const StreamEnd* other = nullptr;  ///< the stream's other end: who has to do something
  SourceLine where{"", 0};
  Tick since = 0;
};

class Kernels;

class Kernel : public Component {
 public:
  struct Options {
    bool serves = false;      ///< goes on for ever: that it waits at the end is no deadlock
    void* context = nullptr;  ///< what its code finds at current().context()
    std::size_t stack_bytes = Fiber::kStack;
  };

  /// The kernel whose code calls. Throws std::logic_error outside of one.
  static Kernel& current();
  static bool inside() { return current_ != nullptr; }

  [[nodiscard]] const std::string& name() const { return name_; }
  /// The edge of its cycle, in ticks.
  [[nodiscard]] Tick tick() const { return tick_; }
  [[nodiscard]] Tick cycle() const { return (tick_ - domain_.clock.phase) / domain_.clock.period; }
  [[nodiscard]] bool ended() const { return fiber_.done(); }
  [[nodiscard]] bool serves() const { return serves_; }
  [[nodiscard]] const Wait& waits() const { return wait_; }
  [[nodiscard]] void* context() const { return context_; }
  /// Ticks that it has stood still, in all.
  [[nodiscard]] Tick stalled() const { return stalled_; }
  /// When, and for what; null where it is not recorded.
  [[nodiscard]] const Stalls* stalls() const { return stalls_.get(); }
  [[nodiscard]] Domain& domain() { return domain_; }
  [[nodiscard]] Tick period() const { return domain_.clock.period; }
  /// Whether its code has used an address just below its stack. Called by a signal's handler.
  [[nodiscard]] bool overflowed(const void* at) const { return fiber_.overflowed(at); }

  /// Called in it: takes so many cycles. Throws std::invalid_argument for less than none.
  void pause(Tick cycles);

  /// Ticks from the begin of a pipeline's turn to its end; 0 outside of pipelines.
  [[nodiscard]] Tick depth_ticks() const { return depth_ticks_; }
  /// The same in cycles: turns that are under way at once.
  [[nodiscard]] Tick depth() const { return depth_; }

  // What streams and memories are made of; all are called in it.

  /// Before a use: a second one of its cycle ends the cycle.
  void open(const OncePerCycle& port) {
    if (port.used == tick_) skip_to(tick_ + domain_.clock.period);
  }
  /// After it.
  void close(OncePerCycle& port) { port.used = tick_; }
  /// Goes on in the first cycle whose edge is later than `tick`: until then it stalls for that cause.
  void continue_after(Tick tick, Cause cause) {
    if (tick < tick_) return;
    const auto next = first_after(tick);
    stalled_ += next - tick_;
    if (stalls_) [[unlikely]]
      record_stall(next, cause);
    skip_to(next);
  }
  /// Goes on at an edge, where it is not there yet; that is no standing still.
  void reach(Tick edge) {
    if (edge > tick_) skip_to(edge);
  }
  /// Nothing comes later that others do before the kernel's cycle.
  void synchronize() {
    if (tick_ > stepped_) suspend_until(tick_);
  }
  /// Stands still until somebody calls awake().
  void block(const Wait& wait);
  /// Called by others: what it waits for was done at `tick`.
  void awake(Tick tick) { domain_.wake(id_, domain_.clock.cycle_after(tick)); }

  /// Made by Kernels::add().
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
  Tick limit_ = 0;    ///< it may run ahead of the others as far as this
  Tick stepped_ = 0;  ///< all that is before this has been stepped
  Tick stalled_ = 0;
  Tick depth_ = 0, depth_ticks_ = 0;
  bool serves_, cancelled_ = false;
  void* context_;
  Wait wait_;
  std::unique_ptr<Stalls> stalls_;
  Fiber fiber_;
};

/// In a kernel: a loop whose turns overlap. A turn begins `interval` cycles after the one before, and those that it stood still. What it pushes
/// leaves `depth` cycles later; the room is taken when it is pushed, as in a pipeline that stops for nothing that is in it. At the
/// end of the scope the pipeline runs empty.
class Pipeline {
 public:
  /// Throws std::invalid_argument where the interval is not positive, the depth negative.
  explicit Pipeline(Tick interval = 1, Tick depth = 0);
  ~Pipeline() noexcept(false);
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  /// At the begin of each turn.
  void turn();

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
  /// `ahead`: cycles that a kernel may run ahead of the others; 0 steps them cycle by cycle, with the same result.
  explicit Kernels(Domains& time, Tick ahead = 4096) : time_(time), ahead_(ahead) {}
  /// Kernels that have not ended are unwound: what they hold is freed.
  ~Kernels();
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;

  /// Those that are added from then on record their stalls.
  void record() { records_ = true; }

  /// Starts in its clock's next cycle. Between two advances, or in a step; the reference stays valid.
  Kernel& add(std::string name, Domain& domain, std::function<void()> body, const Kernel::Options& options = {});

  /// Until all that don't serve have ended: true; or until tick `until`: false. Throws Stuck, or what a kernel threw.
  bool run(Tick until = kNever);
  /// Until tick `until`, or the tick after an interrupt; at most for a long stretch. Throws what a kernel threw.
  void advance(Tick until);

  /// Those that don't serve and have not ended.
  [[nodiscard]] std::size_t running() const { return running_; }
  /// Of these, each that waits.
  [[nodiscard]] std::vector<Blocked> blocked() const;

 private:
  friend Kernel;

  /// Nothing can go on: a line for each kernel that waits, and who waits for whom in a circle.
  [[nodiscard]] Stuck stuck() const;

  Domains& time_;
  Tick ahead_;
  std::deque<Kernel> kernels_;
  std::size_t running_ = 0;
  bool records_ = false;
};

}  // namespace thalweg
