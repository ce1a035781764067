// SPDX-License-Identifier: Apache-2.0
#include "launch/stat_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <string_view>

namespace thalweg::launch {

std::string fields_from_state(const std::string& stat_file) {
  const int file = open(stat_file.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return "";
  const std::string fields = fields_from_state(file);
  close(file);
  return fields;
}

std::string fields_from_state(int stat_file) {
  // Not by a stream, whose buffer throws if the process ends between open and read.
  std::array<char, 4096> text;  // the kernel returns the whole file, about 300 characters, in one read
  const auto length = pread(stat_file, text.data(), text.size(), 0);
  if (length <= 0) return "";
  const std::string_view all(text.data(), static_cast<std::size_t>(length));
  const auto name = all.rfind(") ");
  return name == std::string_view::npos ? "" : std::string(all.substr(name + 2));
}

}  // namespace thalweg::launch
