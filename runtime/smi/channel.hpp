// SPDX-License-Identifier: Apache-2.0
// A channel's state, stored in the kernel's SMI_Channel, and checks that the ends of a channel agree.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "core/kernel.hpp"
#include "smi/device/calls.h"
#include "smi/endpoint.hpp"

namespace thalweg::smi {

struct Channel {
  static constexpr std::uint32_t kMagic = 0x534D4921;

  std::uint32_t magic = 0;  ///< kMagic
  std::uint16_t port = 0;   ///< endpoint of the rank
  std::uint8_t kind = 0;    ///< smi__kind
  std::uint8_t type = 0;    ///< SMI_Datatype
  std::uint32_t count = 0;
  std::uint32_t done = 0;          ///< calls made
  std::uint32_t calls = 0;         ///< total number of calls
  std::uint32_t own_unpopped = 0;  ///< elements of the root's own part that were pushed and not yet popped
  const char* file = nullptr;
  std::uint32_t line = 0;
  std::int32_t degree = -1;
  std::uint16_t own = 0, root = 0, first = 0, ranks = 0;
  std::int16_t stride = 1;
  std::int16_t peer = -1;  ///< rank of the whole cluster; -1: none
  std::uint8_t op = 0, size = 0;
  bool entered = false;  ///< its first call has been made

  [[nodiscard]] unsigned rank(unsigned member) const {
    return static_cast<unsigned>(first + stride * static_cast<int>(member));
  }
};
static_assert(sizeof(Channel) <= 64, "it lies in the 64 bytes of an SMI_Channel");

/// "SMI_INT"; "SMI_Open_send_channel".
[[nodiscard]] std::string type_name(unsigned type);
[[nodiscard]] std::string open_name(unsigned kind);
[[nodiscard]] spec::Datatype datatype(unsigned type);
/// log2 of an element's bytes.
[[nodiscard]] unsigned size_of(unsigned type);
[[nodiscard]] EndpointKind endpoint_kind(unsigned kind);
[[nodiscard]] std::string kind_name(EndpointKind kind);

/// A program's violation of SMI's rules; what() names rank, kernel and line.
class Misuse : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Compares the ends of channels: the n-th channel of a sender with the n-th of its receiver, and the n-th collective of
/// all ranks of a communicator.
class Agreement {
 public:
  struct End {
    unsigned rank = 0;
    const char* kernel = "";
    smi__location location{};
    std::uint32_t count = 0;
    std::uint8_t type = 0, op = 0;
    std::uint16_t root = 0;
    std::uint32_t window = 0, per_packet = 0, tile = 0;
  };

  /// Throws Misuse if the other end is open and differs in count, type or protocol.
  void point_to_point(unsigned from, unsigned to, unsigned port, bool sends, const End& end);
  /// The same for a rank of a communicator.
  void collective(const Channel& channel, unsigned port, const End& end);
  /// Returns the ranks that have begun fewer collectives of this kind and port than `rank`.
  [[nodiscard]] std::vector<unsigned> missing(unsigned kind, unsigned port, unsigned rank) const;

 private:
  struct Ends {
    std::deque<End> sent, received;
  };
  struct Rounds {
    std::size_t completed = 0;  ///< rounds that all ranks have opened
    std::deque<std::pair<End, unsigned>> open;
    std::vector<std::size_t> next;
  };

  std::unordered_map<std::uint32_t, Ends> ends_;
  std::map<std::tuple<unsigned, unsigned, unsigned, int, unsigned>, Rounds> rounds_;
};

}  // namespace thalweg::smi
