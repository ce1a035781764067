#include "runtime.hpp"

#include <verilated.h>

#include <cstdarg>
#include <cstdio>

namespace {
std::string last_message;
}

std::string& bisim::assertion_failure() {
  static std::string text;
  return text;
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
