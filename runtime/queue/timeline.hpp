// SPDX-License-Identifier: Apache-2.0
// Event queue in virtual time: completions of an engine, and events of its users.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cluster/engine.hpp"
#include "core/types.hpp"

namespace thalweg::queue {

class Timeline {
 public:
  using Done = std::function<void(const Completion&)>;

  explicit Timeline(Engine& engine) : engine_(engine) {}

  [[nodiscard]] const Engine& engine() const { return engine_; }
  [[nodiscard]] Tick now() const { return engine_.now(); }
  /// Earliest time, not before `at`, at which the engine still accepts a submission.
  [[nodiscard]] Tick possible(Tick at) const { return std::max(at, now() - engine_.lookahead()); }

  /// Creates a handle for the engine; `done` is called for each of its completions.
  [[nodiscard]] Handle expect(Done done) {
    expected_.emplace(next_, std::move(done));
    return next_++;
  }
  /// Discards an unused handle.
  void forget(Handle handle) { expected_.erase(handle); }
  /// Discards all handles, which will not complete.
  void forget() { expected_.clear(); }
  /// Calls `event` at time `at`, or in the next step if that has passed.
  void at(Tick at, std::function<void()> event) { events_.push({at, next_++, std::move(event)}); }

  /// Executes the next event due by `until`, or advances time, at most to `until`.
  void step(Tick until) {
    const Tick due = events_.empty() ? kNever : events_.top().at;
    if (due <= now()) return pop_event();
    completed_.clear();
    engine_.advance(std::min(until, due), completed_);
    deliver(completed_);
  }
  /// Calls the callbacks of these completions; used directly if the engine's time is advanced elsewhere.
  void deliver(std::span<const Completion> completed) {
    for (const Completion& completion : completed) {
      const auto found = expected_.find(completion.handle);
      if (!completion.last) {
        found->second(completion);
        continue;
      }
      const Done done = std::move(found->second);
      expected_.erase(found);
      done(completion);
    }
  }
  /// True if no event is pending and the engine is idle.
  [[nodiscard]] bool idle() const { return events_.empty() && engine_.idle(); }

 private:
  struct Event {
    Tick at;
    std::uint64_t order;
    std::function<void()> call;
    bool operator>(const Event& other) const { return at != other.at ? at > other.at : order > other.order; }
  };
  void pop_event() {
    const std::function<void()> call = events_.top().call;
    events_.pop();
    call();
  }

  Engine& engine_;
  std::uint64_t next_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::unordered_map<Handle, Done> expected_;
  std::vector<Completion> completed_;
};

}  // namespace thalweg::queue
