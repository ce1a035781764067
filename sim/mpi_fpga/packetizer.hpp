// SPDX-License-Identifier: Apache-2.0
// How the elements of a stream lie in network packets: from byte 8 of the first flit on, behind the header, or 16 where a relay
// header follows that. An element of 16 bytes stands alone in the first flit and in pairs in the others, so that no element
// straddles a flit; the smaller ones are contiguous.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>

#include "core/types.hpp"
#include "thalweg_mpi_fpga_spec.hpp"
#include "thalweg_spec.hpp"

namespace thalweg::mpi_fpga {

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
  /// Data packets of a stream; one without elements where it has none.
  [[nodiscard]] std::uint64_t packets(std::uint64_t elements) const {
    return std::max<std::uint64_t>(1, (elements + capacity_ - 1) / capacity_);
  }
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

/// A stream's packets flit by flit: the descriptor, which a barrier's is alone, then the elements as words of memory bring them; C++ model of
/// rtl/mpi_fpga/tw_packetizer.sv.
class FlitPacketizer {
 public:
  using Word = thalweg::Word<256>;
  struct Flit {
    Word data{};
    bool head = false, tail = false;
  };

  [[nodiscard]] bool idle() const { return !busy_; }
  /// When idle. `descriptor`: with the header that all packets have; `packet_flits`: of a full packet.
  void start(const Word& descriptor, unsigned packet_flits) {
    const auto words = std::span(descriptor).first<4>();
    busy_ = true;
    descriptor_ = descriptor;
    layout_ = Packetizer(spec::size_of(spec::descriptor::type(words)), packet_flits);
    left_ = spec::descriptor::count(words);
    packet_ = flit_ = 0;
    bytes_.clear();
  }
  /// The next flit takes one.
  [[nodiscard]] bool wants_word() const { return busy_ && packet_ > 0 && bytes_.size() < payload(); }
  /// The next flit, when not idle; with the word that it wants.
  Flit next(const Word& word) {
    if (packet_ == 0) {
      const bool alone = spec::network_header::collective(descriptor_[0]) == spec::Collective::barrier;
      const Flit flit{with_header(descriptor_, spec::Kind::descriptor, 1, alone), true, true};
      proceed(alone);
      return flit;
    }
    if (wants_word())
      for (unsigned i = 0; i < kFlitBytes; ++i) bytes_.push_back(static_cast<std::uint8_t>(word[i / 8] >> i % 8 * 8));
    const unsigned flits = layout_.flits(elements());
    Flit flit{{}, flit_ == 0, flit_ + 1 == flits};
    if (flit.head) {
      flit.data = with_header(descriptor_, spec::Kind::data, flits, elements() == left_);
      std::fill(flit.data.begin() + 1, flit.data.end(), 0);
      flit.data[0] &= (std::uint64_t{1} << 48) - 1;
    }
    each_byte([&](unsigned at) {
      flit.data[at / 8] |= std::uint64_t{bytes_.front()} << at % 8 * 8;
      bytes_.pop_front();
    });
    ++flit_;
    if (flit.tail) {
      left_ -= elements();
      proceed(left_ == 0);
    }
    return flit;
  }

 private:
  [[nodiscard]] static Word with_header(Word words, spec::Kind kind, unsigned flits, bool last) {
    namespace header = spec::network_header;
    words[0] = header::with_last(
        header::with_size(header::with_kind(words[0], kind), static_cast<std::uint8_t>(std::countr_zero(flits))), last);
    return words;
  }
  [[nodiscard]] std::uint64_t elements() const { return layout_.elements_in(0, left_); }
  /// Where in the flit each of its payload bytes lies.
  template <class Visit>
  void each_byte(Visit&& visit) const {
    layout_.pieces(elements(), [&](std::size_t at, std::uint64_t, std::uint64_t n) {
      const std::size_t begin = std::max<std::size_t>(at, std::size_t{flit_} * kFlitBytes),
                        end = std::min<std::size_t>(at + n * layout_.element_bytes(), (flit_ + 1ul) * kFlitBytes);
      for (std::size_t byte = begin; byte < end; ++byte) visit(static_cast<unsigned>(byte % kFlitBytes));
    });
  }
  [[nodiscard]] std::size_t payload() const {
    std::size_t bytes = 0;
    each_byte([&](unsigned) { ++bytes; });
    return bytes;
  }
  void proceed(bool last) {
    ++packet_;
    flit_ = 0;
    busy_ = !last;
  }

  bool busy_ = false;
  Word descriptor_{};
  Packetizer layout_;
  std::uint64_t left_ = 0;    ///< elements of the stream that have not gone out, but for those of this packet
  std::uint64_t packet_ = 0;  ///< 0 is the descriptor
  unsigned flit_ = 0;
  std::deque<std::uint8_t> bytes_;  ///< that have come and not gone out
};

}  // namespace thalweg::mpi_fpga
