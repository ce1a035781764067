// SPDX-License-Identifier: Apache-2.0
#include "mpi/interposer/pthreads.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <new>

#include "launch/futex.hpp"
#include "mpi/interposer/process.hpp"

namespace thalweg::mpi {
namespace {

[[gnu::tls_model("initial-exec")]] thread_local Thread* own_thread = nullptr;

}  // namespace

Thread& Process::calling_thread() {
  if (own_thread != nullptr) return *own_thread;
  const std::lock_guard guard(births_);
  own_thread = new Thread{.path = {UINT32_MAX, ++strangers_}, .system_id = gettid()};
  return *own_thread;
}

void Process::begin_threads() {
  if (threads_ || !joined()) return;
  const std::lock_guard guard(births_);
  own_thread = &first_thread_;
  threads_ = true;
  for (const auto& waiting : waiting_)
    if (const auto thread = waiting.lock(); thread && !thread->ended)
      take_slot(*thread, thread->system_id == 0 ? State::resumed : State::fresh);
  waiting_.clear();
}

std::shared_ptr<Thread> Process::new_thread() {
  Thread& parent = threads_ ? calling_thread() : first_thread_;
  if (parent.depth != 0) return nullptr;  // a thread of the MPI library
  auto child = std::make_shared<Thread>();
  const std::lock_guard guard(births_);
  child->path = parent.path;
  child->path.push_back(++parent.children);
  if (!threads_) {
    std::erase_if(waiting_, [](const auto& thread) { return thread.expired(); });
    waiting_.push_back(child);
  } else if (joined()) {
    if (parent.slot != nullptr) {
      add_own_work(parent);
      catch_up(parent);
    }
    child->clock = parent.clock;
    child->skew = parent.skew.of_child(parent.children);
    take_slot(*child, State::resumed);
  }
  return child;
}

void Process::discard(Thread& thread) {
  const std::lock_guard guard(births_);
  thread.ended = true;
  if (joined() && thread.slot != nullptr) free_slot(*thread.slot);
}

void Process::begin_thread(Thread& thread) {
  const std::lock_guard guard(births_);
  own_thread = &thread;
  thread.system_id = gettid();
  if (!joined() || thread.slot == nullptr) return;
  thread.slot->system_id = thread.system_id;
  State created = State::resumed;
  thread.slot->state.compare_exchange_strong(created, State::fresh);
}

/// The thread keeps its slot until the kernel has ended it, as its end wakes the thread that joins it.
void Process::end_thread(Thread& thread) {
  if (joined() && thread.slot != nullptr) {
    add_own_work(thread);
    catch_up(thread);
  }
  const std::lock_guard guard(births_);
  thread.ended = true;
  own_thread = nullptr;
}

void Process::begin_join(const Thread& thread) {
  Thread& joiner = calling_thread();
  if (joiner.slot == nullptr || thread.slot == nullptr) return;
  catch_up(joiner);
  joiner.slot->joins = thread.number;
}

void Process::end_join(Thread& thread, bool ended) {
  Thread& joiner = calling_thread();
  if (joiner.slot == nullptr || !joined()) return;
  joiner.slot->joins = -1;
  if (!ended) return;
  joiner.clock = std::max(joiner.clock, thread.clock);
  joiner.slot->passed = false;
  const std::lock_guard guard(births_);
  if (thread.slot != nullptr && thread.slot->life.load() == thread.life) free_slot(*thread.slot);
}

/// Gives the thread a free slot, if there is one.
void Process::take_slot(Thread& thread, State state) {
  const auto rank = static_cast<std::uint32_t>(rank_);
  for (std::uint32_t number = 1; number < kThreads; ++number) {
    ThreadSlot& free = thread_slot(rank, number);
    const bool left = free.state.load() != State::unused && number < slot_->high.load() && free.system_id.load() != 0 &&
                      syscall(SYS_tgkill, process_, free.system_id.load(), 0) != 0 && errno == ESRCH;
    if (left) free_slot(free);
    if (free.state.load() != State::unused) continue;
    new (&free) ThreadSlot{.state{State::unused}};
    thread.slot = &free;
    thread.number = static_cast<std::uint16_t>(number);
    thread.life = slot_->lives.load() + 1;
    free.life = thread.life;
    free.depth = static_cast<std::uint32_t>(thread.path.size());
    std::ranges::copy(std::span(thread.path).first(std::min(thread.path.size(), kDepth)), free.path);
    free.clock = thread.clock;
    free.resumed = thread.clock;
    free.system_id = thread.system_id;
    header_->running.fetch_add(1);
    free.state = state;
    slot_->high = std::max(slot_->high.load(), number + 1);
    slot_->lives.fetch_add(1);
    launch::ring(header_->doorbell);
    return;
  }
}

void Process::free_slot(ThreadSlot& thread) {
  const State was = thread.state.exchange(State::unused);
  if (counts(was)) header_->running.fetch_sub(1);
}

void Process::free_other_slots() {
  const std::lock_guard guard(births_);
  for (std::uint32_t number = 0; number < slot_->high.load(); ++number)
    if (ThreadSlot& other = thread_slot(static_cast<std::uint32_t>(rank_), number); &other != me().slot)
      free_slot(other);
}

void Process::note_first_call(Thread& thread) {
  if (thread.slot == nullptr || thread.slot->life.load() != thread.life || thread.slot->state.load() == State::unused) {
    const std::lock_guard guard(births_);
    thread.slot = nullptr;
    take_slot(thread, State::running);
    if (thread.slot == nullptr) {
      std::fprintf(stderr, "thalweg: rank %d: a thread calls MPI beside %zu others; a rank may have %zu\n", rank_,
                   kThreads, kThreads);
      slot_->exiting = 1;
      _exit(125);
    }
  }
  if (thread.called) return;
  thread.called = true;
  slot_->callers.fetch_add(1);
  if (thread.slot->state.exchange(State::running) == State::helper) header_->running.fetch_add(1);
}

/// Sleeps until the threads behind this one have caught up, if the server asks for it. A child of the process shares its slots.
void Process::halt(const Thread& thread) {
  constexpr long kNap = 10'000'000;  // another thread may free the slot meanwhile
  const int error = errno;
  ThreadSlot& slot = *thread.slot;
  const bool outside = slot.borders.load() % 2 == 0;
  if (Pace asked = Pace::ahead;
      !outside || getpid() != process_ || !slot.pace.compare_exchange_strong(asked, Pace::halted))
    return;
  while (slot.pace.load() == Pace::halted && slot.life.load() == thread.life && counts(slot.state.load()))
    launch::futex_wait(slot.pace, Pace::halted, kNap);
  Pace left = Pace::halted;
  slot.pace.compare_exchange_strong(left, Pace::free);
  errno = error;
}

bool in_parallel_region() {
  static const auto asked = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_in_parallel"));
  return asked != nullptr && asked() != 0;
}

namespace {

using Shared = std::shared_ptr<Thread>;

/// Threads that may be joined.
struct Joinable {
  std::mutex lock;
  std::unordered_map<pthread_t, Shared> threads;
};

Joinable& joinable() {
  static auto* const all = new Joinable;
  return *all;
}

/// Deletes the thread's reference to itself when it ends, also by pthread_exit.
pthread_key_t end_key() {
  static const pthread_key_t key = [] {
    pthread_key_t made{};
    pthread_key_create(&made, [](void* value) {
      auto* thread = static_cast<Shared*>(value);
      process().end_thread(**thread);
      delete thread;
    });
    return made;
  }();
  return key;
}

template <class Start>
struct Birth {
  Start start;
  void* argument;
  Shared* thread;
};

/// The first function of a thread. It has no object with a destructor: pthread_exit unwinds it.
template <class Start>
auto born(void* given) {
  const Birth<Start> birth = *static_cast<Birth<Start>*>(given);
  delete static_cast<Birth<Start>*>(given);
  pthread_setspecific(end_key(), birth.thread);
  process().begin_thread(**birth.thread);
  return birth.start(birth.argument);
}

/// Creates a thread by `create(first function, argument)`, which returns an error and sets `*handle`.
template <class Start, class Create>
int give_birth(pthread_t* handle, Start start, void* argument, Create create) {
  const Shared thread = process().new_thread();
  if (thread == nullptr) return create(start, argument);
  auto* birth = new Birth<Start>{start, argument, new Shared(thread)};
  // Held until the handle is known, so that nobody joins the thread before.
  const std::lock_guard guard(joinable().lock);
  const int error = create(&born<Start>, birth);
  if (error == 0) {
    joinable().threads.insert_or_assign(*handle, thread);
    return 0;
  }
  process().discard(*thread);
  delete birth->thread;
  delete birth;
  return error;
}

template <class Join>
int join(pthread_t handle, Join join) {
  Shared thread;
  if (process().threads()) {
    const std::lock_guard guard(joinable().lock);
    if (const auto found = joinable().threads.find(handle); found != joinable().threads.end()) thread = found->second;
  }
  if (thread == nullptr) return join();
  process().begin_join(*thread);
  const int error = join();
  process().end_join(*thread, error == 0);
  const std::lock_guard guard(joinable().lock);
  if (const auto found = joinable().threads.find(handle);
      error == 0 && found != joinable().threads.end() && found->second == thread)
    joinable().threads.erase(found);
  return error;
}

template <class Function>
Function* original(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

/// A function that threads call again and again while they wait for each other. It may be called before any constructor.
template <class Function, class... Arguments>
int paced(std::atomic<Function*>& next, Function* self, const char* name, Arguments... arguments) {
  Function* call = next.load(std::memory_order_relaxed);
  if (call == nullptr) next.store(call = original(self, name), std::memory_order_relaxed);
  const Thread* const thread = own_thread;
  if (thread != nullptr && thread->slot != nullptr && thread->slot->pace.load(std::memory_order_relaxed) == Pace::ahead)
      [[unlikely]]
    process().halt(*thread);
  return call(arguments...);
}

}  // namespace
}  // namespace thalweg::mpi

extern "C" {

using PosixStart = void* (*)(void*);
using StandardStart = int (*)(void*);  // of C11's thrd_create, whose handles are those of POSIX

[[gnu::visibility("default")]] int pthread_create(pthread_t* handle, const pthread_attr_t* attributes, PosixStart start,
                                                  void* argument) noexcept {
  static auto* const create = thalweg::mpi::original(&pthread_create, "pthread_create");
  return thalweg::mpi::give_birth(
      handle, start, argument, [&](PosixStart first, void* given) { return create(handle, attributes, first, given); });
}

[[gnu::visibility("default")]] int pthread_join(pthread_t handle, void** result) {
  static auto* const join = thalweg::mpi::original(&pthread_join, "pthread_join");
  return thalweg::mpi::join(handle, [&] { return join(handle, result); });
}

[[gnu::visibility("default")]] int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  static constinit std::atomic<decltype(&pthread_mutex_lock)> next{nullptr};
  return thalweg::mpi::paced(next, &pthread_mutex_lock, "pthread_mutex_lock", mutex);
}

[[gnu::visibility("default")]] int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  static constinit std::atomic<decltype(&pthread_mutex_trylock)> next{nullptr};
  return thalweg::mpi::paced(next, &pthread_mutex_trylock, "pthread_mutex_trylock", mutex);
}

[[gnu::visibility("default")]] int sched_yield() noexcept {
  static constinit std::atomic<decltype(&sched_yield)> next{nullptr};
  return thalweg::mpi::paced(next, &sched_yield, "sched_yield");
}

[[gnu::visibility("default")]] int thrd_create(pthread_t* handle, StandardStart start, void* argument) {
  static auto* const create = thalweg::mpi::original(&thrd_create, "thrd_create");
  return thalweg::mpi::give_birth(handle, start, argument,
                                  [&](StandardStart first, void* given) { return create(handle, first, given); });
}

[[gnu::visibility("default")]] int thrd_join(pthread_t handle, int* result) {
  static auto* const join = thalweg::mpi::original(&thrd_join, "thrd_join");
  return thalweg::mpi::join(handle, [&] { return join(handle, result); });
}
}
