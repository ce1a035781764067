// SPDX-License-Identifier: Apache-2.0
// Maps an address of the cluster to its memory or register, and defines the ranges that the library reserves.
#pragma once

#include <cstdint>
#include <string>

#include "peach2/addresses.hpp"
#include "peach2/driver/fabric.hpp"

namespace thalweg::peach2 {

/// The end of each processor's memory belongs to the library: descriptors of chains, flags, and results of groups with their flags.
inline constexpr std::uint64_t kProcessorBytes = std::uint64_t{1} << kMemoryShift, kReservedBytes = 2 << 20,
                               kProgramBytes = kProcessorBytes - kReservedBytes;
inline constexpr std::uint64_t kChainsAt = kProgramBytes, kChainBytes = 1 << 19;  ///< two areas that take turns
inline constexpr std::uint64_t kFlagsAt = kChainsAt + 2 * kChainBytes;
inline constexpr std::uint64_t kChainFlag = kFlagsAt, kGetFlag = kFlagsAt + 32;
/// One flag for each context.
inline constexpr std::uint64_t kResultFlags = kFlagsAt + 1024, kReadyFlags = kFlagsAt + 2048;
/// A record of a group and its flag, in lines of 32 bytes; one for each context.
inline constexpr std::uint64_t kHead = 160, kGroupResults = kFlagsAt + 4096;

/// A descriptor, and what is beside it.
inline constexpr std::uint64_t kLine = 32;
inline constexpr std::uint64_t kProxy = 96;  ///< a flag and two descriptors
inline constexpr std::uint64_t kProxies = kProxy * kMostNodes;

/// Most bytes of one operation.
inline constexpr std::uint64_t kMostBytes = 1 << 30;

/// A part of a node that has addresses.
struct Location {
  enum class Part { processor, gpu0, gpu1, hub_memory, calculator, ram, registers, nothing };
  unsigned node = 0;
  Part part = Part::nothing;
  std::uint64_t at = 0;    ///< bytes from the part's beginning
  std::uint64_t size = 0;  ///< of the part

  [[nodiscard]] std::string name() const;
};

/// Which addresses a program of a cluster may use. All checks throw std::invalid_argument, one line.
class AddressMap {
 public:
  explicit AddressMap(Fabric& fabric) : fabric_(fabric) {}

  [[nodiscard]] Location locate(std::uint64_t address) const;
  /// Bytes within one part, at a multiple of 4, outside of what the library keeps. `what`: the operation, for the message.
  [[nodiscard]] Location writable(const std::string& what, std::uint64_t address, std::uint64_t bytes) const;
  /// The same of bytes that a hub's DMA controller reads: they lie in its own node.
  [[nodiscard]] Location readable(const std::string& what, unsigned node, std::uint64_t address,
                                  std::uint64_t bytes) const;
  /// Bytes of the processor's memory.
  void of_processor(const std::string& what, std::uint64_t at, std::uint64_t bytes) const;

  [[nodiscard]] std::uint64_t ram_bytes() const { return std::uint64_t{16} << fabric_.config().ram_bits; }
  /// A program may use the second quarter of a hub's working RAM. The first one has descriptors of chains and proxies, the others have
  /// an area for each context.
  [[nodiscard]] std::uint64_t program_ram() const { return ram_bytes() / 4; }
  [[nodiscard]] std::uint64_t chain_area() const { return (ram_bytes() / 4 - kProxies) / 2; }
  [[nodiscard]] std::uint64_t proxies_at() const { return ram_bytes() / 4 - kProxies; }
  /// Of the chain that a context's result starts: a head and then the descriptors.
  [[nodiscard]] std::uint64_t area_bytes() const { return ram_bytes() / 2 / fabric_.config().contexts; }
  [[nodiscard]] std::uint64_t result_area(unsigned context) const {
    return kRamAt + ram_bytes() / 2 + area_bytes() * context;
  }
  /// Bytes of calculator addresses of a context.
  [[nodiscard]] std::uint64_t context_bytes() const { return kCalculatorBytes / fabric_.config().contexts; }

 private:
  [[nodiscard]] Location within(const std::string& what, std::uint64_t address, std::uint64_t bytes) const;

  Fabric& fabric_;
};

/// A number as an address is written.
[[nodiscard]] std::string hex(std::uint64_t value);

}  // namespace thalweg::peach2
