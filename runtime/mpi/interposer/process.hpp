// SPDX-License-Identifier: Apache-2.0
// This process as a rank of the run: its clock, its slot in the shared memory, and waiting.
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

/// Pieces of the rank's heap, in sizes of powers of two. A piece that was lent comes back when its reader marks it free.
class Heap {
 public:
  void place(std::byte* memory, int descriptor, std::uint64_t begin, std::uint64_t end);
  /// Offset of `bytes` of memory; ends the process with a line where the heap is full.
  std::uint64_t take(std::uint64_t bytes);
  void give_back(std::uint64_t offset);
  /// From now on another process frees it, by mark_free.
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

/// Called for the reply to a request that nobody waits for in a blocking call.
class ReplyHandler {
 public:
  virtual ~ReplyHandler() = default;
  virtual void on_reply(const Reply& reply) = 0;
};

/// What MPI has yet to do for this rank beside the call that it is in.
class Chores {
 public:
  virtual ~Chores() = default;
  /// Called while the rank waits.
  virtual void progress() = 0;
  /// Called before the rank blocks in MPI itself, where nothing calls progress(): others may need what it has not begun.
  virtual void begin_all() = 0;
};

class Process {
 public:
  /// Joins the run that the environment names, if any, or comes back to it. Called once MPI is initialised, as rank `rank` of
  /// a program of `size` ranks.
  void join(int rank, int size);
  void count_file_call() {
    if (joined()) slot_->file_calls.fetch_add(1);
  }
  /// Leaves it; called after PMPI_Finalize.
  void finish();
  /// Leaves it until it joins again, or its process ends.
  void rest();
  void abort(int code);
  /// MPI ends this process for an error.
  void fail(int code);
  /// Ends the run for what the last reply said that the ranks disagree on.
  [[noreturn]] void give_up();
  void exit();
  [[nodiscard]] bool joined() const { return slot_ != nullptr && !rests_; }

  void count(std::uint16_t function) { (*calls_)[function].fetch_add(1, std::memory_order_relaxed); }
  /// Brackets each intercepted call, made at `site`: the time between two calls is the program's own.
  void enter(std::uint16_t function, const void* site);
  void leave();
  [[nodiscard]] std::uint16_t function() const { return function_; }

  [[nodiscard]] Time clock() const { return clock_; }
  [[nodiscard]] double tick_seconds() const { return 1 / ticks_per_second_; }
  [[nodiscard]] double seconds() const { return static_cast<double>(clock_) / ticks_per_second_; }
  /// A look at the clock takes one tick. Where a rank's own work takes no time, one that has looked many times while nothing
  /// else happened waits for the time: from then on a look takes a share of what it has waited, as long as an unsuccessful poll at most.
  void look_at_clock();
  /// The rank comes late to a collective, where the run wants that.
  void be_late() { clock_ += skew_.draw(); }
  void wait_until(Time at) { clock_ = at > clock_ ? at : clock_; }

  /// Posts it at the rank's clock; returns the number of its request, or 0 where there will be no reply.
  std::uint64_t post(Submission& part, bool replies = true);
  /// Posts it and waits for its reply.
  Reply call(Submission& part);
  /// Waits for the reply to `id`.
  Reply wait(std::uint64_t id);
  /// From now on the reply to `id` goes to `handler`, as soon as this process sees it.
  void listen(std::uint64_t id, ReplyHandler* handler) { handlers_[id] = handler; }
  void care_for(Chores* chores) { chores_ = chores; }
  /// Parks until `need` of the requests have been replied to, or until `until`.
  /// `since`: when it began to wait, now if left out.
  void park(std::span<const std::uint64_t> ids, std::uint32_t need, Time until, std::optional<Time> since = {});
  /// An unsuccessful poll: a little time passes, others get their turn. Where a rank's own work takes no time, one whose polls
  /// have long found nothing waits for longer, until something happens that a poll could find. It ends at `next` at the latest, when a
  /// completion that is known already comes to be.
  void poll(std::span<const std::uint64_t> ids, Time next = kForever);

  /// Until end_native() MPI may need other ranks' MPI to go on: those that are parked look after it meanwhile.
  void begin_native();
  void end_native() { header_->native.fetch_sub(1); }
  /// A call of MPI for which it may.
  template <class Native>
  int natively(Native native) {
    if (!joined()) return native();
    begin_native();
    const int error = native();
    end_native();
    return error;
  }
  /// The same, where it blocks on what the fabric does not know: meanwhile the others go on in virtual time, too.
  template <class Native>
  int outside(Native native) {
    if (!joined()) return native();
    go_outside();
    const int error = natively(native);
    come_back();
    return error;
  }

  /// A call that MPI ends by itself, without what the fabric knows; meanwhile the caller stays one of the running. Where it
  /// blocks all the same the server puts it outside; and as a program may repeat it until another rank has done something, the
  /// others get on now and then.
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
  /// The rank of the run that rank 0 of this program is: a run may have several programs.
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
  double ticks_per_ns_ = 0;  ///< of the rank's own processor time
  double fraction_ = 0;      ///< of a tick
  std::int64_t processor_ns_ = 0;
  int depth_ = 0;
  std::uint16_t function_ = 0;
  const void* site_ = nullptr;
  Chores* chores_ = nullptr;
  Time idle_since_ = -1;        ///< its first poll since when nothing has happened
  std::uint64_t happened_ = 0;  ///< until then
  bool stayed_ = false;         ///< until the server had seen that it leaves
  unsigned looks_ = 0;          ///< at the clock, which showed nothing but them since
  Time looked_at_ = -1;         ///< the clock after the last one
  Time looking_since_ = 0;
  unsigned asides_ = 0;  ///< consecutive MPI calls outside the fabric
  std::uint64_t next_id_ = 1;
  std::unordered_map<std::uint64_t, Reply> replies_;
  std::unordered_map<std::uint64_t, ReplyHandler*> handlers_;
};

/// The one of this process.
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
