// SPDX-License-Identifier: Apache-2.0
// Protocol between a rank and the server: the layout of their shared memory.
//
// A rank posts submissions into its ring, and its thread parks; the server works only while no thread runs, posts completions into
// the ring of a rank, and resumes the threads that wait for them. So each field has one writer at a time, and the server owns
// virtual time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "launch/greeting.hpp"
#include "launch/ring.hpp"
#include "mpi_fpga/operation.hpp"

namespace thalweg::mpi {

/// Virtual time in ticks, as thalweg::Tick; the interposer is built without the simulator.
using Time = std::int64_t;
inline constexpr Time kForever = INT64_MAX;

inline constexpr std::size_t kThreads = 256;  ///< threads of one rank that may call MPI
inline constexpr std::size_t kDepth = 24;     ///< length of a thread's path up to which equal times are ordered by it
inline constexpr std::size_t kRing = 256;     ///< entries in each ring of submissions and of completions
inline constexpr std::size_t kWaitIds = 64;   ///< request ids that fit in a parked rank's slot; more need its heap
inline constexpr std::size_t kFunctions = 1536;          ///< maximum number of MPI functions that are counted
inline constexpr std::size_t kDetail = 56;               ///< characters of a fallback's detail
inline constexpr std::size_t kSite = 80;                 ///< characters of a call site
inline constexpr std::uint64_t kHeapBytes = 1ULL << 35;  ///< address space of one rank's heap; pages exist once touched

inline constexpr std::int32_t kAny = -1;               ///< any source, any tag
inline constexpr std::uint16_t kPresent = UINT16_MAX;  ///< the MPI function currently being called

enum class Action : std::uint8_t {
  create,      ///< creates a communicator of `count` members (world ranks in the heap); all get their replies at once
  release,     ///< this rank has freed a communicator; no completion
  collective,  ///< one rank's part of a collective in the network
  meet,        ///< completes when every member has entered
  software,    ///< completes when the messages of a software collective would have been exchanged
  send,        ///< completes when the message has left the host's memory, or has been matched (synchronous)
  receive,     ///< completes when a matching message has arrived
  probe,       ///< completes like a receive, but leaves the message in the mailbox
  try_probe,   ///< completes at once; bytes is kNothing if there is no message
  match,       ///< like probe, but takes the message: only the matched receive that names it gets it
  try_match,
  count_left,  ///< completes at once; bytes is the number of arrived and not received messages on a communicator
  cancel,      ///< cancels the receive `peer_id`, which then completes as cancelled, unless already matched
};

/// Why a collective is not executed in the network.
enum class Reason : std::uint8_t {
  none,
  no_row,
  not_in_network,
  user_operation,
  derived_type,
  type_not_in_network,
  operation_not_in_network,
  intercommunicator,
  shared_node,
};

/// Message pattern of a software collective; bytes count one block unless each rank passes a list.
enum class Pattern : std::uint8_t {
  none,            ///< no messages, only synchronization of the members
  barrier,         ///< dissemination
  broadcast,       ///< binomial tree from the root
  reduce,          ///< binomial tree to the root
  allreduce,       ///< recursive doubling
  gather,          ///< binomial tree, growing blocks
  scatter,         ///< binomial tree, shrinking blocks
  allgather,       ///< recursive doubling for powers of two, ring otherwise
  alltoall,        ///< Bruck's algorithm for short blocks, pairwise exchange otherwise
  scan,            ///< recursive doubling
  reduce_scatter,  ///< pairwise exchange
  gather_list,     ///< every rank sends its own bytes to the root
  scatter_list,    ///< the root sends each rank the bytes in its list
  allgather_list,  ///< ring of each rank's own bytes
  alltoall_list,   ///< pairwise exchange of the bytes in the lists
  neighbours,      ///< each rank sends to the peers in its list
};

/// Entry of a rank's list: bytes for a peer. One entry per neighbour for neighbours; otherwise see Pattern.
struct ListEntry {
  std::uint64_t peer = 0;
  std::uint64_t bytes = 0;
};

struct Submission {
  std::uint64_t id = 0;  ///< request number, unique per rank; 0 if there is no completion
  Time at = 0;
  mpi_fpga::Operation operation{};  ///< of a collective; in software only its root is set
  std::uint64_t count = 0;          ///< members; entries of a list
  std::uint64_t bytes = 0;
  std::uint64_t send = 0;  ///< offsets into the shared memory; 0: none
  std::uint64_t receive = 0;
  std::uint64_t send_bytes = 0;  ///< sizes of this rank's buffers, for a collective in the network
  std::uint64_t receive_bytes = 0;
  std::uint64_t send_blocks = 0;  ///< of a v-form: offsets of the lists with one Block per rank, or 0
  std::uint64_t receive_blocks = 0;
  std::uint64_t peer_id = 0;
  std::uint32_t communicator = 0;  ///< creation: the parent communicator, or 0
  std::uint64_t order = 0;         ///< creation: its number among the parent's creations; or its tag, if `apart`
  std::int32_t peer = 0;           ///< source rank in the communicator
  std::int32_t node = 0;           ///< destination rank in the world
  std::int32_t tag = 0;
  std::uint16_t function = kPresent;
  Action action = Action::meet;
  Reason reason = Reason::none;
  Pattern pattern = Pattern::none;
  bool synchronous = false;
  std::uint32_t thread = 0;  ///< ThreadSlot::life of the thread that posts it
  bool apart = false;  ///< creation: only its members call; the n-th creation with a tag is the n-th on each member
  char detail[kDetail] = {};
  char site[kSite] = {};  ///< of a collective: call site in the program, file+0xaddress
};

inline constexpr std::uint64_t kNothing = UINT64_MAX;

struct Reply {
  std::uint64_t id = 0;
  Time at = 0;
  std::uint64_t bytes = 0;    ///< message: its size; creation: the communicator's number
  std::uint64_t payload = 0;  ///< message: offset of its payload; creation: offset of its member list, to be freed
  std::int32_t source = 0;    ///< rank in the communicator
  std::int32_t tag = 0;
  bool cancelled = false;
  bool disagrees = false;         ///< collective: the ranks gave different sizes, so there is no result
  bool granted = false;           ///< creation: the communicator has a row in the network, or needs none
  bool shared = false;            ///< creation: several of its ranks are on one node
  std::uint32_t collectives = 0;  ///< creation: bit c is set if the network computes spec::Collective c on it
};

/// Level of thread support, in MPI's order.
enum class ThreadLevel : std::uint8_t { single, funneled, serialized, multiple };

enum class State : std::uint32_t {
  unused,   ///< no thread has this slot
  resumed,  ///< created, or resumed by the server; counts as running, although it may not have woken up yet
  fresh,    ///< running, and has not called MPI yet
  helper,   ///< has slept without having called MPI; does not count as running
  running,
  native,    ///< running, inside an MPI call that needs no virtual time; becomes `outside` if it blocks
  parked,    ///< sleeps on its bell
  outside,   ///< blocks in an MPI call that does not use the fabric
  finished,  ///< has returned from MPI_Finalize
  resting,   ///< has finalized its last session; may open another one while its process lives
  leaving,   ///< ends the run or its process; sleeps on its bell until the server has recorded the others' state
};

/// True if virtual time may not pass a thread in this state, which may run.
constexpr bool counts(State state) {
  return state == State::resumed || state == State::fresh || state == State::running || state == State::native;
}

/// Whether a thread may use a processor core, which others may need that are behind it in virtual time.
enum class Pace : std::uint32_t {
  free,
  ahead,  ///< set by the server: the thread halts at its next call of a lock or of sched_yield outside MPI
  halted,
};

/// State of one thread of a rank. A rank has one, unless it has got MPI_THREAD_MULTIPLE.
struct ThreadSlot {
  std::atomic<State> state{State::running};
  std::atomic<std::uint32_t> bell{0};  ///< futex on which a parked thread sleeps; rung to wake it
  // A parked thread waits until `need` of the named requests have completed, or until a time.
  Time clock = 0;  ///< in: time of parking; out: time at which the thread resumes
  Time since = 0;  ///< start of the wait; when polling, the first poll since the last event
  Time until = kForever;
  std::uint64_t wait_ids = 0;  ///< offset of the requests' ids
  std::uint32_t wait_count = 0;
  std::uint32_t need = 0;
  std::uint16_t function = 0;  ///< of the call that parked
  bool alert = false;          ///< any event (Slot::happened) also resumes the thread
  bool yields = false;         ///< waits for no event, only lets other threads run
  bool was_outside = false;    ///< with `yields`: it has returned from a call that does not use the fabric
  std::atomic<bool> progressing_mpi{false};  ///< the thread is progressing the MPI library's queues
  // State of a running thread that the server reads without its cooperation.
  std::atomic<std::uint64_t> borders{0};  ///< number of call entries and exits; odd inside a call
  std::atomic<Time> resumed{0};           ///< its clock when it last left a call
  std::atomic<Pace> pace{Pace::free};     ///< futex on which a halted thread sleeps
  // Of each thread after the rank's first one.
  std::atomic<bool> passed{false};         ///< virtual time has passed it, as it slept outside MPI
  std::atomic<std::uint32_t> life{0};      ///< number of the thread among all that the rank has created
  std::atomic<std::int32_t> system_id{0};  ///< 0 until it has started
  std::atomic<std::int32_t> joins{-1};     ///< number of the slot of the thread that it joins
  std::uint32_t depth = 0;                 ///< length of its path; the first thread's is empty
  std::uint32_t path[kDepth] = {};         ///< its parent's path, and its number among the parent's children
  std::uint64_t inline_ids[kWaitIds] = {};
};

/// State of a rank, which its threads share.
struct Slot {
  std::atomic<std::uint32_t> exiting{0};    ///< the process calls exit
  std::atomic<std::uint32_t> aborting{0};   ///< MPI_Abort was called, or MPI `failed`, with `abort_code`
  std::atomic<std::uint32_t> disagrees{0};  ///< a reply reported a fatal disagreement, which ends the run
  bool failed = false;                      ///< an error was fatal
  std::int32_t abort_code = 0;
  std::uint32_t node = 0;                    ///< node of the rank
  std::atomic<std::uint64_t> happened{0};    ///< number of completed requests and arrived messages
  std::atomic<std::uint64_t> progressed{0};  ///< times that a parked thread has progressed the MPI library's queues
  std::atomic<Time> latest{0};               ///< latest time at which a thread has resumed
  std::atomic<std::uint32_t> lives{0};       ///< number of threads with a slot so far, besides the first one
  std::atomic<std::uint32_t> high{1};        ///< number of slots that have been used
  std::atomic<std::uint32_t> callers{1};     ///< threads that have called MPI
  std::atomic<bool> in_team{false};          ///< the last thread that parked did so in a parallel region of OpenMP
  std::atomic<ThreadLevel> wanted_level{ThreadLevel::single};  ///< that the program asked for
  std::atomic<ThreadLevel> given_level{ThreadLevel::single};
  std::atomic<std::uint64_t> file_calls{0};  ///< file calls; each counts as progress, but takes no virtual time
  std::atomic<std::uint64_t> calls[kFunctions] = {};
  launch::Ring<Submission, kRing> submissions;
  launch::Ring<Reply, kRing> replies;
};

/// Header of each piece of a rank's heap. The owner reuses pieces that a reader has marked free.
struct alignas(64) Chunk {
  std::atomic<std::uint32_t> free{0};
  std::uint32_t size_class = 0;
};

struct Header {
  std::uint32_t magic = launch::kMagic;
  std::uint32_t ranks = 0;
  std::atomic<std::uint32_t> running{0};  ///< threads whose state counts()
  std::atomic<std::uint32_t> doorbell{
      0};  ///< futex on which the server sleeps; rung when the last running thread parks,
  std::atomic<std::uint32_t> threaded{
      0};                                ///< and if this is not 0, when any thread parks: others may sleep outside MPI
  std::atomic<std::uint32_t> native{0};  ///< ranks in MPI calls that may need progress of the MPI library on others
};

/// Layout of the shared memory.
constexpr std::uint64_t page_up(std::uint64_t bytes) {
  return (bytes + 4095) / 4096 * 4096;
}
constexpr std::uint64_t slot_offset(std::uint64_t rank) {
  return page_up(sizeof(Header)) + rank * (page_up(sizeof(Slot)) + page_up(kThreads * sizeof(ThreadSlot)));
}
constexpr std::uint64_t thread_offset(std::uint64_t rank, std::uint64_t thread) {
  return slot_offset(rank) + page_up(sizeof(Slot)) + thread * sizeof(ThreadSlot);
}
constexpr std::uint64_t heap_offset(std::uint64_t ranks, std::uint64_t rank) {
  return slot_offset(ranks) + rank * kHeapBytes;
}
constexpr std::uint64_t memory_bytes(std::uint64_t ranks) {
  return heap_offset(ranks, ranks);
}

}  // namespace thalweg::mpi
