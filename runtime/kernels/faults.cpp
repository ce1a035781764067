// SPDX-License-Identifier: Apache-2.0
#include "kernels/faults.hpp"

#include <ucontext.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <exception>
#include <vector>

#include "core/kernel.hpp"

namespace thalweg {

namespace {

constexpr std::size_t kHandlerStack = std::size_t{64} << 10;
constexpr std::array kSignals{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};

Faults::Find find_recovery_point = nullptr;
std::array<struct sigaction, kSignals.size()> previous{};

const void* instruction(const ucontext_t& context) {
#if defined(__x86_64__)
  return reinterpret_cast<const void*>(context.uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return reinterpret_cast<const void*>(context.uc_mcontext.pc);
#else
  return nullptr;
#endif
}

void handle(int signal, siginfo_t* info, void* context) {
  Faults::RecoveryPoint* point =
      find_recovery_point && Kernel::inside() ? find_recovery_point(Kernel::current().context()) : nullptr;
  if (!point || !point->is_set) {  // the instruction is repeated, and its fault goes to the previous handler
    for (std::size_t k = 0; k < kSignals.size(); ++k)
      if (kSignals[k] == signal) sigaction(signal, &previous[k], nullptr);
    if (signal == SIGABRT) raise(signal);
    return;
  }
  point->signal = signal;
  point->code = static_cast<const char*>(instruction(*static_cast<const ucontext_t*>(context))) + 1;
  point->address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  point->is_overflow = signal == SIGSEGV && Kernel::current().overflowed(info->si_addr);
  point->is_set = false;
  siglongjmp(point->jump, 1);
}

}  // namespace

struct Faults::State {
  std::vector<std::byte> stack = std::vector<std::byte>(kHandlerStack);
  stack_t previous{};
};

Faults::Faults(Find find) : state_(std::make_unique<State>()) {
  find_recovery_point = find;
  const stack_t stack{.ss_sp = state_->stack.data(), .ss_flags = 0, .ss_size = state_->stack.size()};
  sigaltstack(&stack, &state_->previous);
  struct sigaction action{};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (std::size_t k = 0; k < kSignals.size(); ++k) sigaction(kSignals[k], &action, &previous[k]);
}

Faults::~Faults() {
  for (std::size_t k = 0; k < kSignals.size(); ++k) sigaction(kSignals[k], &previous[k], nullptr);
  sigaltstack(&state_->previous, nullptr);
  find_recovery_point = nullptr;
}

std::string Faults::RecoveryPoint::text() const {
  char at[64];
  std::snprintf(at, sizeof at, "uses address 0x%zx, which is outside of its memory", static_cast<std::size_t>(address));
  if (is_overflow) return "stack overflow: infinite recursion, or arrays that are too large";
  switch (signal) {
    case SIGSEGV:
    case SIGBUS:
      return at;
    case SIGABRT:
      return "aborts";
    default:
      return "divides an integer by zero, or reaches other code that has no defined behaviour";
  }
}

std::string describe_exception(const void* kernel_exception) {
  const auto current = std::current_exception();  // a pointer to the exception object
  const void* thrown = nullptr;
  static_assert(sizeof current == sizeof thrown);
  std::memcpy(&thrown, &current, sizeof thrown);
  if (thrown != kernel_exception) throw;
  std::string message = "throws an exception that nothing catches";
  try {
    throw;
  } catch (const std::exception& error) {
    message += std::string(": ") + error.what();
  } catch (...) {
  }
  return message;
}

}  // namespace thalweg
