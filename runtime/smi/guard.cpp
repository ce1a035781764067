// SPDX-License-Identifier: Apache-2.0
#include "smi/guard.hpp"

#include <execinfo.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <new>

#include "smi/running.hpp"

namespace thalweg::smi {

/// Record of the signal handler, in plain memory.
struct Guard::Record {
  int signal, code, kernel, frames;
  bool overflow;
  std::uintptr_t address;
  Tick cycle;
  unsigned patience;
  std::array<void*, 64> code_at;  ///< return addresses, innermost first
};

namespace {

constexpr std::size_t kHandlerStack = std::size_t{256} << 10;
constexpr std::array kFaults{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};

// State of the run's process; a handler has no other argument.
Guard::Record* handler_record = nullptr;
const Program* handler_program = nullptr;
std::uint64_t last_progress = 0;
unsigned idle = 0;

void* instruction(const ucontext_t& context) {
#if defined(__x86_64__)
  return reinterpret_cast<void*>(context.uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return reinterpret_cast<void*>(context.uc_mcontext.pc);
#else
  return nullptr;
#endif
}

/// Return address of a call through an invalid function pointer.
void* return_address(const ucontext_t& context) {
#if defined(__x86_64__)
  return *reinterpret_cast<void**>(context.uc_mcontext.gregs[REG_RSP]);
#elif defined(__aarch64__)
  return reinterpret_cast<void*>(context.uc_mcontext.regs[30]);
#else
  return nullptr;
#endif
}

void save_frames(Guard::Record& to, const ucontext_t& context) {
  auto* at = instruction(context);
  to.code_at[0] = static_cast<char*>(at) + 1;
  to.frames = 1;
  if (to.signal == SIGSEGV && to.address == reinterpret_cast<std::uintptr_t>(at)) {
    to.code_at[static_cast<std::size_t>(to.frames++)] = return_address(context);
    return;
  }
  std::array<void*, 72> frames{};
  const int number = backtrace(frames.data(), static_cast<int>(frames.size()));
  int first = 0;
  while (first < number && frames[static_cast<std::size_t>(first)] != at) ++first;
  for (int i = first + 1; i < number && to.frames < static_cast<int>(to.code_at.size()); ++i)
    to.code_at[static_cast<std::size_t>(to.frames++)] = frames[static_cast<std::size_t>(i)];
}

void handle(int signal, siginfo_t* info, void* context) {
  if (signal == SIGPROF) {
    const auto now = handler_program->progress();
    idle = now == last_progress ? idle + 1 : 0;
    last_progress = now;
    if (idle < handler_record->patience) return;
  }
  auto& to = *handler_record;
  to.code = info->si_code;
  to.address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  to.kernel = -1;
  if (Kernel::inside()) {
    auto& kernel = Kernel::current();
    to.kernel = handler_program->number(*static_cast<Program::Running*>(kernel.context()));
    to.cycle = kernel.cycle();
    to.overflow = (signal == SIGSEGV || signal == SIGBUS) && kernel.overflowed(info->si_addr);
  }
  to.signal = signal;
  save_frames(to, *static_cast<const ucontext_t*>(context));
  _exit(1);
}

/// Returns whether an instruction is clang's trap for a zero divisor, which contains the number of the check.
bool is_of_division(const void* instruction) {
#if defined(__x86_64__)
  return std::memcmp(instruction, "\x67\x0f\xb9\x40\x03", 5) == 0;
#else
  return false;
#endif
}

}  // namespace

Guard::Guard(const Program& program) : program_(program) {
  void* memory = mmap(nullptr, sizeof(Record), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  record_ = new (memory) Record{};
}

Guard::~Guard() {
  munmap(record_, sizeof(Record));
}

void Guard::watch(unsigned patience) {
  handler_record = record_;
  handler_program = &program_;
  record_->patience = patience;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // a failing kernel's output is not lost
  std::array<void*, 4> first{};
  backtrace(first.data(), static_cast<int>(first.size()));  // loads its library, which a handler must not
  void* memory = mmap(nullptr, kHandlerStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  const stack_t stack{.ss_sp = memory, .ss_flags = 0, .ss_size = kHandlerStack};
  sigaltstack(&stack, nullptr);
  struct sigaction action{};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigfillset(&action.sa_mask);
  for (const int signal : kFaults) sigaction(signal, &action, nullptr);
  if (patience == 0) return;
  sigaction(SIGPROF, &action, nullptr);
  const itimerval second{.it_interval = {.tv_sec = 1, .tv_usec = 0}, .it_value = {.tv_sec = 1, .tv_usec = 0}};
  setitimer(ITIMER_PROF, &second, nullptr);
}

bool Guard::impatient() const {
  return record_->signal == SIGPROF;
}

std::string Guard::fault() const {
  const auto& record = *record_;
  if (record.signal == 0) return "";
  std::string message = "signal " + std::to_string(record.signal) + ", " + strsignal(record.signal);
  char text[128];
  switch (record.signal) {
    case SIGPROF:
      message = "has run for " + std::to_string(record.patience) +
                " s of processor time without using a channel or memory, up to cycle " + std::to_string(record.cycle) +
                "; if that is not an endless loop, allow more time (--patience)";
      break;
    case SIGFPE:
      message = "divides an integer by zero, or the quotient is out of range of its type";
      break;
    case SIGSEGV:
    case SIGBUS:
      std::snprintf(text, sizeof text, "uses address 0x%zx, which is outside of its memory",
                    static_cast<std::size_t>(record.address));
      message = record.overflow ? "its stack of " + std::to_string(Program::kStack >> 20) +
                                      " MiB is full: infinite recursion, or variables that are too large"
                : record.code > 0 && record.code < SI_KERNEL ? text
                                                             : "uses an address that no memory has";
      break;
    case SIGABRT:
      message = "aborts";
      break;
    case SIGILL:
    case SIGTRAP:
      message = is_of_division(static_cast<const char*>(record.code_at[0]) - 1)
                    ? "divides an integer by zero"
                    : "divides an integer by zero, or reaches other code that has no defined behaviour";
      break;
    default:
      break;
  }
  if (record.kernel < 0) return "the simulation ended by " + message;
  return program_.error_prefix(record.kernel, {record.code_at.data(), static_cast<std::size_t>(record.frames)}) +
         message;
}

}  // namespace thalweg::smi
