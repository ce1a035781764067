// SPDX-License-Identifier: Apache-2.0
// This process as a rank of the run: its slot in the shared memory, its threads, and their waiting. With MPI_THREAD_MULTIPLE each
// thread is a client of the server of its own; otherwise all of them are one. A lock protects what threads share. A thread holds
// it in each intercepted call, except while it is parked or in the MPI library.
#pragma once

#include <algorithm>
#include <array>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "mpi/interposer/compat.hpp"
#include "mpi/interposer/thread.hpp"
#include "mpi/protocol.hpp"

namespace thalweg::mpi {

/// Allocator of the rank's heap, with sizes of powers of two. A lent piece is reclaimed after its reader marks it free.
class Heap {
 public:
  void place(std::byte* memory, int descriptor, std::uint64_t begin, std::uint64_t end);
  /// Allocates `bytes` and returns their offset; ends the process with a message if the heap is full.
  std::uint64_t take(std::uint64_t bytes);
  void give_back(std::uint64_t offset);
  /// Leaves freeing to another process, which calls mark_free.
  void lend(std::uint64_t offset) { lent_.push_back(offset); }
  static void mark_free(std::byte* memory, std::uint64_t offset);

 private:
  [[nodiscard]] Chunk& chunk(std::uint64_t offset) const;
  void collect();

  std::byte* memory_ = nullptr;
  int descriptor_ = -1;
  std::uint64_t next_ = 0, end_ = 0;
  std::array<std::vector<std::uint64_t>, 64> free_;
  std::vector<std::uint64_t> lent_;
  std::size_t collect_at_ = 64;
};

/// Called for the reply to a request that no blocking call waits for.
class ReplyHandler {
 public:
  virtual ~ReplyHandler() = default;
  virtual void on_reply(const Reply& reply) = 0;
};

/// Pending MPI work of this rank outside the current call.
class Chores {
 public:
  virtual ~Chores() = default;
  /// Called while the rank waits.
  virtual void progress() = 0;
  /// Called before the rank blocks in MPI itself, where nothing calls progress(): others may need work not started yet.
  virtual void begin_all() = 0;
};

class Process {
 public:
  /// Joins, or rejoins, the run named by the environment, if any. Called after MPI is initialised, as rank `rank` of a program
  /// of `size` ranks.
  void join(int rank, int size);
  /// Makes each thread a client, as MPI has granted MPI_THREAD_MULTIPLE.
  void begin_threads();
  void note_level(int wanted, int given);
  void count_file_call() {
    if (joined()) slot_->file_calls.fetch_add(1);
  }
  /// Leaves the run; called after PMPI_Finalize.
  void finish();
  /// Leaves the run until the rank joins again or its process ends.
  void rest();
  void abort(int code);
  /// Called when MPI ends this process because of an error.
  void fail(int code);
  /// Ends the run because of the disagreement in the last reply.
  [[noreturn]] void give_up();
  void exit();
  [[nodiscard]] bool joined() const { return slot_ != nullptr && !rests_; }

  void count(std::uint16_t function) { (*calls_)[function].fetch_add(1, std::memory_order_relaxed); }
  /// enter() and leave() bracket each intercepted call, made at `site`: time between calls is the program's own computation.
  /// leave() gets the result of enter(): whether that has taken the lock.
  [[nodiscard]] bool enter(std::uint16_t function, const void* site);
  void leave(bool locked);
  [[nodiscard]] std::uint16_t function() { return me().function; }

  [[nodiscard]] Time clock() { return me().clock; }
  [[nodiscard]] double tick_seconds() const { return 1 / ticks_per_second_; }
  [[nodiscard]] double seconds() { return static_cast<double>(clock()) / ticks_per_second_; }
  /// Reading the clock takes one tick. If a rank's computation takes no time, a rank that has read the clock many times in a row
  /// is waiting for a time: each further reading takes a share of the time waited so far, at most that of an unsuccessful poll.
  void look_at_clock();
  /// Delays the thread before a collective by the run's skew.
  void be_late() { me().clock += me().skew.draw(); }
  void wait_until(Time at) { me().clock = std::max(me().clock, at); }

  /// Posts a submission at the thread's clock; returns its request id, or 0 if it gets no reply.
  std::uint64_t post(Submission& part, bool replies = true);
  /// Posts a submission and waits for its reply.
  Reply call(Submission& part);
  /// Waits for the reply to `id`.
  Reply wait(std::uint64_t id);
  /// Passes the reply to `id` to `handler`, as soon as this process sees it.
  void listen(std::uint64_t id, ReplyHandler* handler) { handlers_[id] = handler; }
  void care_for(Chores* chores) { chores_ = chores; }
  /// Parks until `need` of the requests have been replied to, or until `until`.
  /// `since`: start of the wait [default: now].
  void park(std::span<const std::uint64_t> ids, std::uint32_t need, Time until, std::optional<Time> since = {});
  /// An unsuccessful poll: takes a short time and lets other ranks run. If a rank's computation takes no time, polls after many
  /// unsuccessful ones wait longer, until an event that a poll could find. The poll ends by `next`, the time of a completion
  /// that is known already.
  void poll(std::span<const std::uint64_t> ids, Time next = kForever);

  /// Until end_native(), MPI may need progress on other ranks: parked ranks progress the MPI library meanwhile.
  void begin_native();
  void end_native() { header_->native.fetch_sub(1); }
  /// Executes an MPI call that may need progress on other ranks.
  template <class Native>
  int natively(Native native) {
    if (!joined()) return native();
    const bool locked = unlock();
    begin_native();
    const int error = native();
    end_native();
    lock_again(locked);
    return error;
  }
  /// Tells the server that MPI has freed a communicator.
  void release(std::uint32_t communicator);
  void halt(const Thread& thread);
  /// True if several threads may be in calls at once.
  [[nodiscard]] bool threads() const { return threads_; }
  /// Lets other threads of the process take the lock.
  void let_others();
  /// Executes an MPI call that may block on events outside the fabric; meanwhile the other ranks advance in virtual time, too.
  template <class Native>
  int outside(Native native) {
    if (!joined()) return native();
    const bool locked = go_outside();
    const int error = natively(native);
    lock_again(locked);
    come_back();
    return error;
  }

  /// Executes a call that MPI completes without other ranks, while the caller remains running. As a program may repeat the call
  /// until another rank acts, the rank yields after many consecutive calls.
  template <class Native>
  int alone(Native native) {
    if (!joined()) return native();
    begin_alone();
    return natively(native);
  }

  /// The same, for a call that may block nevertheless: the server then marks the rank as outside.
  template <class Native>
  int aside(Native native) {
    if (!joined()) return native();
    begin_aside();
    const int error = natively(native);
    come_back();
    return error;
  }

  [[nodiscard]] Heap& heap() { return heap_; }
  [[nodiscard]] std::byte* at(std::uint64_t offset) { return memory_ + offset; }
  void free_remote(std::uint64_t offset) { Heap::mark_free(memory_, offset); }
  /// Rank in the run of this program's rank 0: a run may have several programs.
  [[nodiscard]] int first() const { return first_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int node() const { return static_cast<int>(slot_->node); }

  // pthreads.cpp: threads of the program
  /// A thread that the calling one is about to create; none if MPI creates it.
  [[nodiscard]] std::shared_ptr<Thread> new_thread();
  /// The same, if the creation has failed.
  void discard(Thread& thread);
  void begin_thread(Thread& thread);
  void end_thread(Thread& thread);
  /// Brackets the calling thread's wait for the end of another one.
  void begin_join(const Thread& thread);
  void end_join(Thread& thread, bool ended);

 private:
  void connect(const char* path);
  [[nodiscard]] Time poll_ticks() const;
  void stop_running(State state);
  void stay_until_seen();
  void suspend(State from);
  void sleep();
  void look_after_mpi();
  void take_replies();
  void wait_to_run();
  [[nodiscard]] bool go_outside();
  void come_back();
  void begin_alone();
  void begin_aside();
  [[nodiscard]] Slot& slot(std::uint32_t rank) { return *reinterpret_cast<Slot*>(memory_ + slot_offset(rank)); }
  [[nodiscard]] ThreadSlot& thread_slot(std::uint32_t rank, std::uint32_t thread) {
    return *reinterpret_cast<ThreadSlot*>(memory_ + thread_offset(rank, thread));
  }

  [[nodiscard]] Thread& me() { return threads_ ? calling_thread() : first_thread_; }
  [[nodiscard]] Thread& calling_thread();
  [[nodiscard]] std::int64_t& processor_ns(Thread& thread);
  void read_processor_time(Thread& thread);
  void add_own_work(Thread& thread);
  void catch_up(Thread& thread);
  void note_first_call(Thread& thread);
  void take_slot(Thread& thread, State state);
  void free_slot(ThreadSlot& thread);
  void free_other_slots();
  /// Releases the lock; returns whether the thread held it, for lock_again().
  bool unlock();
  void lock_again(bool locked);

  std::array<std::atomic<std::uint64_t>, kFunctions> early_calls_{};
  std::array<std::atomic<std::uint64_t>, kFunctions>* calls_ = &early_calls_;
  std::byte* memory_ = nullptr;
  Header* header_ = nullptr;
  Slot* slot_ = nullptr;
  bool rests_ = false;
  int socket_ = -1;
  int descriptor_ = -1;
  int rank_ = 0, size_ = 1;  ///< of the run
  int first_ = 0;
  int process_ = 0;
  bool threads_ = false;
  std::mutex lock_;
  std::mutex births_;  ///< for the threads' slots, and `children_`
  Thread first_thread_;
  std::vector<std::weak_ptr<Thread>> waiting_;  ///< threads that exist before each is a client
  std::uint32_t strangers_ = 0;                 ///< threads that were not created by pthread_create or thrd_create
  std::atomic<bool> progressing_{false};        ///< a parked thread progresses the MPI library
  Heap heap_;
  double ticks_per_second_ = 1;
  double ticks_per_ns_ = 0;  ///< virtual time per processor time of the rank
  Chores* chores_ = nullptr;
  bool stayed_ = false;  ///< has already waited for the server to see that it leaves
  std::uint64_t next_id_ = 1;
  std::unordered_map<std::uint64_t, Reply> replies_;
  std::unordered_map<std::uint64_t, ReplyHandler*> handlers_;
};

/// The process's only instance.
Process& process();

/// Brackets an intercepted call.
class Call {
 public:
  Call(std::uint16_t function, const void* site) : locked_(process().enter(function, site)) {}
  ~Call() { process().leave(locked_); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  bool locked_;
};

}  // namespace thalweg::mpi
