// SPDX-License-Identifier: Apache-2.0
// Maps an address of the cluster to its memory or register, and defines the ranges that the library reserves.
#pragma once

#include <cstdint>
#include <string>

#include "peach2/addresses.hpp"
#include "peach2/driver/fabric.hpp"

namespace thalweg::peach2 {

/// The library reserves the end of each processor's memory for descriptors of chains, flags, and results of groups with
/// their flags.
inline constexpr std::uint64_t kProcessorBytes = std::uint64_t{1} << kMemoryShift, kReservedBytes = 2 << 20,
                               kProgramBytes = kProcessorBytes - kReservedBytes;
inline constexpr std::uint64_t kChainsAt = kProgramBytes, kChainBytes = 1 << 19;  ///< two areas, used alternately
inline constexpr std::uint64_t kFlagsAt = kChainsAt + 2 * kChainBytes;
inline constexpr std::uint64_t kChainFlag = kFlagsAt, kGetFlag = kFlagsAt + 32;
/// One flag for each context.
inline constexpr std::uint64_t kResultFlags = kFlagsAt + 1024, kReadyFlags = kFlagsAt + 2048;
/// A group's record and its flag, in lines of 32 bytes; one for each context.
inline constexpr std::uint64_t kHead = 160, kGroupResults = kFlagsAt + 4096;

/// Size and alignment of descriptors and flags.
inline constexpr std::uint64_t kLine = 32;
inline constexpr std::uint64_t kOwnLines =
    2;  ///< of a chain besides its copies: the flag, and the descriptor that copies it
inline constexpr std::uint64_t kProxy = 96;  ///< a flag and two descriptors
inline constexpr std::uint64_t kProxies = kProxy * kMostNodes;

/// Maximum size of an operation in bytes.
inline constexpr std::uint64_t kMostBytes = 1 << 30;

/// Address within a part of a node.
struct Location {
  enum class Part { processor, gpu0, gpu1, hub_memory, calculator, ram, registers, nothing };
  unsigned node = 0;
  Part part = Part::nothing;
  std::uint64_t at = 0;    ///< offset in the part, in bytes
  std::uint64_t size = 0;  ///< of the part

  [[nodiscard]] std::string name() const;
};

/// Checks the addresses that a program uses. All checks throw std::invalid_argument with one line.
class AddressMap {
 public:
  explicit AddressMap(Fabric& fabric) : fabric_(fabric) {}

  [[nodiscard]] Location locate(std::uint64_t address) const;
  /// Checks that a range is within one part, aligned to 4 bytes, and not reserved by the library. `what`: operation,
  /// for the message.
  [[nodiscard]] Location writable(const std::string& what, std::uint64_t address, std::uint64_t bytes) const;
  /// Same for a range that a hub's DMA controller reads, which must be in its own node.
  [[nodiscard]] Location readable(const std::string& what, unsigned node, std::uint64_t address,
                                  std::uint64_t bytes) const;
  /// Checks a range of the processor's memory.
  void of_processor(const std::string& what, std::uint64_t at, std::uint64_t bytes) const;

  [[nodiscard]] std::uint64_t ram_bytes() const { return std::uint64_t{16} << fabric_.config().ram_bits; }
  /// A program may use the second quarter of a hub's working RAM. The first quarter has descriptors of chains and
  /// proxies, the second half has an area for each context.
  [[nodiscard]] std::uint64_t program_ram() const { return ram_bytes() / 4; }
  [[nodiscard]] std::uint64_t chain_area() const { return (ram_bytes() / 4 - kProxies) / 2; }
  /// Maximum number of copies of a chain there.
  [[nodiscard]] std::uint64_t ram_copies() const { return chain_area() / kLine - kOwnLines; }
  [[nodiscard]] std::uint64_t proxies_at() const { return ram_bytes() / 4 - kProxies; }
  /// Size of the area of the chain that a context's result starts: a head, followed by descriptors.
  [[nodiscard]] std::uint64_t area_bytes() const { return ram_bytes() / 2 / fabric_.config().contexts; }
  [[nodiscard]] std::uint64_t result_copies() const { return (area_bytes() - kHead) / kLine; }
  [[nodiscard]] std::uint64_t result_area(unsigned context) const {
    return kRamAt + ram_bytes() / 2 + area_bytes() * context;
  }
  /// Size of a context's address range in the calculator.
  [[nodiscard]] std::uint64_t context_bytes() const { return kCalculatorBytes / fabric_.config().contexts; }

 private:
  [[nodiscard]] Location within(const std::string& what, std::uint64_t address, std::uint64_t bytes) const;

  Fabric& fabric_;
};

/// Formats an address.
[[nodiscard]] std::string hex(std::uint64_t value);

}  // namespace thalweg::peach2
