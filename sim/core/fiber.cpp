// SPDX-License-Identifier: Apache-2.0
#include "core/fiber.hpp"

#include <cxxabi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

// The switch saves the callee-saved registers (System V ABI for x86-64, AAPCS64) on the current stack and restores them
// from the other. THALWEG_UCONTEXT uses the C library instead, which makes a system call for each switch.
#if !defined(THALWEG_UCONTEXT) && !defined(__x86_64__) && !defined(__aarch64__)
#define THALWEG_UCONTEXT
#endif
#ifdef THALWEG_UCONTEXT
#include <ucontext.h>
#endif

#if defined(__SANITIZE_ADDRESS__)
#define THALWEG_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define THALWEG_ASAN
#endif
#endif
#ifdef THALWEG_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

#ifndef THALWEG_UCONTEXT
extern "C" {
/// Saves the current stack pointer in `*from` and switches to the stack with pointer `to`.
void thalweg_switch_stack(void** from, void* to);
/// Entry of a new stack: calls a function with an argument; both are in callee-saved registers.
void thalweg_start_stack();
}

#if defined(__x86_64__)
asm(R"(
  .pushsection .text
  .hidden thalweg_switch_stack
  .globl thalweg_switch_stack
  .type thalweg_switch_stack, @function
thalweg_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  subq $8, %rsp
  stmxcsr (%rsp)
  fnstcw 4(%rsp)
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  ldmxcsr (%rsp)
  fldcw 4(%rsp)
  addq $8, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size thalweg_switch_stack, .-thalweg_switch_stack

  .hidden thalweg_start_stack
  .globl thalweg_start_stack
  .type thalweg_start_stack, @function
thalweg_start_stack:
  .cfi_startproc
  .cfi_undefined rip
  movq %r12, %rdi
  callq *%r13
  ud2
  .cfi_endproc
  .size thalweg_start_stack, .-thalweg_start_stack
  .popsection
)");

namespace {
/// Frame that the switch pops from a stack; the last field is the return address.
struct Saved {
  std::uint32_t sse_control, x87_control;
  std::uint64_t r15, r14, r13, r12, rbx, rbp, to;
};

void* start(std::byte* top, void (*call)(thalweg::Fiber*), thalweg::Fiber* value) {
  auto* saved = reinterpret_cast<Saved*>(top - sizeof(Saved));  // thalweg_start_stack executes a call: the stack is
                                                                // aligned to 16 bytes
  *saved = {};
  asm volatile("stmxcsr %0\n fnstcw %1" : "=m"(saved->sse_control), "=m"(saved->x87_control));
  saved->r12 = reinterpret_cast<std::uint64_t>(value);
  saved->r13 = reinterpret_cast<std::uint64_t>(call);
  saved->to = reinterpret_cast<std::uint64_t>(&thalweg_start_stack);
  return saved;
}
}  // namespace
#else
asm(R"(
  .pushsection .text
  .hidden thalweg_switch_stack
  .globl thalweg_switch_stack
  .type thalweg_switch_stack, %function
thalweg_switch_stack:
  sub sp, sp, #176
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mrs x9, fpcr
  str x9, [sp, #160]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  ldr x9, [sp, #160]
  msr fpcr, x9
  add sp, sp, #176
  ret
  .size thalweg_switch_stack, .-thalweg_switch_stack

  .hidden thalweg_start_stack
  .globl thalweg_start_stack
  .type thalweg_start_stack, %function
thalweg_start_stack:
  .cfi_startproc
  .cfi_undefined x30
  mov x0, x19
  blr x20
  brk #1
  .cfi_endproc
  .size thalweg_start_stack, .-thalweg_start_stack
  .popsection
)");

namespace {
/// Frame that the switch pops from a stack; x30 is the return address.
struct Saved {
  std::uint64_t x19, x20, x21_to_x28[8], x29, x30, d8_to_d15[8], fpcr, unused;
};

void* start(std::byte* top, void (*call)(thalweg::Fiber*), thalweg::Fiber* value) {
  auto* saved = reinterpret_cast<Saved*>(top - sizeof(Saved));
  *saved = {};
  asm volatile("mrs %0, fpcr" : "=r"(saved->fpcr));
  saved->x19 = reinterpret_cast<std::uint64_t>(value);
  saved->x20 = reinterpret_cast<std::uint64_t>(call);
  saved->x30 = reinterpret_cast<std::uint64_t>(&thalweg_start_stack);
  return saved;
}
}  // namespace
#endif
#endif

namespace thalweg {
namespace {

std::size_t page() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

#ifdef THALWEG_UCONTEXT
void enter_context(unsigned high, unsigned low, unsigned call_high, unsigned call_low) {
  const auto pointer = [](unsigned upper, unsigned lower) {
    return static_cast<std::uintptr_t>(std::uint64_t{upper} << 32 | lower);
  };
  reinterpret_cast<void (*)(Fiber*)>(pointer(call_high, call_low))(reinterpret_cast<Fiber*>(pointer(high, low)));
}
#endif

}  // namespace

Fiber::Fiber(std::function<void()> body, std::size_t stack_bytes)
    : body_(std::move(body)), bytes_((stack_bytes + page() - 1) / page() * page() + page()) {
  void* memory =
      mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  memory_ = static_cast<std::byte*>(memory);
  if (mprotect(memory_, page(), PROT_NONE)) {
    munmap(memory_, bytes_);
    throw std::bad_alloc();
  }
#ifdef THALWEG_UCONTEXT
  inside_ = new ucontext_t;
  outside_ = new ucontext_t;
  auto* context = static_cast<ucontext_t*>(inside_);
  getcontext(context);
  context->uc_stack.ss_sp = memory_ + page();
  context->uc_stack.ss_size = bytes_ - page();
  context->uc_link = nullptr;
  const auto self = reinterpret_cast<std::uint64_t>(this), call = reinterpret_cast<std::uint64_t>(&Fiber::enter);
  makecontext(context, reinterpret_cast<void (*)()>(&enter_context), 4, static_cast<unsigned>(self >> 32),
              static_cast<unsigned>(self), static_cast<unsigned>(call >> 32), static_cast<unsigned>(call));
#else
  inside_ = start(memory_ + bytes_, &Fiber::enter, this);
#endif
}

Fiber::~Fiber() {
#ifdef THALWEG_UCONTEXT
  delete static_cast<ucontext_t*>(inside_);
  delete static_cast<ucontext_t*>(outside_);
#endif
  munmap(memory_, bytes_);
}

void Fiber::to(bool inside, bool last) {
#ifdef THALWEG_ASAN
  if (inside)
    __sanitizer_start_switch_fiber(&outer_frames_, memory_ + page(), bytes_ - page());
  else
    __sanitizer_start_switch_fiber(last ? nullptr : &frames_, outer_bottom_, outer_size_);
#else
  (void)last;
#endif
  // A switch inside a catch block must carry the exceptions being handled.
  auto* handled = reinterpret_cast<Exceptions*>(abi::__cxa_get_globals());
  std::swap(*handled, exceptions_);
#ifdef THALWEG_UCONTEXT
  swapcontext(static_cast<ucontext_t*>(inside ? outside_ : inside_),
              static_cast<ucontext_t*>(inside ? inside_ : outside_));
#else
  thalweg_switch_stack(inside ? &outside_ : &inside_, inside ? inside_ : outside_);
#endif
#ifdef THALWEG_ASAN
  if (inside)
    __sanitizer_finish_switch_fiber(outer_frames_, nullptr, nullptr);
  else
    __sanitizer_finish_switch_fiber(frames_, &outer_bottom_, &outer_size_);
#endif
}

void Fiber::enter(Fiber* self) {
#ifdef THALWEG_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &self->outer_bottom_, &self->outer_size_);
#endif
  try {
    self->body_();
  } catch (...) {
    self->thrown_ = std::current_exception();
  }
  self->done_ = true;
  self->to(false, true);
}

void Fiber::resume() {
  started_ = true;
  to(true, false);
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

bool Fiber::overflowed(const void* at) const {
  const auto* byte = static_cast<const std::byte*>(at);
  return byte >= memory_ && byte < memory_ + page();
}

void Fiber::suspend() {
  to(false, false);
}

}  // namespace thalweg
