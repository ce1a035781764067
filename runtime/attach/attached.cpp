// SPDX-License-Identifier: Apache-2.0
#include "attach/attached.hpp"

#include <poll.h>

#include <cstdio>
#include <iterator>
#include <stdexcept>

namespace thalweg::attach {

Attached::Attached(Engine& engine, std::vector<Line> lines, double ratio, double limit_s)
    : engine_(engine),
      lines_(std::move(lines)),
      ratio_(ratio),
      limit_s_(limit_s),
      begin_(std::chrono::steady_clock::now()),
      clock_(engine.ticks_per_second(), ratio, ticks(kStrideS), begin_, engine.now()) {}

double Attached::wall_s() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

double Attached::wall_s_at(Tick tick) const {
  const auto after = std::ranges::lower_bound(noted_, tick, {}, &std::pair<Tick, double>::first);
  if (after == noted_.begin()) return 0;
  if (after == noted_.end()) return wall_s();
  const auto& [begin, from] = *std::prev(after);
  const auto& [end, to] = *after;
  return from + (to - from) * static_cast<double>(tick - begin) / static_cast<double>(end - begin);
}

void Attached::advance(Tick until, std::vector<Completion>& completed) {
  const auto before = completed.size();
  try {
    while (completed.size() == before && now() < until && !failure()) step(until, completed);
  } catch (const std::runtime_error& error) {  // an interface has disappeared
    failure_ = error.what();
  }
}

void Attached::step(Tick until, std::vector<Completion>& completed) {
  const Tick next = engine_.next();
  const Tick target = std::min(until, clock_.until(std::chrono::steady_clock::now(), now(), next));
  const auto before = completed.size();
  // First up to the next event, so that received frames precede a timer that expires now.
  engine_.advance(std::min(target, next), completed);
  receive(target + ticks(kStrideS));
  if (completed.size() == before) engine_.advance(target, completed);
  const bool sent = send();
  if (noted_.empty() || completed.size() > before || wall_s() > noted_.back().second + kNotedS)
    noted_.emplace_back(now(), wall_s());
  if (completed.size() > before) return;
  const Tick nap = now() + ticks(kNapS);
  sleep(clock_.at(std::min(until, std::max(engine_.next(), nap))), sent);
}

void Attached::receive(Tick until) {
  for (Line& line : lines_)
    while (line.outside->has_time(until)) {
      const auto frames = line.interface.receive();
      for (const auto& frame : frames) line.outside->give(frame);
      if (frames.empty()) break;
    }
}

bool Attached::send() {
  bool all = true;
  for (Line& line : lines_) {
    auto& left = line.outside->left;
    std::vector<std::span<const std::byte>> frames;
    for (const auto& frame : left) frames.push_back(frame->bytes());
    const auto sent = frames.empty() ? 0 : line.interface.send(frames);
    left.erase(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(sent));
    all = all && left.empty();
  }
  return all;
}

void Attached::sleep(Time until, bool sent) const {
  const Time now = std::chrono::steady_clock::now();
  if (limit_s_ > 0) until = std::min(until, begin_ + std::chrono::nanoseconds(std::llround(limit_s_ * 1e9)));
  if (until <= now) return;
  std::vector<pollfd> polled;
  for (const Line& line : lines_)
    polled.push_back({line.interface.descriptor(), static_cast<short>(sent ? POLLIN : POLLIN | POLLOUT), 0});
  const auto ns = (until - now).count();
  const timespec wait{.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
  ppoll(polled.data(), polled.size(), &wait, nullptr);
}

std::optional<std::string> Attached::failure() const {
  if (failure_) return failure_;
  if (limit_s_ > 0 && wall_s() >= limit_s_) {
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%g", limit_s_);
    return std::string(seconds) + " s of the wall clock have passed";
  }
  return engine_.failure();
}

std::vector<Lost> Attached::lost() const {
  auto all = engine_.lost();
  for (const Line& line : lines_) {
    const auto counts = line.interface.counts();
    const auto add = [&](std::uint64_t count, const std::string& what) {
      if (count > 0) all.push_back({line.node, what + line.interface.name(), count});
    };
    add(counts.dropped, "frames that waited too long at ");
    add(counts.oversized, "frames that were too long at ");
    add(counts.refused, "frames that could not be sent at ");
  }
  return all;
}

}  // namespace thalweg::attach
