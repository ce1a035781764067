// SPDX-License-Identifier: Apache-2.0
// A program as a coroutine: it yields its next action, and receives the action's result.
#pragma once

#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

namespace thalweg::vcsn {

/// A coroutine that `co_yield`s steps; each `co_yield` returns a Given. Everything it refers to, including captures of
/// a lambda, must outlive it.
template <class Step, class Given>
class Routine {
 public:
  struct promise_type {
    std::optional<Step> step;
    std::optional<Given> given;
    std::exception_ptr failed;

    struct Resumed {
      promise_type& promise;
      [[nodiscard]] bool await_ready() const noexcept { return false; }
      void await_suspend(std::coroutine_handle<>) const noexcept {}
      Given await_resume() const { return promise.given ? *std::exchange(promise.given, std::nullopt) : Given{}; }
    };
    Routine get_return_object() { return Routine(std::coroutine_handle<promise_type>::from_promise(*this)); }
    [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }
    [[nodiscard]] std::suspend_always final_suspend() const noexcept { return {}; }
    Resumed yield_value(Step next) {
      step = std::move(next);
      return {*this};
    }
    void return_void() const {}
    void unhandled_exception() { failed = std::current_exception(); }
  };

  /// Returns the next step; nullopt at the end. `given`: result of the previous step. Rethrows exceptions of the
  /// coroutine.
  std::optional<Step> operator()(std::optional<Given> given = {}) const {
    if (!handle_ || of().done()) return std::nullopt;
    auto& promise = of().promise();
    promise.given = std::move(given);
    promise.step.reset();
    of().resume();
    if (promise.failed) std::rethrow_exception(std::exchange(promise.failed, nullptr));
    return std::move(promise.step);
  }

 private:
  using Handle = std::coroutine_handle<promise_type>;

  explicit Routine(Handle handle)
      : handle_(handle.address(), [](void* frame) { Handle::from_address(frame).destroy(); }) {}
  [[nodiscard]] Handle of() const { return Handle::from_address(handle_.get()); }

  std::shared_ptr<void> handle_;
};

}  // namespace thalweg::vcsn
