// SPDX-License-Identifier: Apache-2.0
// Reads and writes frames of a Linux network interface: a TAP device, or any other one through a packet socket. The kernel adds
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
  /// Opens an interface that is up and carries frames of `longest` bytes, from the destination address to the end of the payload, as all lengths
  /// here. Throws std::runtime_error, one line.
  Interface(const std::string& name, std::size_t longest);
  Interface(Interface&& other) noexcept;
  Interface& operator=(Interface&&) = delete;
  ~Interface();

  struct Counts {
    std::uint64_t sent = 0, sent_bytes = 0, received = 0, received_bytes = 0;
    std::uint64_t refused = 0;    ///< that should have been sent: the interface was down
    std::uint64_t oversized = 0;  ///< that came, and are longer than any Ethernet frame (ethernet::kMost)
    std::uint64_t dropped = 0;    ///< by the kernel, before they were read: nobody read them in time
  };

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] bool is_tap() const { return tap_; }
  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] Counts counts() const;

  /// Frames that have come, at most kBatch; each is valid until the next call. Throws std::runtime_error where the interface is gone.
  [[nodiscard]] std::span<const std::span<const std::byte>> receive();
  /// Sends frames in order; how many, fewer where the kernel has no room now. Throws std::runtime_error where the interface is gone.
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
