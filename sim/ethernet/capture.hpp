// SPDX-License-Identifier: Apache-2.0
// Writes frames to a capture file for Wireshark: pcapng (draft-ietf-opsawg-pcapng), one interface per computer's port,
// times in nanoseconds.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>

#include "core/types.hpp"
#include "ethernet/frame.hpp"

namespace thalweg::ethernet {

class Capture {
 public:
  /// Throws std::runtime_error if the file cannot be written.
  explicit Capture(const std::string& file) : file_(file, std::ios::binary) {
    block(0x0A0D'0D0A, [this] {  // section header: byte order, version 1.0, length not given
      put32(0x1A2B'3C4D);
      put16(1);
      put16(0);
      put32(~0u);
      put32(~0u);
    });
    check();
  }

  /// The number of a new interface.
  unsigned interface(const std::string& name) {
    block(1, [&] {
      put16(1);  // Ethernet
      put16(0);
      put32(0);  // no length limit
      option(2, name);
      option(9, std::string(1, '\x09'));  // 10^-9 s
      put32(0);
    });
    return interfaces_++;
  }

  /// Returns a function that writes frames of a new interface, with the cycle of a clock of `ns` nanoseconds per cycle.
  /// The capture must outlive it.
  [[nodiscard]] std::function<void(Tick, const Frame&)> tap(const std::string& name, double ns) {
    return [this, ns, number = interface(name)](Tick cycle, const Frame& of) {
      frame(number, static_cast<std::uint64_t>(static_cast<double>(cycle) * ns), of.bytes());
    };
  }

  void frame(unsigned interface, std::uint64_t ns, std::span<const std::byte> bytes) {
    block(6, [&] {
      put32(interface);
      put32(static_cast<std::uint32_t>(ns >> 32));
      put32(static_cast<std::uint32_t>(ns));
      put32(static_cast<std::uint32_t>(bytes.size()));
      put32(static_cast<std::uint32_t>(bytes.size()));
      put(bytes.data(), bytes.size());
      pad();
    });
  }

  /// Throws std::runtime_error if a write failed.
  void close() {
    file_.close();
    check();
  }

 private:
  /// A block: the content written by `fill`, between type and length.
  template <class Fill>
  void block(std::uint32_t type, Fill&& fill) {
    body_.clear();
    fill();
    const auto length = static_cast<std::uint32_t>(body_.size() + 12);
    const std::array<std::uint32_t, 2> head{type, length};
    file_.write(reinterpret_cast<const char*>(head.data()), sizeof head);
    file_.write(body_.data(), static_cast<std::streamsize>(body_.size()));
    file_.write(reinterpret_cast<const char*>(&length), sizeof length);
  }
  void option(std::uint16_t code, const std::string& value) {
    put16(code);
    put16(static_cast<std::uint16_t>(value.size()));
    put(value.data(), value.size());
    pad();
  }
  void put(const void* data, std::size_t size) { body_.append(static_cast<const char*>(data), size); }
  void put16(std::uint16_t value) { put(&value, sizeof value); }
  void put32(std::uint32_t value) { put(&value, sizeof value); }
  void pad() { body_.resize((body_.size() + 3) / 4 * 4); }
  void check() const {
    if (!file_) throw std::runtime_error("the capture file cannot be written");
  }

  std::ofstream file_;
  std::string body_;
  unsigned interfaces_ = 0;
};

}  // namespace thalweg::ethernet
