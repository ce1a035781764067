// SPDX-License-Identifier: Apache-2.0
// Protocol between a rank and the server: the layout of their shared memory.
//
// A rank posts submissions into its ring and parks; the server works only while no rank runs, posts completions into the
// ring of a parked rank, and resumes it. So each field has one writer at a time, and the server owns virtual time.
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

inline constexpr std::size_t kRing = 256;        ///< submissions, and completions, between two parkings
inline constexpr std::size_t kWaitIds = 64;      ///< requests that a parked rank can name without a chunk of its heap
inline constexpr std::size_t kFunctions = 1536;  ///< at most so many MPI functions are counted
inline constexpr std::size_t kDetail = 56;       ///< characters of a fallback's detail
inline constexpr std::size_t kSite = 80;         ///< characters of the place of a call
inline constexpr std::uint64_t kHeapBytes = 1ULL << 35;  ///< address space of one rank's heap; pages exist once touched

inline constexpr std::int32_t kAny = -1;               ///< any source, any tag
inline constexpr std::uint16_t kPresent = UINT16_MAX;  ///< the function that is being called

enum class Action : std::uint8_t {
  create,      ///< a communicator: members (world ranks) in the heap, `count` of them; all are answered at once
  release,     ///< a communicator was freed by this rank; completes nothing
  collective,  ///< a part of a collective in the network
  meet,        ///< completes when every member has come
  software,    ///< completes when the messages of a software collective would have been exchanged
  send,        ///< completes when the message left the host's memory, or was matched (synchronous)
  receive,     ///< completes when a matching message has arrived
  probe,       ///< completes as a receive, and leaves the message where it is
  try_probe,   ///< completes at once: bytes is kNothing where no message is there
  match,       ///< as probe, and takes the message: only the receive_matched that names it will get it
  try_match,
  count_left,  ///< completes at once: bytes is the number of messages that have arrived on a communicator and that nobody took
  cancel,  ///< of the receive `peer_id`, which then completes as cancelled, unless it is matched already
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

/// How a software collective exchanges its messages; bytes are those of one block unless each rank gives a list.
enum class Pattern : std::uint8_t {
  none,            ///< no messages: the members only meet
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
  scatter_list,    ///< the root sends to each rank what its list says
  allgather_list,  ///< ring of each rank's own bytes
  alltoall_list,   ///< pairwise exchange of what the lists say
  neighbours,      ///< each rank sends to those that its list names
};

/// One entry of the list that a rank gives: bytes for a peer. For neighbours as many as there are; otherwise see Pattern.
struct ListEntry {
  std::uint64_t peer = 0;
  std::uint64_t bytes = 0;
};

struct Submission {
  std::uint64_t id = 0;  ///< the rank's own number of the request; 0 where nothing completes
  Time at = 0;
  mpi_fpga::Operation operation{};  ///< of a collective; in software its root alone
  std::uint64_t count = 0;          ///< members; entries of a list
  std::uint64_t bytes = 0;
  std::uint64_t send = 0;  ///< offsets into the shared memory; 0 is none
  std::uint64_t receive = 0;
  std::uint64_t send_bytes = 0;  ///< of a collective in the network: what this rank gives, and gets
  std::uint64_t receive_bytes = 0;
  std::uint64_t send_blocks = 0;  ///< of a v-form: offsets of the lists, which hold a Block for each rank, or 0
  std::uint64_t receive_blocks = 0;
  std::uint64_t peer_id = 0;
  std::uint32_t communicator = 0;  ///< of a creation the one that it is made of, or 0
  std::uint64_t order = 0;         ///< creation: which of those made of that communicator; or its tag, where `apart`
  std::int32_t peer = 0;           ///< source or destination, rank of the communicator
  std::int32_t node = 0;           ///< destination, rank of the world
  std::int32_t tag = 0;
  std::uint16_t function = kPresent;
  Action action = Action::meet;
  Reason reason = Reason::none;
  Pattern pattern = Pattern::none;
  bool synchronous = false;
  bool apart = false;  ///< creation: its members alone make it, so that the n-th of a tag is the n-th of each
  char detail[kDetail] = {};
  char site[kSite] = {};  ///< of a collective: where the program calls it, file+0xaddress
};

inline constexpr std::uint64_t kNothing = UINT64_MAX;

struct Reply {
  std::uint64_t id = 0;
  Time at = 0;
  std::uint64_t bytes = 0;  ///< of the message; of a creation the communicator's number
  std::uint64_t payload =
      0;  ///< offset of the message's bytes; of a creation its list of members, which is the sender's again
  std::int32_t source = 0;  ///< rank of the communicator
  std::int32_t tag = 0;
  bool cancelled = false;
  bool disagrees = false;         ///< collective: the ranks gave different sizes, and there is no result
  bool granted = false;           ///< creation: the communicator has a row in the network, or needs none
  bool shared = false;            ///< creation: several of its ranks are on one node
  std::uint32_t collectives = 0;  ///< creation: bit c: the network computes spec::Collective c on it
};

enum class State : std::uint32_t {
  running,
  native,    ///< running, inside a call of MPI that needs no virtual time: where it blocks all the same, `outside`
  parked,    ///< sleeps on its bell
  outside,   ///< blocks in a call of MPI that the fabric knows nothing of
  finished,  ///< has left MPI_Finalize
  resting,   ///< has ended the last of its sessions; it may begin another one, as long as its process lives
  leaving,   ///< ends the run, or its process: sleeps on its bell until the server has seen what the others do
};

struct Slot {
  std::atomic<State> state{State::running};
  std::atomic<std::uint32_t> bell{0};       ///< rung when a parked rank is to look around; the futex that it sleeps on
  std::atomic<std::uint32_t> exiting{0};    ///< the process calls exit
  std::atomic<std::uint32_t> aborting{0};   ///< MPI_Abort was called, or MPI `failed`, with `abort_code`
  std::atomic<std::uint32_t> disagrees{0};  ///< a reply said so, and that is fatal: the run is to end
  bool failed = false;                      ///< an error was fatal
  std::int32_t abort_code = 0;
  std::uint32_t node = 0;  ///< that the rank is on
  // Why the rank is parked: until `need` of the named requests have completed, or until a time.
  Time clock = 0;  ///< in: when it parked; out: when it goes on
  Time since = 0;  ///< when it began to wait: of one that polls, its first poll since when nothing has happened
  Time until = kForever;
  std::uint64_t happened = 0;  ///< out: requests that have completed, and messages that have come
  std::uint64_t wait_ids = 0;  ///< offset of the requests' numbers
  std::uint32_t wait_count = 0;
  std::uint32_t need = 0;
  std::uint16_t function = 0;  ///< of the call that parked
  bool alert = false;          ///< also resumes the rank once anything `happened`
  bool yields = false;         ///< it waits for nothing, and only lets the others get on
  bool was_outside = false;    ///< of one that yields: it has ended a call that the fabric knows nothing of
  std::atomic<bool> progressing_mpi{false};  ///< the rank is progressing the MPI library's queues
  // Of a running one, as far as the run needs to know without its help.
  std::atomic<std::uint64_t> borders{0};     ///< calls entered and left: odd inside of one
  std::atomic<std::uint64_t> file_calls{0};  ///< of which each gets it further, though it takes no virtual time
  std::atomic<Time> resumed{0};              ///< its clock when it last left a call
  std::uint64_t inline_ids[kWaitIds] = {};
  std::atomic<std::uint64_t> calls[kFunctions] = {};
  launch::Ring<Submission, kRing> submissions;
  launch::Ring<Reply, kRing> replies;
};

/// Before each piece of a rank's heap. The owner reuses what a reader has marked free.
struct alignas(64) Chunk {
  std::atomic<std::uint32_t> free{0};
  std::uint32_t size_class = 0;
};

struct Header {
  std::uint32_t magic = launch::kMagic;
  std::uint32_t ranks = 0;
  std::atomic<std::uint32_t> running{0};   ///< ranks in State::running
  std::atomic<std::uint32_t> doorbell{0};  ///< rung when the last one parks; the server sleeps on it
  std::atomic<std::uint32_t> native{0};    ///< ranks inside calls of MPI that may need the others' MPI to go on
};

/// Where things lie in the shared memory.
constexpr std::uint64_t page_up(std::uint64_t bytes) {
  return (bytes + 4095) / 4096 * 4096;
}
constexpr std::uint64_t slot_offset(std::uint64_t rank) {
  return page_up(sizeof(Header)) + rank * page_up(sizeof(Slot));
}
constexpr std::uint64_t heap_offset(std::uint64_t ranks, std::uint64_t rank) {
  return slot_offset(ranks) + rank * kHeapBytes;
}
constexpr std::uint64_t memory_bytes(std::uint64_t ranks) {
  return heap_offset(ranks, ranks);
}

}  // namespace thalweg::mpi
