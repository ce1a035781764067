// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "core/kernel.hpp"
#include "core/require.hpp"

namespace thalweg {

/// One end of a stream: the kernel that uses it, from its first use on, or a component.
class StreamEnd {
 public:
  /// Of the stream of that name.
  explicit StreamEnd(const std::string& stream) : stream_(stream) {}
  StreamEnd(const StreamEnd&) = delete;
  StreamEnd& operator=(const StreamEnd&) = delete;

  /// It is this kernel's. Throws std::invalid_argument where it is somebody else's.
  void bind(Kernel& kernel) {
    if (kernel_ == &kernel) [[likely]]
      return;
    take(kernel.name());
    kernel_ = &kernel;
    is_left_ = false;
    period_ = kernel.domain().clock.period;
  }
  /// It is a component's, which goes by this name in reports and is woken when a word or room is there that it has waited for.
  void bind(std::string name, Domain& domain, ComponentId component) {
    take(name);
    name_ = std::move(name);
    component_.bind(domain, component);
    period_ = domain.clock.period;
    domain_ = &domain;
  }

  /// At its kernel's end, in simulated time: another kernel may use it from then on.
  void leave(const Kernel& kernel) { is_left_ |= kernel_ == &kernel; }

  [[nodiscard]] const std::string& stream() const { return stream_; }
  /// Whose it is; none: a component's, or nobody has used it.
  [[nodiscard]] const Kernel* kernel() const { return kernel_; }
  /// The name of whoever it is; empty: nobody has used it.
  [[nodiscard]] const std::string& who() const { return kernel_ ? kernel_->name() : name_; }

 private:
  template <class T>
  friend class StreamRing;
  template <class T>
  friend class Stream;

  /// The calling kernel.
  Kernel& taken() {
    auto& kernel = Kernel::current();
    bind(kernel);
    return kernel;
  }
  void take(const std::string& name) const {
    require((!kernel_ || is_left_) && !domain_,
            "stream " + stream_ + ": " + who() + " and " + name + " use an end of it that one alone can use");
  }
  /// Ends its wait: what it waits for was done at `tick`.
  void awake(Tick tick) {
    waits_ = false;
    if (kernel_)
      kernel_->awake(tick);
    else
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
};

}  // namespace thalweg
