// SPDX-License-Identifier: Apache-2.0
// Reads and writes frames of a Linux network interface: a TAP device, or any other interface through a packet socket. The kernel adds
// and checks the FCS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace thalweg::attach {

class Interface {
 public:
  /// Opens an interface, which must be up and carry frames of `longest` bytes. All lengths count from the destination address to the
  /// end of the payload. Throws std::runtime_error, one line.
  Interface(const std::string& name, std::size_t longest);
  Interface(Interface&& other) noexcept;
  Interface& operator=(Interface&&) = delete;
  ~Interface();

  struct Counts {
    std::uint64_t sent = 0, sent_bytes = 0, received = 0, received_bytes = 0;
    std::uint64_t refused = 0;    ///< not sent, as the interface was down
    std::uint64_t oversized = 0;  ///< received frames longer than ethernet::kMost, which are dropped
    std::uint64_t dropped = 0;    ///< dropped by the kernel, as they were not read in time
  };

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] bool is_tap() const { return tap_; }
  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] Counts counts() const;

  /// Received frames, at most kBatch, valid until the next call. Throws std::runtime_error if the interface has disappeared.
  [[nodiscard]] std::span<const std::span<const std::byte>> receive();
  /// Sends frames in order; returns their number, fewer if the kernel's buffer is full. Throws std::runtime_error if the interface has
  /// disappeared.
  std::size_t send(std::span<const std::span<const std::byte>> frames);

  static constexpr std::size_t kBatch = 64;

 private:
  void open_tap();
  void open_socket(int index);
  [[nodiscard]] std::uint64_t dropped_by_tap() const;
  [[noreturn]] void fail(const std::string& what) const;

  std::string name_;
  bool tap_ = false;
  int descriptor_ = -1;
  std::uint64_t dropped_before_ = 0;
  mutable Counts counts_;
  std::vector<std::byte> buffer_;
  std::vector<std::span<const std::byte>> frames_;
};

}  // namespace thalweg::attach
