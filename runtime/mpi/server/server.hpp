// SPDX-License-Identifier: Apache-2.0
// Server of an MPI run: executes the ranks' submissions on an engine, keeps virtual time, and resumes ranks.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <compare>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "launch/connections.hpp"
#include "launch/watched_thread.hpp"
#include "mpi/server/communicators.hpp"
#include "mpi/server/history.hpp"
#include "mpi/server/matching.hpp"
#include "mpi/server/memory.hpp"
#include "mpi/server/software_run.hpp"
#include "mpi/server/timeline.hpp"
#include "mpi_fpga/choice.hpp"
#include "mpi_fpga/config.hpp"
#include "mpi_fpga/engine.hpp"
#include "session/session.hpp"

namespace thalweg::mpi {

struct ServerOptions {
  std::vector<NodeId> nodes;              ///< of each rank
  int listener = -1;                      ///< socket that the ranks connect to; closed at the end of the run
  std::vector<std::string> functions;     ///< names of the MPI functions, as the interposer numbers them
  double compute_scale = 1;               ///< virtual time per processor time of a rank; 0: computation takes no time
  double patience_s = 0;                  ///< time-out in seconds without progress of any rank; 0: none
  Tick message_overhead = 0;              ///< software time of each message of a collective that falls back
  Choice choice;                          ///< of algorithms; default: a tree, or whichever is available
  HostMemory memory{};                    ///< between the ranks of a node
  std::vector<UserOperator> operators{};  ///< user-defined operators, the same as the engine's
  std::vector<std::uint32_t> programs{};  ///< first rank of each program, if the run has several
  bool record = false;                    ///< record a history of events

  [[nodiscard]] unsigned ranks() const { return static_cast<unsigned>(nodes.size()); }
};

enum class Ending : std::uint8_t {
  finished,  ///< every rank has returned from MPI_Finalize or finalized its last session
  stopped,   ///< stop() was called
  aborted,   ///< a rank called MPI_Abort
  refused,   ///< a process that is not a rank of this run connected
  died,      ///< a rank ended without MPI_Finalize
  deadlock,
  failure,  ///< the fabric has failed: a link remains down
  disagreement,
  timeout,
};

/// Key of collective statistics: one function, communicator, size and call site. Calls are counted per rank.
struct CollectiveKey {
  std::string communicator;
  std::vector<NodeId> nodes;  ///< of its ranks
  std::string function;
  std::uint64_t bytes = 0;  ///< of one block; of a v-form the largest
  bool vector = false;      ///< a v-form
  std::uint8_t collective = 0;
  bool offloaded = false;
  spec::Algorithm algorithm = spec::Algorithm::tree;  ///< if offloaded
  std::uint32_t root = 0;
  std::string site;  ///< call site of the communicator's rank 0
  auto operator<=>(const CollectiveKey&) const = default;
};
struct CollectiveUse {
  std::uint64_t calls = 0;
  std::uint64_t operations = 0;
  Tick fabric = 0;   ///< sum over operations, from the last rank's entry to the last rank's completion
  Tick waiting = 0;  ///< sum over ranks, from a rank's entry to the last rank's
  Tick skew = 0;     ///< sum over operations, from the first rank's entry to the last rank's
  Tick memory = 0;   ///< sum over operations: the part of `fabric` spent in the memory of nodes with several ranks
};
struct FallbackKey {
  Reason reason = Reason::none;
  std::string function;
  std::string detail;
  auto operator<=>(const FallbackKey&) const = default;
};

struct Outcome {
  Ending ending = Ending::stopped;
  std::string what;              ///< one line of explanation if the run did not finish
  unsigned aborter = 0;          ///< the rank that called MPI_Abort
  int abort_code = 0;            ///< argument of MPI_Abort
  std::vector<Blocked> blocked;  ///< state of each thread and what it waits for; since -1: not waiting
  Tick virtual_time = 0;         ///< the last rank's clock
  std::vector<Tick> clocks;
  unsigned joined = 0;
  std::map<std::string, std::uint64_t> calls;
  std::map<CollectiveKey, CollectiveUse> collectives;
  std::map<FallbackKey, std::uint64_t> fallbacks;
  std::uint64_t messages = 0, message_bytes = 0;
  std::uint64_t unreceived = 0;          ///< messages not received, so far or at the end
  std::uint64_t failed_collectives = 0;  ///< collectives with sizes that disagree, after which the program continued
  std::string first_failure;             ///< description of the first failed collective
  std::vector<LinkUse> links;
  std::vector<Recovery> recoveries;
  std::vector<Lost> lost;
  std::optional<History> history;

  /// One line for all ranks that wait for the same thing, since the earliest of them began to wait.
  [[nodiscard]] std::vector<std::string> waiting(double ticks_per_second) const;
};

/// Progress of a run.
struct Progress {
  Tick virtual_time = 0;
  std::uint64_t calls = 0;  ///< of MPI functions, of all ranks
};

class Server {
 public:
  Server(CollectiveEngine& engine, ServerOptions options);

  /// Serves until the program ends or can make no progress.
  Outcome run();
  /// Makes run() return soon. May be called from any thread.
  void stop() { stop_ = true; }
  /// May be called from any thread during run().
  [[nodiscard]] Progress progress();
  /// Process IDs of the ranks that have connected, 0 for the others.
  [[nodiscard]] const std::vector<std::int32_t>& processes() const { return connections_.processes(); }

 private:
  /// MPI call in which a thread was sampled: `borders` identifies it; processor time at the first look, or at the last
  /// round's end, and at the last look, and whether it slept between the last two.
  struct NativeCall {
    std::uint64_t borders = 0;
    std::int64_t first_ns = 0, last_ns = 0;
    std::chrono::steady_clock::time_point looked{};
    bool sleeps = false;
    unsigned rounds = 0;  ///< in which it was blocked after the parked ranks had progressed MPI
  };
  /// A thread of a rank.
  struct Client {
    unsigned slot = 0;       ///< number of its slot among the rank's
    unsigned number = 0;     ///< in the session
    std::uint32_t life = 0;  ///< its slot's, which another thread may have later
    std::vector<std::uint32_t> path{};
    launch::WatchedThread watched{};
    bool watches = false;     ///< `watched` is this thread
    std::uint64_t turns = 0;  ///< of `watched`, when last seen asleep
    unsigned idle = 0;        ///< how often it was, before it has called MPI
    // Sample taken while the thread ran outside MPI: `borders` and processor time.
    std::uint64_t borders = 0;
    std::int64_t processor_ns = 0;
    bool beside_others = false;    ///< a rank's first thread: the sample is its own, as the rank has had other threads
    bool sampled = false;          ///< ran at the last look at all threads, and has not parked since
    std::optional<Tick> polled{};  ///< time of its last unsuccessful poll
    // Last look whether the thread sleeps: its time, processor time, and the number of looks in a row at which it did.
    std::chrono::steady_clock::time_point looked{};
    std::int64_t looked_ns = 0;
    std::uint64_t looked_sleeps = 0;
    unsigned asleep = 0;
    // When it was first seen in its present sleep in a system call, and its turns then.
    std::chrono::steady_clock::time_point blocked_since{};
    std::uint64_t blocked_turns = 0;
    std::optional<std::uint64_t> given_up{};  ///< `borders` between which time does not wait for it any more
    NativeCall native_call{};
  };
  struct Rank {
    std::vector<Client> clients;     ///< its threads, in the order of their paths
    std::uint32_t lives = 0;         ///< Slot::lives when the clients were last updated
    bool settled = false;            ///< no thread can run before one of its rank is resumed
    std::vector<Submission> recent;  ///< if it has several threads: those dated after now
    std::string disagreement;        ///< last one reported to it
    Mailbox mailbox;
  };
  struct
      Channel {  ///< messages from one rank to another: those of a thread, and those of equal tags, are delivered in order
    struct Entry {
      Message message;
      std::uint32_t thread = 0;
      bool arrived = false;
    };
    std::deque<std::shared_ptr<Entry>> sent;  ///< not delivered yet
  };

  // server.cpp: the main loop, parking and resuming
  void take_parked();
  [[nodiscard]] bool have_progressed_mpi();
  [[nodiscard]] bool have_had_rounds();
  void put_blocked_outside();
  void keep_mpi_progressing();
  [[nodiscard]] bool somebody_yields();
  [[nodiscard]] bool somebody_used_files();
  [[nodiscard]] bool all_have_left();
  [[nodiscard]] bool somebody_lives_on();
  void park(unsigned rank, Client& client);
  void note_event(unsigned rank, Tick at);
  void hand_over(unsigned rank);
  void hand_over_to_parked();
  [[nodiscard]] bool release_ready();
  [[nodiscard]] Tick look();
  void complete(unsigned rank, const Reply& reply);
  [[nodiscard]] bool over(bool quiet = false);
  void note_ends();
  [[nodiscard]] Tick left_at(unsigned rank);
  [[nodiscard]] std::optional<unsigned> first_lost();
  [[nodiscard]] std::optional<unsigned> first_to_leave();
  void let_leave();
  void close_books(Outcome& outcome);

  // threads.cpp: which threads exist, and which of them run
  [[nodiscard]] ThreadSlot& slot_of(unsigned rank, const Client& client) { return memory_.thread(rank, client.slot); }
  [[nodiscard]] State state_of(unsigned rank, const Client& client) {
    const ThreadSlot& slot = slot_of(rank, client);
    const State state = slot.state.load();  // read before `life`, as the slot may get another thread
    return slot.life.load() == client.life ? state : State::unused;
  }
  /// True if `check(rank, client)` holds for a thread of any rank.
  template <class Check>
  [[nodiscard]] bool any_client(Check check) {
    for (unsigned rank = 0; rank < options_.ranks(); ++rank)
      for (Client& client : ranks_[rank].clients)
        if (check(rank, client)) return true;
    return false;
  }
  [[nodiscard]] bool any_in_state(State state) {
    return any_client([&](unsigned rank, const Client& client) { return state_of(rank, client) == state; });
  }
  [[nodiscard]] bool has_client_in(unsigned rank, State state) {
    return std::ranges::any_of(ranks_[rank].clients, [&](const Client& c) { return state_of(rank, c) == state; });
  }
  [[nodiscard]] bool has_threads(unsigned rank) const { return ranks_[rank].clients.size() > 1; }
  [[nodiscard]] bool any_has_threads() const {
    return std::ranges::any_of(ranks_, [](const Rank& rank) { return rank.clients.size() > 1; });
  }
  void admit(unsigned rank);
  void count_threaded();
  void stop_counting(unsigned rank, const Client& client, State state);
  bool watch(unsigned rank, Client& client);
  [[nodiscard]] launch::Doing doing(unsigned rank, Client& client);
  [[nodiscard]] bool rests(unsigned rank, Client& client);
  [[nodiscard]] bool waits_for_helpers(unsigned rank);
  [[nodiscard]] bool wakes_parked(unsigned rank);
  [[nodiscard]] bool settled();
  [[nodiscard]] bool settled(unsigned rank);
  [[nodiscard]] bool somebody_may_act();
  [[nodiscard]] std::int64_t processor_ns(unsigned rank, Client& client);
  [[nodiscard]] bool runs(unsigned rank, Client& client);
  [[nodiscard]] bool blocks_in_mpi(unsigned rank, Client& client);
  [[nodiscard]] std::int64_t quiet_ns(unsigned rank, Client& client);
  [[nodiscard]] bool has_blocked(unsigned rank, Client& client);
  [[nodiscard]] bool held_up_too_long(unsigned rank, Client& client, std::int64_t quiet_ns);
  /// A thread that may act, and the earliest time at which it can.
  struct Runner {
    Tick at;
    unsigned rank;
    Client* client;
  };
  [[nodiscard]] bool same_runners();
  [[nodiscard]] Tick ticks_of(std::int64_t processor_ns) const;
  [[nodiscard]] Tick earliest_of_running(bool some_resumed);
  void keep_pace(std::vector<Runner> threads, bool some_resumed);

  // dispatch.cpp: operations that ranks post
  void drain(unsigned rank);
  void order(unsigned rank, std::vector<Submission>& parts);
  void accept(unsigned rank, const Submission& part);
  void create(unsigned rank, const Submission& part);
  [[nodiscard]] std::string program_of(std::uint32_t rank) const;
  [[nodiscard]] std::string name_of(const Creations::Creation& creation, std::uint32_t parent,
                                    std::uint32_t number) const;
  [[nodiscard]] std::uint32_t collectives_of(std::uint32_t communicator) const;
  void release(const Submission& part);
  void free_if_unused(std::uint32_t number);
  [[nodiscard]] spec::Algorithm algorithm_of(const Communicator& communicator, const CollectiveRequest& part,
                                             std::uint64_t bytes);
  void collective(unsigned rank, const Submission& part);
  void fit(const Communicator& communicator, Meeting& operation, const Submission& part, CollectiveRequest& request);
  void submit(const Communicator& communicator, Meeting& operation, CollectiveRequest request, std::uint64_t bytes,
              Tick at, std::function<void(Tick)> done);
  void meet(unsigned rank, const Submission& part);
  void software(unsigned rank, const Submission& part);
  void start_software(const Communicator& communicator, Meeting& operation);
  void end_part(std::uint32_t communicator, std::uint64_t number, unsigned rank, std::uint64_t id, Tick at);
  void send(unsigned rank, const Submission& part);
  void transfer(unsigned from, unsigned to, std::uint64_t bytes, Tick at, Timeline::Done done);
  void deliver_arrived(unsigned sender, unsigned receiver, Tick at);
  void deliver(Message message, Tick at);
  void post(unsigned rank, const Submission& part);
  void serve(unsigned rank, const Post& post, const Message& message);

  // shared_nodes.cpp: nodes with several ranks
  [[nodiscard]] RankMap rank_map_of(const std::vector<std::uint32_t>& members) const;
  void enter_node(Communicator& communicator, Meeting& operation, const CollectiveRequest& request, Tick at);
  [[nodiscard]] Tick lookahead() const;

  // diagnosis.cpp
  [[nodiscard]] std::optional<std::string> disagreement() const;
  [[nodiscard]] std::string missing_level();
  [[nodiscard]] std::vector<Blocked> blocked();
  [[nodiscard]] std::string name_of(unsigned rank, unsigned thread);
  [[nodiscard]] std::string state_text(unsigned rank, Client& client);
  [[nodiscard]] std::string waits_for(unsigned rank, const Submission& part);

  ServerOptions options_;
  const bool one_rank_a_node_;
  RankMemory memory_;
  launch::Connections connections_;
  Timeline timeline_;
  std::vector<Rank> ranks_;
  struct Thread {
    unsigned rank, slot;
  };
  std::vector<Thread> threads_;         ///< of the session's clients
  std::vector<unsigned> free_numbers_;  ///< of clients whose thread has ended
  session::Session<Submission, Reply> session_;
  std::map<std::uint32_t, Communicator> communicators_;
  std::uint32_t communicators_made_ = 0;
  Creations creations_;
  std::unordered_map<std::uint64_t, Channel> channels_;
  Outcome books_;
  std::optional<std::chrono::steady_clock::time_point> leaving_;  ///< when a rank was first seen leaving
  unsigned left_ = 0;                                             ///< the rank whose exit ended the run
  bool progressed_ = false;
  std::vector<std::uint64_t>
      mpi_progress_;              ///< Slot::progressed by rank, when all native threads were first seen blocked
  std::uint64_t file_calls_ = 0;  ///< of all ranks, as of the last check
  bool created_ = false;          ///< a communicator has been created, and some members may not wait for it
  bool progressing_ = false;      ///< ranks progress the MPI library because one of them needs it
  std::atomic<bool> stop_{false};
  std::atomic<Tick> now_{0};  ///< the timeline's time, for other threads
};

}  // namespace thalweg::mpi
