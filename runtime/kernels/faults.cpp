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

Faults::Find find_place = nullptr;
std::array<struct sigaction, kSignals.size()> before{};

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
  Faults::RecoveryPoint* place = find_place && Kernel::inside() ? find_place(Kernel::current().context()) : nullptr;
  if (!place || !place->is_set) {  // the instruction is repeated, and its fault goes to the previous handler
    for (std::size_t k = 0; k < kSignals.size(); ++k)
      if (kSignals[k] == signal) sigaction(signal, &before[k], nullptr);
    if (signal == SIGABRT) raise(signal);
    return;
  }
  place->signal = signal;
  place->code = static_cast<const char*>(instruction(*static_cast<const ucontext_t*>(context))) + 1;
  place->address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  place->is_overflow = signal == SIGSEGV && Kernel::current().overflowed(info->si_addr);
  place->is_set = false;
  siglongjmp(place->jump, 1);
}

}  // namespace

struct Faults::State {
  std::vector<std::byte> stack = std::vector<std::byte>(kHandlerStack);
  stack_t before{};
};

Faults::Faults(Find find) : state_(std::make_unique<State>()) {
  find_place = find;
  const stack_t stack{.ss_sp = state_->stack.data(), .ss_flags = 0, .ss_size = state_->stack.size()};
  sigaltstack(&stack, &state_->before);
  struct sigaction action{};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (std::size_t k = 0; k < kSignals.size(); ++k) sigaction(kSignals[k], &action, &before[k]);
}

Faults::~Faults() {
  for (std::size_t k = 0; k < kSignals.size(); ++k) sigaction(kSignals[k], &before[k], nullptr);
  sigaltstack(&state_->before, nullptr);
  find_place = nullptr;
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

std::string what_was_thrown(const void* by_kernel) {
  const auto current = std::current_exception();  // a pointer to the exception object
  const void* thrown = nullptr;
  static_assert(sizeof current == sizeof thrown);
  std::memcpy(&thrown, &current, sizeof thrown);
  if (thrown != by_kernel) throw;
  std::string what = "throws an exception that nothing catches";
  try {
    throw;
  } catch (const std::exception& error) {
    what += std::string(": ") + error.what();
  } catch (...) {
  }
  return what;
}

}  // namespace thalweg
