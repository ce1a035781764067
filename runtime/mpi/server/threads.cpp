// SPDX-License-Identifier: Apache-2.0
// The ranks' threads: which of them exist, and which of them may still act at the present virtual time.
#include <algorithm>
#include <chrono>
#include <ranges>
#include <thread>

#include "launch/futex.hpp"
#include "launch/processor_time.hpp"
#include "launch/wakers.hpp"
#include "mpi/server/server.hpp"

namespace thalweg::mpi {
namespace {

using Clock = std::chrono::steady_clock;
using launch::Doing;
constexpr std::int64_t kPolledNs = 5'000'000;  // an MPI call that uses more processor time waits by polling
constexpr std::int64_t kRoundNs = 250'000;     // or that uses more after the parked ranks have progressed MPI
constexpr auto kCallLook = std::chrono::milliseconds(5);  // between two looks whether a thread sleeps in a call of MPI,
constexpr auto kLook = std::chrono::milliseconds(100);    // and outside
// A thread that sleeps at so many in a row delays no others. A starved one waits for a processor core at most of them.
constexpr unsigned kLooks = 20;
constexpr auto kBlocked = std::chrono::milliseconds(10);  // nor one that blocks so long
constexpr int kIdleShare = 50;  // a process that sleeps, or loops with short sleeps, uses less than a 50th of the time
constexpr std::int64_t kWakeNs = 1'000'000;      // and a thread less processor time than this between two sleeps
constexpr std::int64_t kSpinNs = 2'000'000'000;  // processor time of a thread until it may be spinning
constexpr std::int64_t kLeadNs = 1'000'000;      // processor time by which a thread may be ahead of others
constexpr unsigned kIdle = 64;                   // a thread that has slept so often without a call of MPI is a helper

bool idle(std::int64_t used_ns, Clock::duration of) {
  return std::chrono::nanoseconds(used_ns) * kIdleShare < of;
}

std::vector<std::uint32_t> path_of(const ThreadSlot& slot) {
  return {slot.path, slot.path + std::min<std::size_t>(slot.depth, kDepth)};
}

}  // namespace

/// Updates the rank's clients after it has created threads.
void Server::admit(unsigned rank) {
  Rank& owner = ranks_[rank];
  Slot& slot = memory_.slot(rank);
  const std::uint32_t lives = slot.lives.load();
  if (lives == owner.lives) return;
  owner.lives = lives;
  owner.settled = false;
  // Submissions are ordered by the places of their threads.
  if (slot.submissions.empty())
    std::erase_if(owner.clients, [&](const Client& client) {
      if (client.slot == 0 || state_of(rank, client) != State::unused) return false;
      free_numbers_.push_back(client.number);
      return true;
    });
  for (unsigned thread = 1; thread < std::min<unsigned>(slot.high.load(), kThreads); ++thread) {
    const ThreadSlot& born = memory_.thread(rank, thread);
    Client client{.slot = thread, .life = born.life.load(), .path = path_of(born)};
    if (state_of(rank, client) == State::unused) continue;
    if (std::ranges::find(owner.clients, client.life, &Client::life) != owner.clients.end()) continue;
    if (free_numbers_.empty()) {
      client.number = session_.add_client(rank);
      threads_.push_back({rank, thread});
    } else {
      client.number = free_numbers_.back();
      free_numbers_.pop_back();
      session_.give(client.number, rank);
      threads_[client.number] = {rank, thread};
    }
    owner.clients.push_back(std::move(client));
  }
  std::ranges::stable_sort(owner.clients, {}, &Client::path);
  count_threaded();
}

/// Sets whether each thread that parks rings the doorbell.
void Server::count_threaded() {
  const bool some = std::ranges::any_of(std::views::iota(0U, options_.ranks()), [&](unsigned rank) {
    return has_threads(rank) && std::ranges::any_of(ranks_[rank].clients, [&](const Client& client) {
             const State state = state_of(rank, client);
             return client.slot != 0 && state != State::unused && state != State::helper;
           });
  });
  memory_.header().threaded.store(some ? 1 : 0);
}

/// Changes a counted thread's state to one that does not count, unless it has changed its state itself.
void Server::stop_counting(unsigned rank, const Client& client, State state) {
  State was = state_of(rank, client);
  if (counts(was) && slot_of(rank, client).state.compare_exchange_strong(was, state))
    memory_.header().running.fetch_sub(1);
}

/// Begins to watch a thread; false if it has not started yet.
bool Server::watch(unsigned rank, Client& client) {
  if (client.watches) return true;
  const std::int32_t thread = slot_of(rank, client).system_id.load();
  if (thread == 0) return false;
  client.watched = {connections_.processes()[rank], thread};
  return client.watches = true;
}

Doing Server::doing(unsigned rank, Client& client) {
  if (slot_of(rank, client).pace.load() == Pace::halted) return Doing::runs;  // it only waits for its turn
  const Doing now = watch(rank, client) ? client.watched.doing() : Doing::runs;
  const bool joins = slot_of(rank, client).joins.load() >= 0;  // the kernel wakes it, when a thread of the process ends
  return now == Doing::waits_shared && joins ? Doing::waits : now;
}

/// True if a counted thread sleeps outside MPI until another thread wakes it, or at most for some time.
bool Server::rests(unsigned rank, Client& client) {
  const ThreadSlot& slot = slot_of(rank, client);
  const State state = slot.state.load();
  const std::uint64_t borders = slot.borders.load();
  if (state == State::resumed || borders % 2 != 0) return false;
  if (client.given_up == borders) return true;
  const Doing now = doing(rank, client);
  return now != Doing::runs && now != Doing::blocks && now != Doing::sleeps && slot.borders.load() == borders;
}

/// True if a helper of the rank may wake one of its threads, or call MPI like others of its threads.
bool Server::waits_for_helpers(unsigned rank) {
  const Slot& slot = memory_.slot(rank);
  return slot.callers.load() > 1 || slot.in_team.load() ||
         std::ranges::any_of(ranks_[rank].clients, [&](const Client& c) { return counts(state_of(rank, c)); });
}

/// True if a parked thread of the rank does not sleep.
bool Server::wakes_parked(unsigned rank) {
  return std::ranges::any_of(ranks_[rank].clients, [&](Client& client) {
    if (state_of(rank, client) != State::parked) return false;
    const Doing now = doing(rank, client);
    return now == Doing::runs || now == Doing::blocks || now == Doing::sleeps || now == Doing::ended;
  });
}

/// True if no thread of any rank may act before virtual time advances.
bool Server::settled() {
  bool threads = false;
  for (unsigned rank = 0; rank < options_.ranks(); ++rank) {
    admit(rank);
    threads = threads || has_threads(rank);
  }
  if (!threads) return memory_.header().running.load() == 0;
  return std::ranges::all_of(std::views::iota(0U, options_.ranks()), [&](unsigned rank) { return settled(rank); });
}

/// The same for one rank, whose threads only wake each other. A thread that was seen asleep may have been woken by one that was
/// seen asleep later, so that each is looked at twice, and must have slept all the time from the first to the second look.
bool Server::settled(unsigned rank) {
  Rank& owner = ranks_[rank];
  // Read after what its threads do, which may have created others before.
  const auto no_others = [&] { return memory_.slot(rank).lives.load() == owner.lives; };
  if (!has_threads(rank)) {
    const Client& only = owner.clients.front();
    const bool rests = !counts(state_of(rank, only)) || only.given_up == slot_of(rank, only).borders.load();
    return rests && no_others();
  }
  if (owner.settled || has_client_in(rank, State::leaving)) return true;
  const bool with_helpers = waits_for_helpers(rank);
  std::vector<Client*> asleep;
  for (Client& client : owner.clients) {
    const State state = state_of(rank, client);
    if (state == State::resumed || state == State::native) return false;
    if (counts(state) || (with_helpers && state == State::helper)) asleep.push_back(&client);
  }
  const bool together = asleep.size() > 1;
  for (Client* client : asleep) {
    if (together && watch(rank, *client)) client->turns = client->watched.turns();
    if (!rests(rank, *client)) return false;
  }
  for (Client* client : asleep) {
    if (!together || client->given_up == slot_of(rank, *client).borders.load()) continue;
    if (!rests(rank, *client) || client->watched.turns() != client->turns) return false;
  }
  if (!no_others()) return false;
  // A thread may have ended with its process, whose connection closes later.
  std::vector<std::pair<Client*, Doing>> seen;
  for (Client* client : asleep) seen.emplace_back(client, doing(rank, *client));
  const bool some_ended = std::ranges::find(seen, Doing::ended, &std::pair<Client*, Doing>::second) != seen.end();
  if (some_ended && wakes_parked(rank)) return false;
  owner.settled = true;
  for (const auto& [client, now] : seen) {
    // The kernel wakes the threads that wait for its end before it removes the thread.
    if (now == Doing::ended) {
      if (state_of(rank, *client) == State::helper) slot_of(rank, *client).state.store(State::unused);
      stop_counting(rank, *client, State::unused);
      continue;
    }
    if (now != Doing::waits) owner.settled = false;  // it may wake up by itself
    slot_of(rank, *client).passed.store(true);
    if (state_of(rank, *client) == State::helper) client->processor_ns = processor_ns(rank, *client);
    if (State fresh = State::fresh;
        ++client->idle > kIdle && slot_of(rank, *client).state.compare_exchange_strong(fresh, State::helper))
      memory_.header().running.fetch_sub(1);
  }
  count_threaded();
  return true;
}

/// True if some thread may act although nothing happens in virtual time.
bool Server::somebody_may_act() {
  std::vector<std::vector<std::int32_t>> asleep(options_.ranks());  // outside MPI, until others of their rank wake them
  const bool some = any_client([&](unsigned rank, Client& client) {
    const State state = state_of(rank, client);
    if (state == State::parked) return !session_.is_parked(client.number);
    if (!counts(state) && state != State::helper) return false;
    if (!has_threads(rank) || state == State::native || !rests(rank, client)) return true;
    const Doing now = doing(rank, client);
    if (now == Doing::waits) asleep[rank].push_back(slot_of(rank, client).system_id.load());
    return now != Doing::waits && now != Doing::ended;
  });
  if (some) return true;
  for (unsigned rank = 0; rank < options_.ranks(); ++rank) {
    if (asleep[rank].empty()) continue;
    for (const Client& client : ranks_[rank].clients)
      if (state_of(rank, client) == State::parked) asleep[rank].push_back(slot_of(rank, client).system_id.load());
    if (launch::has_other_wakers(connections_.processes()[rank], asleep[rank])) return true;
  }
  return false;
}

/// Processor time of a thread, 0 before it has started. The only one of a rank may have others that work for it, such as those of a
/// library. Once the rank has had several, its first one may call MPI with its own processor time.
std::int64_t Server::processor_ns(unsigned rank, Client& client) {
  if (client.slot == 0 && !client.beside_others && !has_threads(rank))
    return launch::processor_ns(connections_.processes()[rank]);
  const std::int64_t used = watch(rank, client) ? client.watched.processor_ns() : 0;
  if (client.slot == 0 && !std::exchange(client.beside_others, true)) {
    client.processor_ns = client.looked_ns = used;
    client.native_call = {};
  }
  return used;
}

/// True if a thread runs, or waits for a processor core.
bool Server::runs(unsigned rank, Client& client) {
  return has_threads(rank) ? doing(rank, client) == Doing::runs
                           : launch::any_thread_runs(connections_.processes()[rank]);
}

/// True if this thread blocks in its MPI call.
bool Server::blocks_in_mpi(unsigned rank, Client& client) {
  NativeCall& call = client.native_call;
  const std::uint64_t borders = slot_of(rank, client).borders.load();
  const std::int64_t used = processor_ns(rank, client);
  const auto now = Clock::now();
  if (borders != call.borders) {
    call = {.borders = borders, .first_ns = used, .last_ns = used, .looked = now};
    return false;
  }
  if (now - call.looked >= kCallLook)
    call.sleeps =
        idle(used - std::exchange(call.last_ns, used), now - std::exchange(call.looked, now)) && !runs(rank, client);
  return call.sleeps || used - call.first_ns > (call.rounds == 0 ? kPolledNs : kRoundNs);
}

/// Processor time of a thread since its last MPI call, as of the last sample.
std::int64_t Server::quiet_ns(unsigned rank, Client& client) {
  const std::atomic<std::uint64_t>& borders = slot_of(rank, client).borders;
  const std::uint64_t seen = borders.load();
  watch(rank, client);
  const std::int64_t used = processor_ns(rank, client);
  const bool halted = slot_of(rank, client).pace.load() == Pace::halted;
  if (seen != client.borders || halted) client.asleep = 0;
  if (const auto now = Clock::now(), before = client.looked; now - before > kLook) {
    const std::int64_t took = used - std::exchange(client.looked_ns, used);
    const std::uint64_t sleeps = client.watches ? client.watched.sleeps() : 0;
    const auto naps = static_cast<std::int64_t>(sleeps - std::exchange(client.looked_sleeps, sleeps));
    const bool sleeps_in_turns = has_threads(rank) && took < naps * kWakeNs;
    client.asleep = sleeps_in_turns || (idle(took, now - before) && !runs(rank, client)) ? client.asleep + 1 : 0;
    client.looked = now;
  }
  if (seen == client.borders && seen % 2 == 0 && borders.load() == seen) return used - client.processor_ns;
  client.borders = seen;
  client.processor_ns = used;
  return 0;
}

/// True if a thread of several has slept outside MPI for a while, in a system call that has no limit of time.
bool Server::has_blocked(unsigned rank, Client& client) {
  const bool outside = slot_of(rank, client).borders.load() % 2 == 0;
  if (!outside || !has_threads(rank) || doing(rank, client) != Doing::blocks) return false;
  const auto now = Clock::now();
  const std::uint64_t turns = client.watched.turns();
  if (std::exchange(client.blocked_turns, turns) != turns) client.blocked_since = now;
  return now - client.blocked_since >= kBlocked;
}

/// True if the other ranks have waited long enough for a thread: it blocks outside MPI, on a pipe or a socket, or it may spin until
/// another thread of its rank, which waits in MPI, changes a variable. The latter takes processor time, which may advance virtual
/// time, but that of a helper does not.
bool Server::held_up_too_long(unsigned rank, Client& client, std::int64_t quiet_ns) {
  const bool blocks = client.asleep >= kLooks || has_blocked(rank, client);
  const bool helps = state_of(rank, client) == State::helper;
  const bool may_spin =
      has_threads(rank) && (helps || (options_.compute_scale == 0 && has_client_in(rank, State::parked)));
  const bool spins = may_spin && quiet_ns > kSpinNs && runs(rank, client);
  if (!blocks && !spins) return false;
  client.given_up = client.borders;
  slot_of(rank, client).passed.store(true);
  return true;
}

/// True if all running threads have run since the last look at all of them, so that none can act earlier than was seen then.
bool Server::same_runners() {
  for (unsigned rank = 0; rank < options_.ranks(); ++rank)
    if (memory_.slot(rank).lives.load() != ranks_[rank].lives) return false;
  return !any_client(
      [&](unsigned rank, const Client& client) { return counts(state_of(rank, client)) && !client.sampled; });
}

/// Virtual time that this processor time takes.
Tick Server::ticks_of(std::int64_t processor_ns) const {
  const double ticks_per_ns = static_cast<double>(timeline_.engine().ticks_per_second()) * 1e-9;
  return static_cast<Tick>(static_cast<double>(processor_ns) * ticks_per_ns * options_.compute_scale);
}

/// Earliest time at which a running thread can act, given the processor time since its last MPI call. `some_resumed`: since the last
/// call of this function.
Tick Server::earliest_of_running(bool some_resumed) {
  std::vector<Runner> runners;
  for (unsigned rank = 0; rank < options_.ranks(); ++rank) {
    const bool with_helpers = waits_for_helpers(rank);
    for (Client& client : ranks_[rank].clients) {
      const ThreadSlot& slot = slot_of(rank, client);
      const State state = state_of(rank, client);
      client.sampled = counts(state);
      if (!counts(state) && (state != State::helper || !with_helpers)) continue;
      if (has_threads(rank) && state != State::native && rests(rank, client)) continue;
      const Tick left =
          slot.passed.load() ? std::max(slot.resumed.load(), memory_.slot(rank).latest.load()) : slot.resumed.load();
      const Tick resumed = state == State::resumed ? slot.clock : left;
      const std::int64_t quiet = quiet_ns(rank, client);
      if (held_up_too_long(rank, client, quiet)) continue;
      runners.push_back({resumed + ticks_of(quiet), rank, &client});
    }
  }
  const Tick earliest = runners.empty() ? kNever : std::ranges::min(runners, {}, &Runner::at).at;
  if (options_.compute_scale != 0 && any_has_threads()) keep_pace(std::move(runners), some_resumed);
  return earliest;
}

/// Halts each thread whose virtual time is more than kLeadNs later than the earliest one: if it spins, it would only use processor
/// time. As many threads as there are processor cores are not halted, unless a thread polls MPI: virtual time then advances more
/// slowly than a spinning thread's clock. Parked threads that poll are ignored if no thread has been resumed since the last call
/// (`some_resumed`), since they may wait for a halted one.
void Server::keep_pace(std::vector<Runner> threads, bool some_resumed) {
  static const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  const Tick lead = ticks_of(kLeadNs);
  const auto polls = [&](Tick at, const Client& client) { return client.polled && *client.polled + lead >= at; };
  for (unsigned rank = 0; rank < options_.ranks(); ++rank)
    for (Client& client : ranks_[rank].clients)
      if (some_resumed && state_of(rank, client) == State::parked && polls(timeline_.now(), client))
        threads.push_back({slot_of(rank, client).clock, rank, &client});
  std::ranges::stable_sort(threads, {}, &Runner::at);
  std::vector<ThreadSlot*> ahead;
  for (unsigned left = cores; const auto& [at, rank, client] : threads) {
    const State state = state_of(rank, *client);
    const bool may_halt = has_threads(rank) && (state == State::running || state == State::fresh);
    if (polls(at, *client))
      left = 0;
    else if (left == 0 && may_halt && at - threads.front().at > lead)
      ahead.push_back(&slot_of(rank, *client));
    else if (left > 0 && runs(rank, *client))
      --left;
  }
  for (unsigned rank = 0; rank < options_.ranks(); ++rank)
    for (const Client& client : ranks_[rank].clients) {
      ThreadSlot& slot = slot_of(rank, client);
      Pace free = Pace::free;
      if (std::ranges::find(ahead, &slot) != ahead.end())
        slot.pace.compare_exchange_strong(free, Pace::ahead);
      else if (slot.pace.load() != Pace::free && slot.pace.exchange(Pace::free) == Pace::halted)
        launch::futex_wake(slot.pace);
    }
}

}  // namespace thalweg::mpi
