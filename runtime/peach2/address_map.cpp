// SPDX-License-Identifier: Apache-2.0
#include "peach2/address_map.hpp"

#include <cstdio>

#include "core/require.hpp"

namespace thalweg::peach2 {

std::string hex(std::uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string Location::name() const {
  const std::string number = std::to_string(node);
  switch (part) {
    case Part::processor:
      return "the processor's memory of node " + number;
    case Part::gpu0:
    case Part::gpu1:
      return "GPU " + std::string(part == Part::gpu0 ? "0" : "1") + " of node " + number;
    case Part::hub_memory:
      return "the memory of hub " + number;
    case Part::calculator:
      return "the calculator of hub " + number;
    case Part::ram:
      return "the working RAM of hub " + number;
    case Part::registers:
      return "the registers of hub " + number;
    case Part::nothing:
      break;
  }
  return "nothing";
}

Location AddressMap::locate(std::uint64_t address) const {
  Location place;
  if (address >> kNodeShift >= fabric_.nodes()) return place;
  place.node = static_cast<unsigned>(address >> kNodeShift);
  const auto memory = static_cast<unsigned>(address >> kMemoryShift) % 4;
  if (memory < kMemories) {
    static constexpr Location::Part kParts[] = {Location::Part::processor, Location::Part::gpu0, Location::Part::gpu1};
    place.part = kParts[memory];
    place.at = address % kProcessorBytes;
    place.size = kProcessorBytes;
    return place;
  }
  if (address < hub_address(place.node)) return place;
  struct Range {
    Location::Part part;
    std::uint64_t first, bytes;
  };
  const std::uint64_t at = address - hub_address(place.node);
  for (const auto& [part, first, bytes] :
       {Range{Location::Part::hub_memory, 0, kMemoryBytes},
        Range{Location::Part::calculator, kCalculatorAt, kCalculatorBytes},
        Range{Location::Part::ram, kRamAt, ram_bytes()},
        Range{Location::Part::registers, kRegistersAt, std::uint64_t{16} * kRegisters}})
    if (at >= first && at - first < bytes) {
      place.part = part;
      place.at = at - first;
      place.size = bytes;
    }
  return place;
}

Location AddressMap::within(const std::string& what, std::uint64_t address, std::uint64_t bytes) const {
  const std::string of = what + " of " + std::to_string(bytes) + " bytes at " + hex(address) + ": ";
  require(bytes > 0 && bytes <= kMostBytes && bytes % 4 == 0 && address % 4 == 0,
          of + "the address and the length must be multiples of 4, the length from 4 to " + std::to_string(kMostBytes));
  const auto place = locate(address);
  require(place.part != Location::Part::nothing,
          of + "no node has that address; node k of 0 to " + std::to_string(fabric_.nodes() - 1) +
              " has 24 GByte of memories from k x 32 GByte on, and its hub the last GByte");
  require(bytes <= place.size - place.at,
          of + "beyond the end of " + place.name() + ", which has " + std::to_string(place.size) + " bytes");
  if (place.part == Location::Part::processor)
    require(place.at + bytes <= kProgramBytes, of + "the last " + std::to_string(kReservedBytes >> 20) + " MByte of " +
                                                   place.name() + ", from " + std::to_string(kProgramBytes) +
                                                   " on, belong to the library");
  return place;
}

Location AddressMap::writable(const std::string& what, std::uint64_t address, std::uint64_t bytes) const {
  const auto place = within(what, address, bytes);
  const std::string of = what + " of " + std::to_string(bytes) + " bytes at " + hex(address) + ": ";
  if (place.part == Location::Part::ram)
    require(place.at >= program_ram() && place.at + bytes <= 2 * program_ram(),
            of + "a program may use bytes " + std::to_string(program_ram()) + " to " +
                std::to_string(2 * program_ram() - 1) + " of " + place.name() + "; the others belong to the library");
  if (place.part == Location::Part::calculator)
    require(place.at % 16 == 0 && bytes % 16 == 0,
            of + place.name() + " accepts only beats of 16 bytes at multiples of 16");
  if (place.part == Location::Part::registers)
    require(place.at >= 16 * kStartRegister,
            of + "the windows of hub " + std::to_string(place.node) + " are loaded together with those of all hubs");
  return place;
}

Location AddressMap::readable(const std::string& what, unsigned node, std::uint64_t address,
                              std::uint64_t bytes) const {
  const auto place = within(what, address, bytes);
  require(place.node == node, what + " of " + std::to_string(bytes) + " bytes at " + hex(address) + ": that is " +
                                  place.name() + "; hub " + std::to_string(node) +
                                  " reads only in its own node: use a put by the other node, or a get");
  return place;
}

void AddressMap::of_processor(const std::string& what, std::uint64_t at, std::uint64_t bytes) const {
  require(at % 4 == 0 && at < kProgramBytes && bytes <= kProgramBytes - at,
          what + " at " + std::to_string(at) +
              " of the processor's memory: must be a multiple of 4 and below the last " +
              std::to_string(kReservedBytes >> 20) + " MByte, from " + std::to_string(kProgramBytes) +
              " on, which belong to the library");
}

}  // namespace thalweg::peach2
