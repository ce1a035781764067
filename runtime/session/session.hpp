// SPDX-License-Identifier: Apache-2.0
// Clients whose programs run outside virtual time: each runs, or is parked until its operations complete.
// Time advances to the earliest moment at which a running client may act.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "queue/timeline.hpp"

namespace thalweg::session {

/// Condition that resumes a parked client: `need` of its requests have completed, or a time.
struct Wait {
  std::span<const std::uint64_t> ids{};
  std::uint32_t need = 0;  ///< number of `ids` to complete; 0 without a time: resumes at once
  Tick until = kNever;
  bool alert = false;   ///< any event of the client also resumes it
  bool yields = false;  ///< no condition: resumes when the other clients can advance no further
};

/// `Request` has a number `id`, unique among the client's pending requests; `Reply` has that `id`, and the time `at` from which the
/// client may see it.
template <class Request, class Reply>
class Session {
 public:
  /// `lookahead`: minimum ticks until an action of one client can affect another.
  Session(queue::Timeline& timeline, std::size_t clients, Tick lookahead)
      : timeline_(timeline), lookahead_(lookahead), clients_(clients) {}

  void request(unsigned client, const Request& request) {
    clients_[client].pending.emplace(request.id, Asked{request});
  }
  /// The client's pending request, or null.
  [[nodiscard]] const Request* pending(unsigned client, std::uint64_t id) const {
    const auto found = clients_[client].pending.find(id);
    return found == clients_[client].pending.end() ? nullptr : &found->second.request;
  }
  /// Completes a pending request.
  void complete(unsigned client, const Reply& reply) {
    Client& owner = clients_[client];
    const auto found = owner.pending.find(reply.id);
    const bool awaited = owner.parked && found->second.parking == owner.parking;
    owner.pending.erase(found);
    owner.outbox.push_back(reply);
    if (awaited && owner.missing > 0 && --owner.missing == 0) wake(client, reply.at);
  }
  /// Notes an event that no request of the client waits for.
  void happened(unsigned client, Tick at) {
    if (clients_[client].parked && clients_[client].alert) wake(client, at);
  }
  /// Replies not delivered to the client yet.
  [[nodiscard]] std::deque<Reply>& outbox(unsigned client) { return clients_[client].outbox; }

  /// Parks the client at time `at` of its own clock.
  void park(unsigned client, Tick at, const Wait& wait) {
    Client& parked = clients_[client];
    parked.parked = true;
    parked.parking += 1;
    parked.since = parked.clock = at;
    parked.missing = 0;
    parked.alert = wait.alert;
    if (wait.yields) return yielding_.push_back(client);
    std::uint32_t open = 0;
    for (const std::uint64_t id : wait.ids)
      if (const auto found = parked.pending.find(id); found != parked.pending.end()) {
        found->second.parking = parked.parking;
        ++open;
      }
    const auto done = static_cast<std::uint32_t>(wait.ids.size()) - open;
    parked.missing = wait.need > done ? wait.need - done : 0;
    if (parked.missing == 0 && wait.until == kNever) return wake(client, at);
    if (parked.missing == 0 && wait.need != 0) return wake(client, std::min(wait.until, first_reply(parked, wait.ids)));
    if (wait.until != kNever)
      timeline_.at(wait.until, [this, client, parking = parked.parking, until = wait.until] {
        if (clients_[client].parked && clients_[client].parking == parking) wake(client, until);
      });
  }
  [[nodiscard]] bool is_parked(unsigned client) const { return clients_[client].parked; }
  [[nodiscard]] bool anybody_parked() const { return std::ranges::any_of(clients_, &Client::parked); }
  /// Time at which the client was last parked, and the time at which it resumes.
  [[nodiscard]] Tick since(unsigned client) const { return clients_[client].since; }
  [[nodiscard]] Tick clock(unsigned client) const { return clients_[client].clock; }

  /// Advances time until a client is ready or the timeline is idle. `earliest`: earliest time at which a running client may act;
  /// kNever: none runs. `look()` is called after each step, and returns the latest end of the next one.
  template <class Look>
  void run(Tick earliest, Look&& look) {
    if (earliest != kNever) horizon_ = std::min(horizon_, earliest + lookahead_);
    const Engine& engine = timeline_.engine();
    for (Tick stop = look(); !timeline_.idle() && timeline_.now() < horizon_ && !engine.failure(); stop = look())
      timeline_.step(engine.idle() ? horizon_ : std::min(horizon_, stop));
    for (const unsigned client : std::exchange(yielding_, {})) wake(client, timeline_.now());
  }
  /// Returns the ready clients, in the order in which they became ready; they are no longer parked.
  [[nodiscard]] std::vector<unsigned> take_ready() {
    for (const unsigned client : ready_) clients_[client].parked = clients_[client].ready = false;
    horizon_ = kNever;
    return std::exchange(ready_, {});
  }

 private:
  struct Asked {
    Request request;
    std::uint64_t parking = 0;  ///< number of the last parking that waits for it
  };
  struct Client {
    std::unordered_map<std::uint64_t, Asked> pending;
    std::deque<Reply> outbox;
    bool parked = false, ready = false, alert = false;
    std::uint64_t parking = 0;  ///< number of parkings, so that an old timer has no effect
    std::uint32_t missing = 0;  ///< number of replies that it still waits for
    Tick since = 0, clock = 0;
  };

  /// Earliest completion time of the undelivered replies to `ids`, but not before the client's clock; the clock if there are none.
  [[nodiscard]] static Tick first_reply(const Client& of, std::span<const std::uint64_t> ids) {
    Tick first = kNever;
    for (const Reply& reply : of.outbox)
      if (std::ranges::find(ids, reply.id) != ids.end()) first = std::min<Tick>(first, reply.at);
    return first == kNever ? of.clock : std::max(of.clock, first);
  }
  void wake(unsigned client, Tick at) {
    Client& woken = clients_[client];
    if (woken.ready) return;
    woken.ready = true;
    woken.clock = std::max(woken.clock, at);
    ready_.push_back(client);
    horizon_ = std::min(horizon_, woken.clock + lookahead_);
  }

  queue::Timeline& timeline_;
  const Tick lookahead_;
  std::vector<Client> clients_;
  std::vector<unsigned> ready_, yielding_;
  Tick horizon_ = kNever;  ///< running or ready clients cannot affect others before this time
};

}  // namespace thalweg::session
