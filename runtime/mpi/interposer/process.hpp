// SPDX-License-Identifier: Apache-2.0
// This process as a rank of the run: clock, slot in the shared memory, and waiting.
#pragma once

#include <array>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "mpi/interposer/compat.hpp"
#include "mpi/interposer/skew.hpp"
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
  void enter(std::uint16_t function, const void* site);
  void leave();
  [[nodiscard]] std::uint16_t function() const { return function_; }

  [[nodiscard]] Time clock() const { return clock_; }
  [[nodiscard]] double tick_seconds() const { return 1 / ticks_per_second_; }
  [[nodiscard]] double seconds() const { return static_cast<double>(clock_) / ticks_per_second_; }
  /// Reading the clock takes one tick. If a rank's computation takes no time, a rank that has read the clock many times in a row
  /// is waiting for a time: each further reading takes a share of the time waited so far, at most that of an unsuccessful poll.
  void look_at_clock();
  /// Delays the rank before a collective by the run's skew.
  void be_late() { clock_ += skew_.draw(); }
  void wait_until(Time at) { clock_ = at > clock_ ? at : clock_; }

  /// Posts a submission at the rank's clock; returns its request id, or 0 if it gets no reply.
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
    begin_native();
    const int error = native();
    end_native();
    return error;
  }
  /// Executes an MPI call that may block on events outside the fabric; meanwhile the other ranks advance in virtual time, too.
  template <class Native>
  int outside(Native native) {
    if (!joined()) return native();
    go_outside();
    const int error = natively(native);
    come_back();
    return error;
  }

  /// Executes a call that MPI completes without the fabric, while the caller remains running. If it blocks nevertheless, the
  /// server marks the rank as outside. As a program may repeat the call until another rank acts, the rank yields after many
  /// consecutive calls.
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

 private:
  void connect(const char* path);
  [[nodiscard]] Time poll_ticks() const;
  void stop_running(State state);
  void stay_until_seen();
  void sleep();
  void look_after_mpi();
  void take_replies();
  void wait_to_run();
  void go_outside();
  void come_back();
  void begin_aside();
  [[nodiscard]] Slot& slot(std::uint32_t rank) { return *reinterpret_cast<Slot*>(memory_ + slot_offset(rank)); }

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
  Heap heap_;
  Skew skew_;
  Time clock_ = 0;
  double ticks_per_second_ = 1;
  double ticks_per_ns_ = 0;  ///< virtual time per processor time of the rank
  double fraction_ = 0;      ///< fraction of a tick not yet added to the clock
  std::int64_t processor_ns_ = 0;
  int depth_ = 0;
  std::uint16_t function_ = 0;
  const void* site_ = nullptr;
  Chores* chores_ = nullptr;
  Time idle_since_ = -1;        ///< first poll since the last event; -1: none
  std::uint64_t happened_ = 0;  ///< the slot's event count at the last poll
  bool stayed_ = false;         ///< has already waited for the server to see that it leaves
  unsigned looks_ = 0;          ///< consecutive readings of the clock
  Time looked_at_ = -1;         ///< the clock after the last reading
  Time looking_since_ = 0;      ///< the clock before the first of them
  unsigned asides_ = 0;         ///< consecutive MPI calls outside the fabric
  std::uint64_t next_id_ = 1;
  std::unordered_map<std::uint64_t, Reply> replies_;
  std::unordered_map<std::uint64_t, ReplyHandler*> handlers_;
};

/// The process's only instance.
Process& process();

/// Brackets an intercepted call.
class Call {
 public:
  Call(std::uint16_t function, const void* site) { process().enter(function, site); }
  ~Call() { process().leave(); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
};

}  // namespace thalweg::mpi
