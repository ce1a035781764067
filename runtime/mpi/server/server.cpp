// SPDX-License-Identifier: Apache-2.0
#include "mpi/server/server.hpp"

#include <algorithm>
#include <chrono>
#include <ranges>
#include <utility>

#include "launch/futex.hpp"

namespace thalweg::mpi {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kLookMilliseconds = 50;  // polling interval of the sockets
constexpr int kLastLooks = 100;        // maximum polls for the end of a rank that ends the run
// Ranks that run without parking are sampled after a time between these, in which the last samples would fit 20 times.
constexpr long kShortestQuietNs = 100'000, kQuietNs = 5'000'000;
constexpr long kSamples = 20;
constexpr long kShortestNapNs = 10'000;            // between two samples of threads that may go to sleep outside MPI
constexpr auto kStay = std::chrono::seconds(1);    // the other ranks may run on for this long after a rank's end
constexpr auto kReturn = std::chrono::seconds(1);  // a time-out report waits this long for ranks between MPI calls
constexpr Tick kLooksPerSecond = 100'000;  // rate, per second of virtual time, of publishing a busy fabric's time

}  // namespace

Server::Server(CollectiveEngine& engine, ServerOptions options)
    : options_(std::move(options)),
      one_rank_a_node_(!RankMap(options_.nodes).shared()),
      memory_(options_.ranks()),
      connections_(options_.listener, options_.ranks(), memory_.descriptor(),
                   launch::Welcome{engine.ticks_per_second(), options_.compute_scale}),
      timeline_(engine, options_.memory),
      ranks_(options_.ranks()),
      session_(timeline_, options_.ranks(), lookahead()) {
  for (unsigned rank = 0; rank < options_.ranks(); ++rank) {
    memory_.slot(rank).node = options_.nodes[rank];
    ranks_[rank].clients.push_back({.number = rank});
    threads_.push_back({rank, 0});
  }
  if (options_.record) books_.history.emplace(std::max<Tick>(1, engine.ticks_per_second() / 1'000'000));
}

Outcome Server::run() {
  while (connections_.joined() < options_.ranks() && !over()) connections_.poll(kLookMilliseconds);
  auto looked = Clock::now();
  auto progress = looked;
  Header& header = memory_.header();
  long nap = kShortestNapNs, napped = 0;
  long sample_after = kQuietNs;
  // Last look at the running threads: when, the earliest time at which one could act until virtual time has come there, and whether
  // a thread has been resumed since.
  Clock::time_point sampled{};
  Tick seen = kNever;
  bool released = false;
  while (books_.what.empty()) {
    const std::uint32_t bell = header.doorbell.load();
    const auto now = Clock::now();
    if (now - looked > std::chrono::milliseconds(kLookMilliseconds)) {
      looked = now;
      connections_.poll(0);
      if (over()) break;
      progressed_ = somebody_used_files() || progressed_;
    }
    if (std::exchange(progressed_, false)) progress = now;
    if (progressing_) keep_mpi_progressing();
    const std::chrono::duration<double> patience(options_.patience_s);
    if (options_.patience_s > 0 && now - progress > patience &&
        (header.running.load() == 0 || now - progress > patience + kReturn)) {
      books_.ending = Ending::timeout;
      books_.what = "no rank made progress for " + std::to_string(static_cast<int>(options_.patience_s)) +
                    " s; this is not proof of a deadlock (--timeout 0 waits forever)";
      break;
    }
    Tick earliest = kNever;  // earliest time at which a running thread can act
    const bool seen_lately = seen != kNever && now - sampled < std::chrono::nanoseconds(kQuietNs);
    const bool known = seen_lately && same_runners();
    const bool quiet = !seen_lately && settled();
    if (known) {
      earliest = seen;
    } else if (quiet) {
      nap = kShortestNapNs;
      napped = 0;
    } else {
      if (header.threaded.load() == 0) nap = sample_after;
      launch::futex_wait(header.doorbell, bell, nap);
      const bool rang = header.doorbell.load() != bell;
      napped = rang ? 0 : napped + nap;
      nap = rang ? kShortestNapNs : std::min(2 * nap, sample_after);
      if ((rang && !somebody_yields()) || (!rang && napped < sample_after)) continue;
      napped = 0;
      const auto begin = Clock::now();
      if (!rang) put_blocked_outside();
      hand_over_to_parked();
      keep_mpi_progressing();
      earliest = earliest_of_running(std::exchange(released, false));
      const std::chrono::nanoseconds took = Clock::now() - begin;
      sample_after = std::clamp<long>(kSamples * took.count(), kShortestQuietNs, kQuietNs);
      // One look at each thread does not tell that none can run.
      if (earliest == kNever && any_has_threads() && !settled()) continue;
      // If processor time does not advance virtual time, no result may depend on it.
      if (earliest != kNever && options_.compute_scale == 0 && !somebody_yields()) continue;
      if (options_.compute_scale != 0) seen = earliest;
      sampled = begin;
    }
    if (const auto rank = first_to_leave()) earliest = std::min(earliest, left_at(*rank));
    // Read before parked ranks are taken in: a rank that returns later rings the doorbell and is handled in the next round.
    const bool outside = any_in_state(State::outside) || somebody_lives_on();
    try {
      take_parked();
      session_.run(earliest, [this] { return look(); });
    } catch (const Disagreement& disagreement) {
      books_.ending = Ending::disagreement;
      books_.what = disagreement.what;
      break;
    }
    if (release_ready()) {
      released = true;
      if (std::exchange(created_, false)) hand_over_to_parked();
      continue;
    }
    seen = kNever;
    if (quiet) {
      connections_.poll(0);
      if (over(true)) break;
    }
    if (earliest != kNever) continue;
    const bool ended = !any_in_state(State::parked) && header.running.load() == 0;
    if (!ended && !outside && !somebody_may_act()) {
      const auto mismatch = disagreement();
      const auto failure = timeline_.engine().failure();
      books_.ending = mismatch ? Ending::disagreement : failure ? Ending::failure : Ending::deadlock;
      books_.what = mismatch  ? *mismatch
                    : failure ? *failure
                              : "the program is deadlocked: every rank waits, and nothing is in flight";
      break;
    }
    if (ended && all_have_left()) {
      books_.ending = Ending::finished;
      break;
    }
    launch::futex_wait(header.doorbell, bell, kLookMilliseconds * 1'000'000L);
  }
  close_books(books_);
  let_leave();
  for (int looks = 0; looks < kLastLooks && !connections_.has_lost(left_); ++looks)
    connections_.poll(books_.ending == Ending::died ? kLookMilliseconds : 0);
  if (books_.ending == Ending::died)
    books_.what += connections_.process(left_).end(memory_.slot(left_).exiting.load() != 0) + " before MPI_Finalize";
  if (books_.ending == Ending::died || books_.ending == Ending::aborted) books_.what += missing_level();
  return std::move(books_);
}

/// True if the run has ended for a reason other than the state of its waiting ranks. `quiet`: no rank runs, and none may resume
/// before the time at which one has left.
bool Server::over(bool quiet) {
  const auto end = [&](Ending ending, std::string what) {
    books_.ending = ending;
    books_.what = std::move(what);
    return true;
  };
  if (!connections_.refusal().empty()) return end(Ending::refused, connections_.refusal());
  note_ends();
  if (const auto rank = first_to_leave()) {
    if (!leaving_) leaving_ = Clock::now();
    if (quiet || stop_ || Clock::now() - *leaving_ > kStay) {
      const Slot& slot = memory_.slot(*rank);
      const std::string who = "rank " + std::to_string(*rank);
      if (slot.disagrees.load() != 0) return end(Ending::disagreement, ranks_[*rank].disagreement);
      left_ = *rank;
      if (slot.aborting.load() == 0) return end(Ending::died, who + " ");
      books_.aborter = *rank;
      books_.abort_code = slot.abort_code;
      return end(Ending::aborted,
                 who + (slot.failed ? " was ended by MPI for a fatal error, with status " +
                                          std::to_string(slot.abort_code & 0xFF)
                                    : " called MPI_Abort with code " + std::to_string(slot.abort_code)));
    }
  }
  if (stop_) return end(Ending::stopped, "stopped");
  return false;
}

/// Marks ranks whose processes have ended as leaving.
void Server::note_ends() {
  for (const unsigned rank : connections_.lost())
    for (const Client& client : ranks_[rank].clients) {
      const State state = state_of(rank, client);
      if (!counts(state)) continue;
      if (State was = state; slot_of(rank, client).state.compare_exchange_strong(was, State::leaving))
        memory_.header().running.fetch_sub(1);
    }
}

/// The virtual time at which a rank leaves.
Tick Server::left_at(unsigned rank) {
  Tick left = 0;
  for (const Client& client : ranks_[rank].clients)
    if (const ThreadSlot& slot = slot_of(rank, client); slot.state.load() == State::leaving)
      left = std::max({left, slot.clock, slot.resumed.load()});
  return left;
}

/// The first rank whose connection was lost before MPI_Finalize. Its end caused the run's end: the launcher then kills all others.
std::optional<unsigned> Server::first_lost() {
  const auto found = std::ranges::find_if(connections_.lost(), [&](unsigned rank) {
    return !has_client_in(rank, State::finished) && !has_client_in(rank, State::resting);
  });
  return found == connections_.lost().end() ? std::nullopt : std::optional(*found);
}

/// The rank whose end ends the run: of all ranks that are leaving, the one with the earliest virtual time.
std::optional<unsigned> Server::first_to_leave() {
  std::optional<unsigned> first = first_lost();
  for (unsigned rank = 0; rank < options_.ranks(); ++rank)
    if (has_client_in(rank, State::leaving) && !connections_.has_lost(rank) &&
        (!first || std::pair(left_at(rank), rank) < std::pair(left_at(*first), *first)))
      first = rank;
  return first;
}

/// Lets leaving ranks exit by themselves, so that the launcher gets their exit status.
void Server::let_leave() {
  for (unsigned rank = 0; rank < options_.ranks(); ++rank) {
    if (memory_.slot(rank).disagrees.load() != 0) continue;
    for (const Client& client : ranks_[rank].clients)
      if (State leaving = State::leaving; slot_of(rank, client).state.compare_exchange_strong(leaving, State::running))
        launch::ring(slot_of(rank, client).bell);
  }
}

/// True if each parked rank has progressed MPI for the others since all of these were first seen blocked: they may only wait until a
/// starved rank does.
bool Server::have_progressed_mpi() {
  constexpr std::uint64_t kTimes = 2;  // the first may have begun before
  const auto ranks = std::views::iota(0U, options_.ranks());
  const auto progressed = [this](unsigned rank) { return memory_.slot(rank).progressed.load(); };
  if (mpi_progress_.empty()) {
    for (const unsigned rank : ranks) mpi_progress_.push_back(progressed(rank));
    return false;
  }
  return std::ranges::all_of(ranks, [&](unsigned rank) {
    return !has_client_in(rank, State::parked) || progressed(rank) >= mpi_progress_[rank] + kTimes;
  });
}

/// Ends a round of the blocked threads; true if each has had enough. A call may need several messages there and back, as the first one
/// between two ranks does, and on a busy machine a rank may get a processor once per message.
bool Server::have_had_rounds() {
  constexpr unsigned kRounds = 4;
  bool enough = true;
  for (unsigned rank = 0; rank < options_.ranks(); ++rank)
    for (Client& client : ranks_[rank].clients)
      if (state_of(rank, client) == State::native) {
        NativeCall& call = client.native_call;
        enough = enough && call.rounds >= kRounds;
        ++call.rounds;
        call.first_ns = processor_ns(rank, client);
      }
  return enough;
}

/// Marks threads that block in an MPI call without the fabric as outside, if no running thread could end the call.
void Server::put_blocked_outside() {
  const bool awaited = any_client([&](unsigned rank, const Client& client) {
    const ThreadSlot& slot = slot_of(rank, client);
    return slot.state.load() == State::parked && (slot.need != 0 || slot.until != kForever);
  });
  // If no rank waits for virtual time, a returning rank would only wait for this server.
  if (!awaited) return mpi_progress_.clear();
  bool all_block = true;
  for (unsigned rank = 0; rank < options_.ranks(); ++rank)
    for (Client& client : ranks_[rank].clients) {
      const State state = state_of(rank, client);
      if (state == State::native ? !blocks_in_mpi(rank, client) : counts(state) && !rests(rank, client))
        all_block = false;
    }
  if (all_block && !have_progressed_mpi()) return;
  mpi_progress_.clear();
  if (!all_block || !have_had_rounds()) return;
  for (unsigned rank = 0; rank < options_.ranks(); ++rank)
    for (const Client& client : ranks_[rank].clients) {
      State expected = State::native;
      if (slot_of(rank, client).state.compare_exchange_strong(expected, State::outside))
        memory_.header().running.fetch_sub(1);
    }
}

/// Makes all ranks progress the MPI library while a resumed rank is still inside it, as its call may need all ranks (MPICH
/// completes MPI_Comm_idup by a blocking broadcast).
void Server::keep_mpi_progressing() {
  const bool needed = any_client([&](unsigned rank, const Client& client) {
    const ThreadSlot& slot = slot_of(rank, client);
    return slot.progressing_mpi.load() && (slot.state.load() == State::resumed || slot.state.load() == State::running);
  });
  if (needed == progressing_) return;
  progressing_ = needed;
  std::atomic<std::uint32_t>& native = memory_.header().native;
  if (!needed) {
    native.fetch_sub(1);
  } else if (native.fetch_add(1) == 0) {
    for (unsigned rank = 0; rank < options_.ranks(); ++rank)
      for (const Client& client : ranks_[rank].clients) launch::ring(slot_of(rank, client).bell);
  }
}

bool Server::somebody_yields() {
  return any_client([&](unsigned rank, const Client& client) {
    return state_of(rank, client) == State::parked && slot_of(rank, client).yields;
  });
}

bool Server::somebody_used_files() {
  std::uint64_t calls = 0;
  for (unsigned rank = 0; rank < options_.ranks(); ++rank) calls += memory_.slot(rank).file_calls.load();
  return std::exchange(file_calls_, calls) != calls;
}

/// True if each rank has called MPI_Finalize, or its process has ended.
bool Server::all_have_left() {
  return std::ranges::all_of(std::views::iota(0U, options_.ranks()), [&](unsigned rank) {
    return has_client_in(rank, State::finished) || connections_.has_lost(rank);
  });
}

/// True if a rank has finalized its MPI sessions, or all its threads have ended without MPI_Finalize, but the end of its process has
/// not been seen.
bool Server::somebody_lives_on() {
  const auto ended = [&](unsigned rank) {
    return std::ranges::all_of(ranks_[rank].clients,
                               [&](const Client& client) { return state_of(rank, client) == State::unused; });
  };
  return std::ranges::any_of(std::views::iota(0U, options_.ranks()), [&](unsigned rank) {
    return (has_client_in(rank, State::resting) || ended(rank)) && !connections_.has_lost(rank);
  });
}

Progress Server::progress() {
  Progress found{now_.load(std::memory_order_relaxed), 0};
  for (unsigned rank = 0; rank < options_.ranks(); ++rank)
    for (std::size_t f = 0; f < options_.functions.size(); ++f)
      found.calls += memory_.slot(rank).calls[f].load(std::memory_order_relaxed);
  return found;
}

/// Processes new submissions and parked threads, in the order of ranks and of the threads' paths.
void Server::take_parked() {
  std::vector<Client*> parked;
  for (unsigned rank = 0; rank < options_.ranks(); ++rank) {
    admit(rank);
    parked.clear();
    for (Client& client : ranks_[rank].clients)
      if (!session_.is_parked(client.number) && state_of(rank, client) == State::parked) parked.push_back(&client);
    drain(rank);
    for (Client* client : parked) park(rank, *client);
  }
}

void Server::park(unsigned rank, Client& client) {
  const ThreadSlot& slot = slot_of(rank, client);
  client.native_call = {};
  client.sampled = false;
  if (slot.until != kForever) client.polled = slot.clock;
  progressed_ = progressed_ || slot.was_outside;
  session_.park(client.number, slot.clock,
                {.ids = memory_.at<const std::uint64_t>(slot.wait_ids, slot.wait_count),
                 .need = slot.need,
                 .until = slot.until,
                 .alert = slot.alert,
                 .yields = slot.yields});
}

void Server::complete(unsigned rank, const Reply& reply) {
  session_.complete(rank, reply);
  if (reply.bytes == kNothing) return;  // an unsuccessful probe
  progressed_ = true;
  note_event(rank, reply.at);
}

void Server::note_event(unsigned rank, Tick at) {
  memory_.slot(rank).happened += 1;
  for (const Client& client : ranks_[rank].clients) session_.happened(client.number, at);
}

void Server::hand_over(unsigned rank) {
  std::deque<Reply>& outbox = session_.outbox(rank);
  launch::Ring<Reply, kRing>& replies = memory_.slot(rank).replies;
  for (; !outbox.empty() && !replies.full(); outbox.pop_front()) replies.put(outbox.front());
}

/// Delivers completions to ranks that remain parked, too: MPI's part of an operation may be needed by ranks that resume. A running
/// thread must not see completions at times that vary.
void Server::hand_over_to_parked() {
  for (unsigned rank = 0; rank < options_.ranks(); ++rank) {
    std::vector<Client>& clients = ranks_[rank].clients;
    const auto parked =
        std::ranges::find_if(clients, [&](const Client& client) { return state_of(rank, client) == State::parked; });
    if (session_.outbox(rank).empty() || parked == clients.end()) continue;
    if (std::ranges::any_of(clients, [&](Client& c) { return counts(state_of(rank, c)) && !rests(rank, c); })) continue;
    hand_over(rank);
    launch::ring(slot_of(rank, *parked).bell);
  }
}

/// Resumes all ready threads; false if there is none.
bool Server::release_ready() {
  const std::vector<unsigned> ready = session_.take_ready();
  memory_.header().running.fetch_add(static_cast<std::uint32_t>(ready.size()));
  // All of a rank's times and replies are there before one of its threads resumes.
  for (const unsigned number : ready) {
    const auto [rank, thread] = threads_[number];
    ThreadSlot& slot = memory_.thread(rank, thread);
    slot.clock = session_.clock(number);
    std::atomic<Time>& latest = memory_.slot(rank).latest;
    latest = std::max(latest.load(), slot.clock);
    if (books_.history && slot.clock > session_.since(number))
      books_.history->calls.push_back({rank, name_of(rank, thread), slot.function, session_.since(number), slot.clock});
    hand_over(rank);
    ranks_[rank].settled = false;
  }
  for (const unsigned number : ready) {
    ThreadSlot& slot = memory_.thread(threads_[number].rank, threads_[number].slot);
    State parked = State::parked;  // unless another thread has finalized MPI meanwhile
    if (!slot.state.compare_exchange_strong(parked, State::resumed)) memory_.header().running.fetch_sub(1);
    launch::ring(slot.bell);
  }
  return !ready.empty();
}

/// Publishes the virtual time, and returns the time of the next call.
Tick Server::look() {
  const CollectiveEngine& engine = timeline_.engine();
  if (books_.history) books_.history->look(engine);
  now_.store(timeline_.now(), std::memory_order_relaxed);
  const Tick next = timeline_.now() + std::max<Tick>(1, engine.ticks_per_second() / kLooksPerSecond);
  return books_.history ? std::min(next, books_.history->due()) : next;
}

void Server::close_books(Outcome& outcome) {
  if (outcome.ending != Ending::finished && outcome.ending != Ending::stopped && outcome.ending != Ending::refused) {
    try {
      take_parked();
    } catch (const Disagreement&) {
      // The ranks taken in before are still reported.
    }
    outcome.blocked = blocked();
    for (unsigned rank = 0; rank < options_.ranks(); ++rank)
      for (const auto& client : ranks_[rank].clients)
        if (outcome.history && session_.is_parked(client.number))
          outcome.history->calls.push_back({rank, name_of(rank, client.slot), slot_of(rank, client).function,
                                            session_.since(client.number),
                                            std::max(timeline_.now(), session_.since(client.number))});
  }
  outcome.joined = connections_.joined();
  for (unsigned rank = 0; rank < options_.ranks(); ++rank) {
    const Slot& slot = memory_.slot(rank);
    Tick clock = 0;
    for (const Client& client : ranks_[rank].clients)
      clock = std::max(clock,
                       session_.is_parked(client.number) ? session_.clock(client.number) : slot_of(rank, client).clock);
    outcome.clocks.push_back(clock);
    outcome.virtual_time = std::max(outcome.virtual_time, clock);
    for (std::size_t f = 0; f < options_.functions.size(); ++f)
      if (const std::uint64_t count = slot.calls[f].load(); count != 0) outcome.calls[options_.functions[f]] += count;
  }
  outcome.links = timeline_.engine().link_use();
  outcome.recoveries = timeline_.engine().recoveries();
  outcome.lost = timeline_.engine().lost();
}

}  // namespace thalweg::mpi
