// SPDX-License-Identifier: Apache-2.0
#include "mpi/interposer/process.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "launch/futex.hpp"
#include "mpi/interposer/pthreads.hpp"
#include "mpi/interposer/site.hpp"

namespace thalweg::mpi {
namespace {

constexpr double kPollSeconds = 500e-9;         // virtual time of an unsuccessful poll: that of a short library call
constexpr std::uint64_t kPunchBytes = 4 << 20;  // minimum size of pieces whose pages are returned when freed
constexpr long kNap = 500'000'000;              // ns between two checks that the server is alive
constexpr int kStayNaps = 10;                   // maximum naps of kNap until the server has seen that a rank leaves
constexpr long kNativeNap = 20'000;  // ns between two progress calls into the MPI library while others need it,
constexpr long kLongestNativeNap = 1'000'000;  // doubled up to this
constexpr Time kShareOfWait = 32;              // a wait by reading the clock ends at most a 32nd too late
constexpr Time kShareOfPolls = 1024;           // the same for polls, each of which costs a pass of the server
constexpr double kLongestPollSeconds = 1e-3;   // limits a poll, so that endless polling does not overflow virtual time
constexpr unsigned kFreeLooks = 64;            // readings of the clock without a wait: a program may time its work
constexpr unsigned kAsides = 256;              // consecutive MPI calls outside the fabric before the rank yields
constexpr rlim_t kDescriptors = 4096;          // a launcher passes on about 4 per rank

[[noreturn]] void end_process(const char* what) {
  std::fprintf(stderr, "thalweg: %s\n", what);
  _exit(125);
}

std::int64_t now_ns(clockid_t meter) {
  timespec now{};
  clock_gettime(meter, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

}  // namespace

Process& process() {
  static auto* const instance = new Process;  // never destroyed: calls may come until the process exits
  return *instance;
}

void Heap::place(std::byte* memory, int descriptor, std::uint64_t begin, std::uint64_t end) {
  memory_ = memory;
  descriptor_ = descriptor;
  next_ = begin;
  end_ = end;
}

Chunk& Heap::chunk(std::uint64_t offset) const {
  return *reinterpret_cast<Chunk*>(memory_ + offset - sizeof(Chunk));
}

std::uint64_t Heap::take(std::uint64_t bytes) {
  const auto size_class = static_cast<std::uint32_t>(std::bit_width(bytes + sizeof(Chunk) - 1));
  auto& free = free_[size_class];
  if (free.empty() && lent_.size() >= collect_at_) collect();
  if (!free.empty()) {
    const std::uint64_t offset = free.back();
    free.pop_back();
    return offset;
  }
  const std::uint64_t whole = std::max<std::uint64_t>(1ULL << size_class, 2 * sizeof(Chunk));
  if (whole > end_ - next_) end_process("this rank's unreceived messages fill its memory");
  const std::uint64_t offset = next_ + sizeof(Chunk);
  next_ += whole;
  chunk(offset).size_class = size_class;
  return offset;
}

void Heap::give_back(std::uint64_t offset) {
  const std::uint32_t size_class = chunk(offset).size_class;
  if (const std::uint64_t whole = 1ULL << size_class; whole >= kPunchBytes) {
    const std::uint64_t begin = page_up(offset), end = (offset - sizeof(Chunk) + whole) / 4096 * 4096;
    fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(begin),
              static_cast<off_t>(end - begin));
  }
  free_[size_class].push_back(offset);
}

void Heap::mark_free(std::byte* memory, std::uint64_t offset) {
  reinterpret_cast<Chunk*>(memory + offset - sizeof(Chunk))->free.store(1, std::memory_order_release);
}

/// Reclaims pieces that readers have marked free. The next check is due when twice as many are lent as remain now.
void Heap::collect() {
  std::erase_if(lent_, [&](std::uint64_t offset) {
    if (chunk(offset).free.load(std::memory_order_acquire) == 0) return false;
    chunk(offset).free.store(0, std::memory_order_relaxed);
    give_back(offset);
    return true;
  });
  collect_at_ = std::max<std::size_t>(64, 2 * lent_.size());
}

void Process::join(int rank, int size) {
  const char* path = std::getenv("THALWEG_SOCKET");
  if (path == nullptr || joined()) return;
  if (rests_) {
    rests_ = false;
    return wait_to_run();
  }
  rank_ = rank;
  size_ = size;
  if (const char* job = std::getenv("THALWEG_JOB")) {
    std::sscanf(job, "%d %d", &first_, &size_);
    rank_ += first_;
  }
  process_ = getpid();
  // If the launcher is killed, its ranks end with it.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  connect(path);
  heap_.place(memory_, descriptor_, heap_offset(header_->ranks, static_cast<std::uint64_t>(rank_)),
              heap_offset(header_->ranks, static_cast<std::uint64_t>(rank_) + 1));
  if (const char* skew = std::getenv("THALWEG_SKEW"))
    first_thread_.skew = Skew(skew, rank_ - first_, ticks_per_second_);
  auto* shared = reinterpret_cast<std::array<std::atomic<std::uint64_t>, kFunctions>*>(&slot_->calls);
  for (std::size_t f = 0; f < kFunctions; ++f) (*shared)[f] = early_calls_[f].load();
  calls_ = shared;
}

void Process::note_level(int wanted, int given) {
  if (!joined()) return;
  const auto level = [](int of) {
    return of == MPI_THREAD_MULTIPLE     ? ThreadLevel::multiple
           : of == MPI_THREAD_SERIALIZED ? ThreadLevel::serialized
           : of == MPI_THREAD_FUNNELED   ? ThreadLevel::funneled
                                         : ThreadLevel::single;
  };
  slot_->wanted_level = level(wanted);
  slot_->given_level = level(given);
}

void Process::connect(const char* path) {
  socket_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
  if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    end_process("the run's socket does not answer");
  // A killed process's descriptors are closed from the highest down. The server must see this socket close before the launcher
  // sees its own close and kills the other ranks.
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const auto highest = static_cast<int>(std::min(limit.rlim_cur, kDescriptors)) - 1;
  if (const int high = fcntl(socket_, F_DUPFD_CLOEXEC, highest); high >= 0) {
    close(socket_);
    socket_ = high;
  }
  // A child would keep the socket open when this process executes another program.
  pthread_atfork(nullptr, nullptr, [] {
    close(process().socket_);
    process().threads_ = false;
  });

  launch::Hello hello;
  hello.rank = rank_;
  hello.size = size_;
  hello.pid = process_;
  char library[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  PMPI_Get_library_version(library, &length);
  if (std::strstr(library, kLibrary) == nullptr || std::strstr(library, kVersion) == nullptr) {
    library[std::strcspn(library, "\n,")] = 0;
    for (char* c = library; *c; ++c)
      if (*c == '\t') *c = ' ';
    std::snprintf(hello.library, sizeof hello.library, "the program uses %.60s, the run %.20s %.20s: give --mpi",
                  library, kLibrary, kVersion);
  }
  launch::Welcome welcome;
  iovec payload{&welcome, sizeof welcome};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &payload;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  if (send(socket_, &hello, sizeof hello, MSG_NOSIGNAL) != sizeof hello ||
      recvmsg(socket_, &message, MSG_CMSG_CLOEXEC) != sizeof welcome || CMSG_FIRSTHDR(&message) == nullptr)
    _exit(125);  // the server reports the reason
  std::memcpy(&descriptor_, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof descriptor_);

  const auto bytes = memory_bytes(static_cast<std::uint64_t>(size_));
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor_, 0);
  if (memory == MAP_FAILED) end_process("the shared memory of the run cannot be mapped");
  madvise(memory, bytes, MADV_DONTDUMP);
  memory_ = static_cast<std::byte*>(memory);
  header_ = reinterpret_cast<Header*>(memory_);
  slot_ = &slot(static_cast<std::uint32_t>(rank_));
  first_thread_.slot = &thread_slot(static_cast<std::uint32_t>(rank_), 0);
  first_thread_.slot->borders = 1;  // called within MPI_Init
  first_thread_.slot->system_id = gettid();
  first_thread_.called = true;
  ticks_per_second_ = static_cast<double>(welcome.ticks_per_second);
  ticks_per_ns_ = ticks_per_second_ * 1e-9 * welcome.compute_scale;
}

void Process::finish() {
  me().slot->clock = clock();
  free_other_slots();
  stop_running(State::finished);
  slot_ = nullptr;
}

void Process::rest() {
  come_back();
  me().slot->clock = clock();
  free_other_slots();
  rests_ = true;
  stop_running(State::resting);
}

void Process::abort(int code) {
  if (!joined()) return;
  slot_->abort_code = code;
  slot_->aborting = 1;
  stay_until_seen();
}

void Process::fail(int code) {
  if (!joined() || slot_->aborting.load() != 0) return;
  slot_->abort_code = code;
  slot_->failed = true;
  slot_->aborting = 1;
  stay_until_seen();
}

void Process::give_up() {
  slot_->disagrees = 1;
  stay_until_seen();
  for (;;) pause();  // until the run kills it
}

void Process::exit() {
  if (!joined() || getpid() != process_) return;
  slot_->exiting = 1;
  if (gettid() == process_) stay_until_seen();  // only on the main thread, as others do not know its state
}

/// Delays the end of the process until the server has recorded the state of the other ranks, which the launcher then kills.
void Process::stay_until_seen() {
  if (std::exchange(stayed_, true)) return;
  ThreadSlot* const own = me().slot;
  if (own == nullptr) return;
  own->clock = clock();
  own->function = function();
  for (State was = own->state.load();;) {
    if (!counts(was)) return;
    if (own->state.compare_exchange_strong(was, State::leaving)) break;
  }
  unlock();
  header_->running.fetch_sub(1);
  launch::ring(header_->doorbell);
  char byte = 0;
  for (int naps = 0; naps < kStayNaps; ++naps) {
    const std::uint32_t bell = own->bell.load();
    if (own->state.load() != State::leaving || recv(socket_, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0) return;
    launch::futex_wait(own->bell, bell, kNap);
  }
}

bool Process::enter(std::uint16_t function, const void* site) {
  Thread& thread = me();
  const bool outermost = thread.depth++ == 0;
  if (outermost && joined()) {
    if (threads_) note_first_call(thread);
    thread.slot->borders.fetch_add(1);  // before it waits for the lock, which is no sleep outside MPI
  }
  const bool locks = threads_ && !thread.locks;
  if (locks) lock_again(true);
  if (!outermost) return locks;
  thread.function = function;
  thread.site = site;
  if (!joined()) return locks;
  add_own_work(thread);
  catch_up(thread);
  return locks;
}

void Process::leave(bool locked) {
  Thread& thread = me();
  if (--thread.depth == 0 && joined()) {
    if (ticks_per_ns_ != 0) read_processor_time(thread);
    thread.slot->resumed.store(thread.clock);
    thread.slot->borders.fetch_add(1);
  }
  if (locked) unlock();
}

/// Processor time that counts as the thread's: the other threads of a rank may work for the only one that calls MPI.
std::int64_t& Process::processor_ns(Thread& thread) {
  const bool alone = &thread == &first_thread_ && slot_->callers.load(std::memory_order_relaxed) == 1;
  return alone ? thread.process_ns : thread.thread_ns;
}

/// Reads both, as another thread may call MPI before this one does again.
void Process::read_processor_time(Thread& thread) {
  if (&thread == &first_thread_) thread.process_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID);
  if (threads_) thread.thread_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
}

/// Adds the processor time since the thread's last call to its clock.
void Process::add_own_work(Thread& thread) {
  if (ticks_per_ns_ == 0) return;
  const std::int64_t& used = processor_ns(thread);
  const std::int64_t before = used;
  read_processor_time(thread);
  thread.fraction += static_cast<double>(used - before) * ticks_per_ns_;
  const auto whole = static_cast<Time>(thread.fraction);
  thread.clock += whole;
  thread.fraction -= static_cast<double>(whole);
}

/// Advances the clock of a thread that has slept outside MPI to that of the thread that woke it, or a later one.
void Process::catch_up(Thread& thread) {
  if (thread.slot->passed.load() && thread.slot->passed.exchange(false))
    thread.clock = std::max(thread.clock, slot_->latest.load());
}

bool Process::unlock() {
  if (!threads_ || !me().locks) return false;
  me().locks = false;
  lock_.unlock();
  return true;
}

void Process::lock_again(bool locked) {
  if (!locked) return;
  lock_.lock();
  me().locks = true;
  for (const std::uint32_t communicator : std::exchange(me().released, {})) release(communicator);
}

void Process::let_others() {
  const bool locked = unlock();
  if (locked) sched_yield();
  lock_again(locked);
}

/// MPI may free a communicator while the thread does not hold the lock, and must not wait for it: others may hold it and call MPI.
void Process::release(std::uint32_t communicator) {
  if (threads_ && !me().locks) return me().released.push_back(communicator);
  Submission part;
  part.action = Action::release;
  part.communicator = communicator;
  post(part, false);
}

std::uint64_t Process::post(Submission& part, bool replies) {
  part.id = replies ? next_id_++ : 0;
  part.at = clock();
  part.thread = me().life;
  if (part.function == kPresent) part.function = function();
  if (part.action == Action::collective || part.action == Action::software)
    part.site[name_of_site(me().site).copy(part.site, kSite - 1)] = 0;
  while (slot_->submissions.full()) park({}, 0, clock());
  slot_->submissions.put(part);
  return part.id;
}

Reply Process::call(Submission& part) {
  return wait(post(part));
}

Reply Process::wait(std::uint64_t id) {
  for (;;) {
    if (const auto found = replies_.find(id); found != replies_.end()) {
      const Reply reply = found->second;
      replies_.erase(found);
      wait_until(reply.at);
      return reply;
    }
    park({&id, 1}, 1, kForever);
  }
}

void Process::look_at_clock() {
  Thread& thread = me();
  if (thread.clock != thread.looked_at) thread.looks = 0, thread.looking_since = thread.clock;
  const bool waits = ticks_per_ns_ == 0 && ++thread.looks > kFreeLooks;
  const Time waited = thread.clock - thread.looking_since;
  thread.clock += waits ? std::clamp<Time>(waited / kShareOfWait, 1, poll_ticks()) : 1;
  thread.looked_at = thread.clock;
}

Time Process::poll_ticks() const {
  return std::max<Time>(1, static_cast<Time>(kPollSeconds * ticks_per_second_));
}

void Process::poll(std::span<const std::uint64_t> ids, Time next) {
  Thread& thread = me();
  const std::uint64_t happened = slot_->happened.load();
  if (thread.idle_since < 0 || thread.happened != happened) thread.idle_since = thread.clock;
  thread.happened = happened;
  const Time longest = static_cast<Time>(kLongestPollSeconds * ticks_per_second_);
  const Time idle = thread.clock - thread.idle_since;
  const Time share = ticks_per_ns_ == 0 ? std::min(idle / kShareOfPolls, longest) : 0;
  thread.slot->alert = share > poll_ticks();
  park(ids, 1, std::min(next, thread.clock + std::max(share, poll_ticks())), thread.idle_since);
  thread.slot->alert = false;
}

void Process::park(std::span<const std::uint64_t> ids, std::uint32_t need, Time until, std::optional<Time> since) {
  Thread& thread = me();
  const bool locks = threads_ && !thread.locks;  // in a call that it makes natively
  if (locks) lock_again(true);
  come_back();
  if (chores_ != nullptr) chores_->progress();
  std::uint64_t list = 0;
  if (ids.size() <= kWaitIds) {
    std::ranges::copy(ids, thread.slot->inline_ids);
    thread.slot->wait_ids = static_cast<std::uint64_t>(reinterpret_cast<std::byte*>(thread.slot->inline_ids) - memory_);
  } else {
    list = heap_.take(ids.size_bytes());
    std::ranges::copy(ids, reinterpret_cast<std::uint64_t*>(memory_ + list));
    thread.slot->wait_ids = list;
  }
  thread.slot->wait_count = static_cast<std::uint32_t>(ids.size());
  thread.slot->need = need;
  thread.slot->until = until;
  thread.slot->clock = thread.clock;
  thread.slot->since = since.value_or(thread.clock);
  thread.slot->function = thread.function;
  thread.asides = 0;
  suspend(State::running);
  if (list != 0) heap_.give_back(list);
  take_replies();
  if (locks) unlock();
}

/// Parks the thread, which was in state `from`, until the server resumes it. It releases the lock before: the thread that gets the
/// lock must run before this one does not count as running any more.
void Process::suspend(State from) {
  ThreadSlot& own = *me().slot;
  const bool locked = unlock();
  if (counts(from)) {
    stop_running(State::parked);
  } else {
    own.state.store(State::parked);
    launch::ring(header_->doorbell);
  }
  sleep();
  State resumed = State::resumed;
  own.state.compare_exchange_strong(resumed, State::running);
  lock_again(locked);
  if (slot_ == nullptr) {
    unlock();
    std::fprintf(stderr, "thalweg: rank %d: a thread waits in MPI for ever, as another one has finalized MPI\n", rank_);
    for (;;) pause();
  }
  me().clock = own.clock;
}

void Process::stop_running(State state) {
  if (threads_) slot_->in_team.store(in_parallel_region());
  me().slot->state.store(state);
  if (header_->running.fetch_sub(1) != 1 && header_->threaded.load() == 0) return;
  launch::ring(header_->doorbell);
}

/// Sleeps until the server resumes the thread. While others are inside the MPI library, it progresses the library's queues.
void Process::sleep() {
  ThreadSlot& own = *me().slot;
  const long longest = std::min(kLongestNativeNap, static_cast<long>(header_->ranks) * kNativeNap);
  long nap = kNativeNap;
  for (;;) {
    const std::uint32_t bell = own.bell.load();
    if (own.state.load() != State::parked) return;
    const bool native = header_->native.load() != 0;
    launch::futex_wait(own.bell, bell, native ? nap : kNap);
    if (own.state.load() != State::parked) return;
    nap = own.bell.load() != bell ? kNativeNap : std::min(2 * nap, longest);
    char byte = 0;
    if (header_->native.load() != 0 || !slot_->replies.empty())
      look_after_mpi();
    else if (recv(socket_, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0)
      _exit(125);  // the server has exited
  }
}

/// One thread of the process at a time progresses the MPI library.
void Process::look_after_mpi() {
  if (progressing_.exchange(true)) return;
  std::atomic<bool>& shown = me().slot->progressing_mpi;
  shown.store(true);
  lock_again(threads_);
  take_replies();
  if (chores_ != nullptr) chores_->progress();
  unlock();
  progress_mpi();
  slot_->progressed.fetch_add(1);
  shown.store(false);
  progressing_.store(false);
}

void Process::begin_native() {
  me().idle_since = -1;  // the MPI library may make progress
  if (header_->native.fetch_add(1) != 0) return;
  for (std::uint32_t rank = 0; rank < header_->ranks; ++rank)
    for (std::uint32_t thread = 0; thread < slot(rank).high.load(); ++thread)
      if (ThreadSlot& parked = thread_slot(rank, thread); parked.state.load() == State::parked)
        launch::ring(parked.bell);
}

void Process::take_replies() {
  Reply reply;
  while (slot_->replies.take(reply)) {
    if (const auto found = handlers_.find(reply.id); found != handlers_.end()) {
      ReplyHandler* handler = found->second;
      handlers_.erase(found);
      handler->on_reply(reply);
    } else {
      replies_.emplace(reply.id, reply);
    }
  }
}

/// Returns whether the thread held the lock.
bool Process::go_outside() {
  come_back();
  if (chores_ != nullptr) chores_->begin_all();
  me().slot->clock = clock();
  me().slot->function = function();
  const bool locked = unlock();
  stop_running(State::outside);
  return locked;
}

/// Returns to the running state. Called before leaving that state, as the call may be made in a callback of an outside call.
void Process::come_back() {
  State was = State::native;
  if (me().slot->state.compare_exchange_strong(was, State::running) || was != State::outside) return;
  wait_to_run();
}

/// Parks a thread that was not running until the server resumes it.
void Process::wait_to_run() {
  ThreadSlot& own = *me().slot;
  own.wait_count = 0;
  own.need = 0;
  own.until = kForever;
  own.since = own.clock;
  own.yields = own.was_outside = true;  // it resumes at the current virtual time
  suspend(State::outside);
  own.yields = own.was_outside = false;
  take_replies();
}

void Process::begin_alone() {
  come_back();
  if (chores_ != nullptr) chores_->begin_all();
  Thread& thread = me();
  const bool others_wait = header_->running.load() != header_->ranks || header_->threaded.load() != 0;
  if (++thread.asides > kAsides && others_wait) {
    thread.slot->yields = true;
    park({}, 0, kForever);
    thread.slot->yields = false;
  }
}

void Process::begin_aside() {
  begin_alone();
  Thread& thread = me();
  thread.slot->clock = thread.clock;
  thread.slot->function = thread.function;
  thread.slot->state.store(State::native);
}

}  // namespace thalweg::mpi

__attribute__((destructor)) static void note_exit() {
  thalweg::mpi::process().exit();
}
