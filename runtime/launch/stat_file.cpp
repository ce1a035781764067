// SPDX-License-Identifier: Apache-2.0
#include "launch/stat_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>

namespace thalweg::launch {

std::string fields_from_state(const std::string& stat_file) {
  // Not by a stream, whose buffer throws if the process ends between open and read.
  const int file = open(stat_file.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return "";
  std::array<char, 4096> text;  // the kernel returns the whole file, about 300 characters, in one read
  const auto length = read(file, text.data(), text.size());
  close(file);
  if (length <= 0) return "";
  const std::string all(text.data(), static_cast<std::size_t>(length));
  const auto name = all.rfind(") ");
  return name == std::string::npos ? "" : all.substr(name + 2);
}

}  // namespace thalweg::launch
