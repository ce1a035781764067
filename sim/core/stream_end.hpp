// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "core/kernel.hpp"
#include "core/require.hpp"

namespace thalweg {

/// One end of a stream. A kernel owns it from its first use; or a component is bound to it.
class StreamEnd {
 public:
  /// `stream`: the stream's name; kept by reference.
  explicit StreamEnd(const std::string& stream) : stream_(stream) {}
  StreamEnd(const StreamEnd&) = delete;
  StreamEnd& operator=(const StreamEnd&) = delete;

  /// Binds the end to a kernel. Throws std::invalid_argument if another kernel or component uses it.
  void bind(Kernel& kernel) {
    if (kernel_ == &kernel) [[likely]]
      return;
    take(kernel.name());
    kernel_ = &kernel;
    is_left_ = false;
    period_ = kernel.domain().clock.period;
  }
  /// Binds the end to a component, which is named `name` in reports and woken when the awaited word or space is there.
  void bind(std::string name, Domain& domain, ComponentId component) {
    take(name);
    name_ = std::move(name);
    component_.bind(domain, component);
    period_ = domain.clock.period;
    domain_ = &domain;
  }

  /// Called at the kernel's end, in simulated time: another kernel may then use the stream's end.
  void leave(const Kernel& kernel) { is_left_ |= kernel_ == &kernel; }

  [[nodiscard]] const std::string& stream() const { return stream_; }
  /// The kernel at this end; null if a component uses it, or none yet.
  [[nodiscard]] const Kernel* kernel() const { return kernel_; }
  /// The name of the kernel or component at this end; empty if none yet.
  [[nodiscard]] const std::string& who() const { return kernel_ ? kernel_->name() : name_; }

 private:
  template <class T>
  friend class StreamRing;
  template <class T>
  friend class Stream;

  /// Binds the end to the calling kernel.
  Kernel& taken() {
    auto& kernel = Kernel::current();
    bind(kernel);
    return kernel;
  }
  void take(const std::string& name) const {
    require((!kernel_ || is_left_) && !domain_,
            "stream " + stream_ + ": " + who() + " and " + name + " use the same end, which only one of them may use");
  }
  /// Wakes the waiting user; the awaited event happened at `tick`.
  void awake(Tick tick) {
    waits_ = false;
    if (kernel_) return kernel_->awake(tick);
    if (tick == awake_after_) return;  // a component asks in each of its steps
    awake_after_ = tick;
    component_.wake(domain_->clock.cycle_after(tick));
  }

  const std::string& stream_;
  Kernel* kernel_ = nullptr;
  bool is_left_ = false;
  Domain* domain_ = nullptr;
  Waker component_;
  std::string name_;
  Tick period_ = 0;
  OncePerCycle port_;
  bool waits_ = false;
  Tick awake_after_ = -1;  ///< a component's last wake
};

}  // namespace thalweg
