// SPDX-License-Identifier: Apache-2.0
// Clients whose programs run outside virtual time: each runs, or is parked until its operations complete. The requests belong to
// an owner, which has one client or several: any of them may wait for a request.
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

/// `Request` has a number `id`, unique among its owner's pending requests; `Reply` has that `id`, and the time `at` from which the
/// owner may see it.
template <class Request, class Reply>
class Session {
 public:
  /// Starts with `owners`, each with one client of the same number. `lookahead`: minimum ticks until an action of one owner can
  /// affect another.
  Session(queue::Timeline& timeline, std::size_t owners, Tick lookahead)
      : timeline_(timeline), lookahead_(lookahead), owners_(owners), clients_(owners) {
    for (unsigned owner = 0; owner < owners; ++owner) clients_[owner].owner = owner;
  }
  /// Adds a client of an owner, and returns its number.
  [[nodiscard]] unsigned add_client(unsigned owner) {
    clients_.emplace_back().owner = owner;
    return static_cast<unsigned>(clients_.size() - 1);
  }

  /// Gives a client, which is not parked, to another owner.
  void give(unsigned client, unsigned owner) { clients_[client].owner = owner; }

  void request(unsigned owner, const Request& request) { owners_[owner].pending.emplace(request.id, Asked{request}); }
  /// The owner's pending request, or null.
  [[nodiscard]] const Request* pending(unsigned owner, std::uint64_t id) const {
    const auto found = owners_[owner].pending.find(id);
    return found == owners_[owner].pending.end() ? nullptr : &found->second.request;
  }
  /// Completes a pending request.
  void complete(unsigned owner, const Reply& reply) {
    Owner& of = owners_[owner];
    const auto found = of.pending.find(reply.id);
    const std::vector<Waiter> waiters = std::move(found->second.waiters);
    of.pending.erase(found);
    of.outbox.push_back(reply);
    for (const auto& [number, parking] : waiters) {
      Client& client = clients_[number];
      if (client.parked && client.parking == parking && client.missing > 0 && --client.missing == 0)
        wake(number, reply.at);
    }
  }
  /// Notes an event that no request of the client waits for.
  void happened(unsigned client, Tick at) {
    if (clients_[client].parked && clients_[client].alert) wake(client, at);
  }
  /// Replies not delivered to the owner yet.
  [[nodiscard]] std::deque<Reply>& outbox(unsigned owner) { return owners_[owner].outbox; }

  /// Parks the client at time `at` of its own clock.
  void park(unsigned client, Tick at, const Wait& wait) {
    Client& parked = clients_[client];
    Owner& owner = owners_[parked.owner];
    parked.parked = true;
    parked.parking += 1;
    parked.since = parked.clock = at;
    parked.missing = 0;
    parked.alert = wait.alert;
    if (wait.yields) return yielding_.push_back(client);
    std::uint32_t open = 0;
    for (const std::uint64_t id : wait.ids)
      if (const auto found = owner.pending.find(id); found != owner.pending.end()) {
        auto& waiters = found->second.waiters;
        std::erase_if(waiters, [&](const Waiter& waiter) { return waiter.client == client; });
        waiters.push_back({client, parked.parking});
        ++open;
      }
    const auto done = static_cast<std::uint32_t>(wait.ids.size()) - open;
    parked.missing = wait.need > done ? wait.need - done : 0;
    if (parked.missing == 0 && wait.until == kNever) return wake(client, at);
    if (parked.missing == 0 && wait.need != 0)
      return wake(client, std::min(wait.until, first_reply(owner, parked.clock, wait.ids)));
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
  struct Waiter {
    unsigned client;
    std::uint64_t parking;  ///< number of the client's last parking that waits for the request
  };
  struct Asked {
    Request request;
    std::vector<Waiter> waiters{};
  };
  struct Owner {
    std::unordered_map<std::uint64_t, Asked> pending;
    std::deque<Reply> outbox;
  };
  struct Client {
    unsigned owner = 0;
    bool parked = false, ready = false, alert = false;
    std::uint64_t parking = 0;  ///< number of parkings, so that an old timer has no effect
    std::uint32_t missing = 0;  ///< number of replies that it still waits for
    Tick since = 0, clock = 0;
  };

  /// Earliest completion time of the undelivered replies to `ids`, but not before the client's clock; the clock if there are none.
  [[nodiscard]] static Tick first_reply(const Owner& of, Tick clock, std::span<const std::uint64_t> ids) {
    Tick first = kNever;
    for (const Reply& reply : of.outbox)
      if (std::ranges::find(ids, reply.id) != ids.end()) first = std::min<Tick>(first, reply.at);
    return first == kNever ? clock : std::max(clock, first);
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
  std::vector<Owner> owners_;
  std::vector<Client> clients_;
  std::vector<unsigned> ready_, yielding_;
  Tick horizon_ = kNever;  ///< running or ready clients cannot affect others before this time
};

}  // namespace thalweg::session
