// SPDX-License-Identifier: Apache-2.0
#include "core/kernel.hpp"

#include <algorithm>

#include "core/require.hpp"
#include "core/stream_end.hpp"

namespace thalweg {

namespace {
constexpr std::size_t kLines = 20;  ///< maximum lines of a report
}

thread_local Kernel* Kernel::current_ = nullptr;

Kernel& Kernel::current() {
  if (!current_) throw std::logic_error("streams and memories can only be used in kernels");
  return *current_;
}

Kernel::Kernel(Kernels& all, std::string name, Domain& domain, std::function<void()> body, const Options& options)
    : all_(all),
      name_(std::move(name)),
      domain_(domain),
      id_(domain.scheduler.add(*this)),
      serves_(options.serves),
      context_(options.context),
      fiber_(
          [this, run = std::move(body)] {
            try {
              run();
            } catch (const Cancelled&) {
            }
          },
          options.stack_bytes) {
  const auto cycle = domain.next();
  tick_ = domain.clock.edge(cycle);
  if (all.records_) stalls_ = std::make_unique<Stalls>();
  domain.wake(id_, cycle);
}

bool Kernel::step(Tick cycle) {
  stepped_ = domain_.clock.edge(cycle);
  limit_ = stepped_ + all_.ahead_ * domain_.clock.period;
  auto* outer = std::exchange(current_, this);
  try {
    fiber_.resume();
  } catch (...) {
    current_ = outer;
    end();
    throw;
  }
  current_ = outer;
  if (fiber_.done()) end();
  return false;
}

void Kernel::end() {
  if (serves_) return;
  --all_.running_;
  if (!all_.running_) all_.time_.interrupt();
}

void Kernel::suspend() {
  if (!cancelled_) fiber_.suspend();
  if (cancelled_ && !std::uncaught_exceptions())
    throw Cancelled{};  // not from a destructor that runs during the first throw
}

void Kernel::cancel() {
  if (!fiber_.started() || fiber_.done()) return;
  cancelled_ = true;
  auto* outer = std::exchange(current_, this);
  try {
    fiber_.resume();
  } catch (...) {  // an exception from a destructor of the kernel has no receiver
  }
  current_ = outer;
}

/// Out of line, so that kernels without recording pay only for a test.
void Kernel::record_stall(Tick until, Cause cause) {
  stalls_->add(tick_, until, cause);
}

void Kernel::suspend_until(Tick tick) {
  domain_.wake(id_, domain_.clock.cycle_from(tick));
  suspend();
}

void Kernel::block(const Wait& wait) {
  wait_ = wait;
  wait_.since = tick_;
  suspend();
  wait_.to = nullptr;
}

void Kernel::pause(Tick cycles) {
  require(cycles >= 0, "a pause must be at least 0 cycles, not ", cycles);
  skip_to(tick_ + cycles * domain_.clock.period);
}

Pipeline::Pipeline(Tick interval, Tick depth)
    : kernel_(Kernel::current()), interval_(interval), outer_depth_(kernel_.depth_) {
  require(interval > 0, "a pipeline's interval must be at least 1 cycle, not ", interval);
  require(depth >= 0, "a pipeline's depth must be at least 0, not ", depth);
  kernel_.depth_ = depth;
  kernel_.depth_ticks_ = depth * kernel_.domain_.clock.period;
}

Pipeline::~Pipeline() noexcept(false) {
  const auto depth = std::exchange(kernel_.depth_, outer_depth_);
  kernel_.depth_ticks_ = outer_depth_ * kernel_.domain_.clock.period;
  if (begun_ >= 0 && std::uncaught_exceptions() == unwinding_) kernel_.pause(depth);
}

void Pipeline::iterate() {
  if (begun_ >= 0) {
    const auto next = begun_ + interval_ * kernel_.domain_.clock.period + kernel_.stalled_ - stalled_;
    if (next > kernel_.tick_) kernel_.skip_to(next);
  }
  begun_ = kernel_.tick_;
  stalled_ = kernel_.stalled_;
}

Kernels::~Kernels() {
  for (auto& kernel : kernels_) kernel.cancel();
}

Kernel& Kernels::add(std::string name, Domain& domain, std::function<void()> body, const Kernel::Options& options) {
  if (!options.serves) ++running_;
  return kernels_.emplace_back(*this, std::move(name), domain, std::move(body), options);
}

void Kernels::advance(Tick until) {
  constexpr Tick kStretch = Tick{1} << 40;
  time_.advance(std::min(until, time_.now() + kStretch));
}

bool Kernels::run(Tick until) {
  while (running_) {
    if (time_.next_due() == kNever) throw stuck();
    if (time_.now() >= until) return false;
    advance(until);
  }
  return true;
}

namespace {

Blocked blocked(const Kernel& kernel) {
  const auto& wait = kernel.waits();
  const auto* other = wait.other->kernel();
  return {.who = kernel.name(),
          .what = std::string("to ") + wait.to + " " + wait.other->stream(),
          .on = wait.other->who(),
          .why = wait.other->who().empty() ? "no kernel has used its other end"
                 : other && other->ended() ? "that has ended"
                                           : "",
          .since = wait.since,
          .where = wait.where.text()};
}

/// Returns the kernels of the wait-for cycle that is reached from `from`, or none if there is no cycle.
std::vector<const Kernel*> circle(const Kernel& from) {
  std::vector<const Kernel*> way;
  for (const auto* kernel = &from; kernel && kernel->waits().to; kernel = kernel->waits().other->kernel()) {
    const auto met = std::find(way.begin(), way.end(), kernel);
    if (met != way.end()) return {met, way.end()};
    way.push_back(kernel);
  }
  return {};
}

}  // namespace

std::vector<Blocked> Kernels::blocked() const {
  std::vector<Blocked> all;
  for (const auto& kernel : kernels_)
    if (!kernel.serves() && !kernel.ended() && kernel.waits().to) all.push_back(thalweg::blocked(kernel));
  return all;
}

Stuck Kernels::stuck() const {
  std::string text = "deadlock: no kernel can proceed";
  const Kernel* first = nullptr;
  const auto all = blocked();
  for (const auto& kernel : kernels_) {
    if (kernel.serves() || kernel.ended() || !kernel.waits().to) continue;
    if (!first && !circle(kernel).empty()) first = &kernel;
  }
  for (std::size_t k = 0; k < std::min(all.size(), kLines); ++k)
    text += "\n  " + all[k].line("tick " + std::to_string(all[k].since));
  if (all.size() > kLines) text += "\n  and " + std::to_string(all.size() - kLines) + " more";
  if (!first) return Stuck(text, all);
  const auto round = circle(*first);
  text += "\n  wait-for cycle: ";
  for (const auto* kernel : round) text += kernel->name() + " waits for ";
  return Stuck(text + round.front()->name(), all);
}

}  // namespace thalweg
