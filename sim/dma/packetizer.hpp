// How the elements of a stream lie in network packets: from byte 8 of the first flit on, behind the header, or 16 where a relay
// header follows that. An element of 16 bytes stands alone in the first flit and in pairs in the others, so that no element
// straddles a flit; the smaller ones are contiguous.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace thalweg {

inline constexpr unsigned kFlitBytes = 32;
inline constexpr unsigned kHeaderBytes = 8;

class Packetizer {
 public:
  Packetizer() = default;
  Packetizer(std::size_t element_bytes, unsigned packet_flits, unsigned header_bytes = kHeaderBytes)
      : element_(element_bytes), header_(header_bytes), capacity_(capacity(packet_flits)) {}

  /// That of a stream, or of streams that follow each other and have so many elements together, packets from `shortest` to
  /// `longest` flits long, as suits a tree: a router pauses between packets, and every vertex holds a packet until it is
  /// whole. With p flits in a packet of s in the stream, these are 2 cycles s/p times and p cycles on each of some 8 edges,
  /// which is least for p = sqrt(s/4).
  [[nodiscard]] static Packetizer of_stream(std::size_t element_bytes, unsigned shortest, unsigned longest,
                                            std::uint64_t elements) {
    const std::uint64_t stream = elements * element_bytes / kFlitBytes;
    unsigned flits = shortest;
    while (flits < longest && std::uint64_t{16} * flits * flits <= stream) flits *= 2;
    return {element_bytes, flits};
  }

  /// The same round a ring, where a vertex holds a packet while it sends another one: so they are long, but no longer than a
  /// quarter of the stream, for which the next vertex waits when it is short.
  [[nodiscard]] static Packetizer of_ring(std::size_t element_bytes, unsigned shortest, unsigned longest,
                                          std::uint64_t elements) {
    const std::uint64_t stream = elements * element_bytes / kFlitBytes;
    unsigned flits = shortest;
    while (flits < longest && std::uint64_t{8} * flits <= stream) flits *= 2;
    return {element_bytes, flits};
  }

  /// Elements of a full packet.
  [[nodiscard]] std::uint64_t elements_per_packet() const { return capacity_; }
  [[nodiscard]] std::uint64_t packets(std::uint64_t elements) const { return (elements + capacity_ - 1) / capacity_; }
  [[nodiscard]] std::size_t element_bytes() const { return element_; }

  /// Elements in packet `index` of a stream of `total` elements.
  [[nodiscard]] std::uint64_t elements_in(std::uint64_t index, std::uint64_t total) const {
    return std::min(capacity_, total - index * capacity_);
  }

  /// Flits of a packet of so many elements: a power of two.
  [[nodiscard]] unsigned flits(std::uint64_t elements) const {
    unsigned flits = 1;
    while (capacity(flits) < elements) flits *= 2;
    return flits;
  }

  /// Elements of the next packet of a stream that fills its packets: `left` are left. A packet that would need less than three
  /// quarters of its flits gives way to a full one of half of them, and another one after it.
  [[nodiscard]] std::uint64_t filled(std::uint64_t left) const {
    const std::uint64_t most = std::min(left, capacity_);
    const unsigned size = flits(most);
    return size > 4 && most <= capacity(size / 4 * 3 - 1) ? capacity(size / 2) : most;
  }

  /// Calls visit(offset in the packet, first element, elements) for each contiguous piece of the payload.
  template <class Visit>
  void pieces(std::uint64_t elements, Visit&& visit) const {
    const std::uint64_t first = element_ == 16 ? std::min<std::uint64_t>(elements, 1) : elements;
    if (first > 0) visit(header_, std::uint64_t{0}, first);
    if (elements > first) visit(std::size_t{kFlitBytes}, first, elements - first);
  }

 private:
  [[nodiscard]] std::uint64_t capacity(unsigned flits) const {
    return element_ == 16 ? 2 * std::uint64_t{flits} - 1 : (kFlitBytes * flits - header_) / element_;
  }

  std::size_t element_ = 1, header_ = kHeaderBytes;
  std::uint64_t capacity_ = 1;
};

}  // namespace thalweg
