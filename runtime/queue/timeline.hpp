// SPDX-License-Identifier: Apache-2.0
// The order of what happens in virtual time: completions of an engine, and events of who waits for them.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/types.hpp"

namespace thalweg::queue {

/// What takes operations under a handle, and answers each with one completion or more, the last of which says that it is.
template <class T>
concept Engine =
    requires(T& engine, const T& seen, typename T::Completion completion, std::vector<typename T::Completion>& all) {
      { seen.now() } -> std::same_as<Tick>;
      { seen.lookahead() } -> std::same_as<Tick>;
      { seen.idle() } -> std::same_as<bool>;
      engine.advance(Tick{}, all);
      { completion.handle } -> std::convertible_to<std::uint64_t>;
      { completion.last() } -> std::same_as<bool>;
    };

template <class Of>
class Timeline {
  static_assert(Engine<Of>);

 public:
  using Completion = typename Of::Completion;
  using Done = std::function<void(typename Completion::Kind, Tick)>;

  explicit Timeline(Of& engine) : engine_(engine) {}

  [[nodiscard]] Of& engine() { return engine_; }
  [[nodiscard]] const Of& engine() const { return engine_; }
  [[nodiscard]] Tick now() const { return engine_.now(); }
  /// The engine takes what is dated `at`, or as early as it still can.
  [[nodiscard]] Tick possible(Tick at) const { return std::max(at, now() - engine_.lookahead()); }

  /// A handle for the engine; `done` is called for each of its completions.
  [[nodiscard]] std::uint64_t expect(Done done) {
    expected_.emplace(next_, std::move(done));
    return next_++;
  }
  /// The handle was not used after all.
  void forget(std::uint64_t handle) { expected_.erase(handle); }
  /// Calls `event` at time `at`, or at once where that has passed.
  void at(Tick at, std::function<void()> event) { events_.push({at, next_++, std::move(event)}); }

  /// Lets the next thing happen that is due up to `until`, or lets the time pass up to there.
  void step(Tick until) {
    const Tick due = events_.empty() ? kNever : events_.top().at;
    if (due <= now()) return pop_event();
    completed_.clear();
    engine_.advance(std::min(until, due), completed_);
    for (const Completion& completion : completed_) {
      const auto found = expected_.find(completion.handle);
      if (!completion.last()) {
        found->second(completion.kind, completion.at);
        continue;
      }
      const Done done = std::move(found->second);
      expected_.erase(found);
      done(completion.kind, completion.at);
    }
  }
  /// True when nothing more will happen by itself.
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

  Of& engine_;
  std::uint64_t next_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::unordered_map<std::uint64_t, Done> expected_;
  std::vector<Completion> completed_;
};

}  // namespace thalweg::queue
