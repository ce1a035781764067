// SPDX-License-Identifier: Apache-2.0
#include "vcsn/hosts.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>

#include "core/blocked.hpp"

namespace thalweg::vcsn {
namespace {

/// First handle of kernels' steps.
constexpr Handle kKernels = Handle{1} << 48;

std::string name_of(const Kernel& kernel) {
  return "kernel " + std::to_string(kernel.number) + " of node " + std::to_string(kernel.node);
}

class Run {
 public:
  static constexpr double kEnd = 0x1p62;  ///< ticks, half of the range of Tick

  Run(Network& network, const std::map<std::int64_t, Server>& servers, const std::vector<Kernel>& kernels,
      const RunOptions& options)
      : network_(network),
        engine_(options.engine ? *options.engine : network),
        options_(options),
        per_us_(static_cast<double>(engine_.ticks_per_second()) / 1e6),
        steps_(network.unused(kKernels)),
        last_barrier_(engine_.now()),
        end_(engine_.now()) {
    for (const auto& [number, server] : servers) all_.push_back({.number = number, .server = &server});
    servers_ = servers.size();
    std::set<std::pair<unsigned, unsigned>> taken;
    for (const Kernel& kernel : kernels) {
      if (!taken.emplace(kernel.node, kernel.number).second) {
        const auto count = std::ranges::count_if(
            kernels, [&](const Kernel& one) { return one.node == kernel.node && one.number == kernel.number; });
        throw WrongProgram(vcsn::name_of(kernel) + " has " + std::to_string(count) + " programs");
      }
      if (const KernelPort& port = network.kernel(kernel.node, kernel.number); port.receives() || port.sends())
        throw WrongProgram(vcsn::name_of(kernel) +
                           (port.receives() ? " still receives words for" : " still sends words of") +
                           " an earlier program; let that end, or restart node " + std::to_string(kernel.node));
      all_.push_back({.kernel = &kernel});
      if (!kernel.serves) ++awaited_;
    }
    for (std::size_t who = 0; who < all_.size(); ++who) due_.emplace(engine_.now(), who);
  }

  double ends_us() {
    const Tick begin = engine_.now();
    while (servers_ + awaited_ > 0) {
      std::vector<Completion> completions;
      engine_.advance(due_.empty() ? kNever : due_.begin()->first, completions);
      if (options_.between) options_.between();
      if (!completions.empty()) {
        for (const Completion& completion : completions) complete(completion.handle, completion.at);
      } else if (!due_.empty() && !engine_.failure()) {
        const auto [at, who] = *due_.begin();
        due_.erase(due_.begin());
        if (all_[who].kernel)
          act(who, at);
        else
          step(who, at);
      } else {
        throw stopped();
      }
    }
    return static_cast<double>(end_ - begin) / per_us_;
  }

 private:
  using Who = std::size_t;
  struct One {
    std::int64_t number = 0;
    const Server* server = nullptr;
    const Kernel* kernel = nullptr;
    std::optional<Taken> words{};  ///< received, until the kernel resumes
    unsigned open = 0;             ///< operations that the kernel waits for
  };

  void complete(Handle handle, Tick at) {
    const auto [first, last] = waiting_.equal_range(handle);
    if (first == last || all_[first->second].server) completed_[handle] = at;
    const std::vector<std::pair<Handle, Who>> resumed(first, last);
    waiting_.erase(first, last);
    for (const auto& [of, who] : resumed) resume(who, of, at);
  }
  void resume(Who who, Handle handle, Tick at) {
    One& one = all_[who];
    if (one.server) return later(who, at, one.server->costs.interrupt * per_us_);
    if (receives_.erase(handle) > 0) one.words = network_.taken(handle);
    if (--one.open == 0) later(who, at, 0);
  }

  void later(Who who, Tick at, double ticks) {
    if (const double until = static_cast<double>(at) + ticks; !(until < kEnd))
      throw WrongProgram(name_of(all_[who]) + " would continue after " + std::to_string(until / per_us_) +
                         " us; time ends at " + std::to_string(kEnd / per_us_) + " us");
    due_.emplace(std::max(engine_.now(), at + static_cast<Tick>(std::nearbyint(ticks))), who);
  }

  void step(Who who, Tick at) {
    One& one = all_[who];
    const auto next = one.server->next();
    if (!next) {
      --servers_;
      end_ = std::max(end_, at);
      release();
    } else if (const auto* work = std::get_if<Work>(&*next)) {
      constexpr double kMostUs = 1e12;
      if (!(work->us >= 0 && work->us <= kMostUs))
        throw WrongProgram("server " + std::to_string(one.number) + " works for " + std::to_string(work->us) +
                           " us; must be 0 to 1e12");
      later(who, at, work->us * per_us_);
    } else if (const auto* interrupt = std::get_if<Interrupt>(&*next)) {
      if (const auto found = completed_.find(interrupt->handle); found != completed_.end())
        later(who, std::max(at, found->second), one.server->costs.interrupt * per_us_);
      else
        waiting_.emplace(interrupt->handle, who);
    } else {
      arrived_.emplace_back(who, at);
      release();
    }
  }

  void act(Who who, Tick at) {
    One& one = all_[who];
    const Kernel& kernel = *one.kernel;
    const auto next = kernel.next(std::exchange(one.words, std::nullopt));
    if (!next) {
      if (!kernel.serves) --awaited_;
      end_ = std::max(end_, at);
      return;
    }
    const auto send = [&](const Send& part) {
      network_.kernel_send(steps_, kernel.node, kernel.number, part.data, part.ends, part.channel);
      wait(who);
    };
    const auto receive = [&](const Receive& part) {
      network_.kernel_receive(steps_, kernel.node, kernel.number, part.words);
      receives_.insert(steps_);
      wait(who);
    };
    if (const auto* pause = std::get_if<Pause>(&*next)) {
      if (pause->cycles < 1)
        throw WrongProgram(vcsn::name_of(kernel) + " pauses for " + std::to_string(pause->cycles) +
                           " cycles; must be at least 1");
      const Tick cycle = network_.node(kernel.node).shell().clock.period;
      later(who, at, static_cast<double>(pause->cycles) * static_cast<double>(cycle));
    } else if (const auto* sent = std::get_if<Send>(&*next)) {
      send(*sent);
    } else if (const auto* received = std::get_if<Receive>(&*next)) {
      receive(*received);
    } else {
      const auto& both = std::get<Exchange>(*next);
      send(both.send);
      receive(both.receive);
    }
  }
  void wait(Who who) {
    waiting_.emplace(steps_++, who);
    ++all_[who].open;
  }

  /// Ends a barrier that all unfinished programs have reached.
  void release() {
    if (arrived_.empty() || arrived_.size() != servers_) return;
    Tick last = 0;
    for (const auto& [who, at] : arrived_) last = std::max(last, at);
    Tick ends = 0;
    for (const auto& [who, at] : arrived_) {
      const auto since =
          options_.late ? std::optional(static_cast<double>(last - last_barrier_) / per_us_) : std::nullopt;
      const double ticks = all_[who].server->costs.barrier(arrived_.size(), since) * per_us_;
      later(who, last, ticks);
      ends = std::max(ends, std::max(engine_.now(), last + static_cast<Tick>(std::nearbyint(ticks))));
    }
    arrived_.clear();
    last_barrier_ = ends;
  }

  [[nodiscard]] static std::string name_of(const One& one) {
    return one.kernel ? vcsn::name_of(*one.kernel) : "server " + std::to_string(one.number);
  }
  [[nodiscard]] Stuck stopped() const {
    auto waits = engine_.blocked();
    for (const auto& [handle, who] : waiting_)
      if (all_[who].server)
        waits.push_back({.who = name_of(all_[who]),
                         .what = "for the interrupt of transfer " + std::to_string(handle),
                         .since = engine_.now()});
      else if (!network_.has(handle))
        waits.push_back({.who = name_of(all_[who]), .what = "for a step that a restart ended", .since = engine_.now()});
    for (const auto& [who, at] : arrived_)
      waits.push_back({.who = name_of(all_[who]), .what = "at a barrier", .since = at});
    std::string text = engine_.failure().value_or("deadlock");
    const char* before = ": ";
    for (const Blocked& one : waits) {
      text += before + one.who + " waits " + one.what + (one.on.empty() ? "" : ", for " + one.on);
      before = "; ";
    }
    for (const Lost& lost : engine_.lost())
      text += "; node " + std::to_string(lost.node) + " dropped " + std::to_string(lost.count) + " " + lost.what;
    Stuck made(text, std::move(waits));
    made.ticks_per_second = static_cast<double>(engine_.ticks_per_second());
    return made;
  }

  Network& network_;
  Engine& engine_;
  const RunOptions& options_;
  double per_us_;
  std::vector<One> all_;     ///< servers by number, then kernels
  std::size_t servers_ = 0;  ///< servers whose programs have not ended
  std::size_t awaited_ = 0;  ///< kernels that have not ended and do not serve
  std::set<std::pair<Tick, Who>> due_;
  std::map<Handle, Tick> completed_;
  std::multimap<Handle, Who> waiting_;  ///< several servers may wait for one transfer
  Handle steps_;                        ///< handle of the next step of a kernel
  std::set<Handle> receives_;
  std::vector<std::pair<Who, Tick>> arrived_;  ///< programs at the barrier
  Tick last_barrier_, end_;
};

}  // namespace

double run(Network& network, const std::map<std::int64_t, Server>& servers, const std::vector<Kernel>& kernels,
           const RunOptions& options) {
  return Run(network, servers, kernels, options).ends_us();
}

}  // namespace thalweg::vcsn
