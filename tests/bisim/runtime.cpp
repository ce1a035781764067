// SPDX-License-Identifier: Apache-2.0
#include "runtime.hpp"

#include <verilated.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace {
std::string last_message;
}

// The Verilator runtime's own functions of VL_SCOPED_RAND_RESET_*, defined below.
IData bisim_rand_reset_i(int bits, uint64_t scope, uint64_t salt);
WDataOutP bisim_rand_reset_w(int bits, WDataOutP words, uint64_t scope, uint64_t salt);

// A memory has the same initial value in all of its entries, of which there may be millions: it is drawn once. Each
// variable has its own salt.
IData VL_SCOPED_RAND_RESET_I(int bits, uint64_t scope, uint64_t salt) {
  static struct {
    uint64_t scope, salt;
    IData value;
  } last{};
  if (scope != last.scope || salt != last.salt) last = {scope, salt, bisim_rand_reset_i(bits, scope, salt)};
  return last.value;
}

// Beyond its first entries a memory holds zeros, like untouched pages: most of its entries are never used.
WDataOutP VL_SCOPED_RAND_RESET_W(int bits, WDataOutP words, uint64_t scope, uint64_t salt) {
  constexpr unsigned kRandom = 4096;
  static struct {
    uint64_t scope, salt;
    WDataOutP end;
    unsigned places;
  } last{};
  const int count = VL_WORDS_I(bits);
  const bool next = words == last.end && scope == last.scope && salt == last.salt;
  last = {scope, salt, words + count, next ? last.places + 1 : 1};
  if (!next)
    bisim_rand_reset_w(bits, words, scope, salt);
  else if (last.places <= kRandom)
    std::copy_n(words - count, count, words);
  else if (std::any_of(words, words + count, [](EData word) { return word != 0; }))
    std::fill_n(words, count, 0);
  return words;
}

std::string& bisim::assertion_failure() {
  static std::string text;
  return text;
}

void bisim::throw_assertion_failure() {
  if (!assertion_failure().empty()) throw std::logic_error(assertion_failure());
}

int bisim_printf(const char* format, ...) {
  char text[512];
  std::va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  last_message = text;
  return length;
}

void vl_stop(const char* file, int line, const char*) {
  std::string& text = bisim::assertion_failure();
  if (text.empty()) text = std::string(file) + ":" + std::to_string(line) + ": " + last_message;
  while (!text.empty() && text.back() == '\n') text.pop_back();
}

void vl_fatal(const char* file, int line, const char* module, const char* message) {
  last_message = message;
  vl_stop(file, line, module);
}
