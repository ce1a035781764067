// SPDX-License-Identifier: Apache-2.0
// Clients whose programs run outside virtual time: each one runs, or is parked until its operation is complete.
// Time advances to the earliest moment at which a running client may still act.
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

/// What lets a parked client go on: `need` of its requests, or a time.
struct Wait {
  std::span<const std::uint64_t> ids{};
  std::uint32_t need = 0;  ///< of these; with none, and no time, it goes on at once
  Tick until = kNever;
  bool alert = false;   ///< anything that happens to it lets it go on as well
  bool yields = false;  ///< nothing: it goes on when the others have got as far as they can
};

/// `Request` has a number `id`, other than those of the client's requests that are pending; `Reply` has that `id`, and the time
/// `at` at which the client may know of it.
template <class Request, class Reply>
class Session {
 public:
  /// `lookahead`: ticks until what one client does can have an effect on another one.
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
  /// Ends a pending request.
  void complete(unsigned client, const Reply& reply) {
    Client& owner = clients_[client];
    const auto found = owner.pending.find(reply.id);
    const bool awaited = owner.parked && found->second.parking == owner.parking;
    owner.pending.erase(found);
    owner.outbox.push_back(reply);
    if (awaited && owner.missing > 0 && --owner.missing == 0) wake(client, reply.at);
  }
  /// Something that the client did not ask for.
  void happened(unsigned client, Tick at) {
    if (clients_[client].parked && clients_[client].alert) wake(client, at);
  }
  /// Replies that the client has not been given.
  [[nodiscard]] std::deque<Reply>& outbox(unsigned client) { return clients_[client].outbox; }

  /// The client stops at time `at`, its own.
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
  /// When the client was parked last, and the time that it will go on at.
  [[nodiscard]] Tick since(unsigned client) const { return clients_[client].since; }
  [[nodiscard]] Tick clock(unsigned client) const { return clients_[client].clock; }

  /// Moves time until a client may go on, or nothing will happen by itself. `earliest`: clients that run do nothing before;
  /// kNever: none runs. `look()` is called after each step, and says when the next one ends at the latest.
  template <class Look>
  void run(Tick earliest, Look&& look) {
    if (earliest != kNever) horizon_ = std::min(horizon_, earliest + lookahead_);
    const Engine& engine = timeline_.engine();
    for (Tick stop = look(); !timeline_.idle() && timeline_.now() < horizon_ && !engine.failure(); stop = look())
      timeline_.step(engine.idle() ? horizon_ : std::min(horizon_, stop));
    for (const unsigned client : std::exchange(yielding_, {})) wake(client, timeline_.now());
  }
  /// The clients that may go on, in the order in which that became so: they run from now on.
  [[nodiscard]] std::vector<unsigned> take_ready() {
    for (const unsigned client : ready_) clients_[client].parked = clients_[client].ready = false;
    horizon_ = kNever;
    return std::exchange(ready_, {});
  }

 private:
  struct Asked {
    Request request;
    std::uint64_t parking = 0;  ///< the last one that waits for it
  };
  struct Client {
    std::unordered_map<std::uint64_t, Asked> pending;
    std::deque<Reply> outbox;
    bool parked = false, ready = false, alert = false;
    std::uint64_t parking = 0;  ///< counts, so that an old alarm wakes nobody
    std::uint32_t missing = 0;  ///< replies that it still waits for
    Tick since = 0, clock = 0;
  };

  /// When the first request was complete whose reply the client has not been given; its own time where it has been given all.
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
  Tick horizon_ = kNever;  ///< clients that will run cannot do anything before this time
};

}  // namespace thalweg::session
