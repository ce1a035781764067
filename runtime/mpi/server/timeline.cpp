#include "mpi/server/timeline.hpp"

#include <algorithm>
#include <utility>

namespace thalweg::mpi {

Handle Timeline::expect(Done done) {
  expected_.emplace(next_, std::move(done));
  return next_++;
}

void Timeline::send(NodeId source, NodeId destination, std::uint64_t bytes, Tick at, Done done) {
  if (source != destination) {
    engine_.send({expect(std::move(done)), source, destination, bytes}, possible(at));
    return;
  }
  const Tick then = at + memory_.ticks(bytes);
  this->at(then, [then, done = std::move(done)] {
    done(Completion::Kind::injected, then);
    done(Completion::Kind::arrived, then);
  });
}

void Timeline::at(Tick at, std::function<void()> event) {
  events_.push({at, next_++, std::move(event)});
}

void Timeline::pop_event() {
  const std::function<void()> call = events_.top().call;
  events_.pop();
  call();
}

void Timeline::step(Tick until) {
  const Tick due = events_.empty() ? kNever : events_.top().at;
  if (due <= now()) return pop_event();
  completed_.clear();
  engine_.advance(std::min(until, due), completed_);
  for (const Completion& completion : completed_) {
    const auto found = expected_.find(completion.handle);
    if (completion.kind == Completion::Kind::injected) {
      found->second(completion.kind, completion.at);
      continue;
    }
    const Done done = std::move(found->second);
    expected_.erase(found);
    done(completion.kind, completion.at);
  }
}

}  // namespace thalweg::mpi
