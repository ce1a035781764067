// SPDX-License-Identifier: Apache-2.0
// Layout of a stream's elements in network packets: from byte 8 of the first flit, behind the header, or from byte 16
// if a relay header follows. An element of 16 bytes is alone in the first flit and in pairs in the others, so that no
// element straddles a flit; smaller ones are contiguous.
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

  /// Layout for a stream on a tree, or for consecutive streams of `elements` in total; full packets have `shortest` to
  /// `longest` flits. A router pauses between packets, and every vertex stores a packet until it is whole. With p flits
  /// per packet and s in the stream, this costs 2 cycles s/p times and p cycles on each of about 8 edges, which is
  /// least for p = sqrt(s/4).
  [[nodiscard]] static Packetizer of_stream(std::size_t element_bytes, unsigned shortest, unsigned longest,
                                            std::uint64_t elements) {
    const std::uint64_t stream = elements * element_bytes / kFlitBytes;
    unsigned flits = shortest;
    while (flits < longest && std::uint64_t{16} * flits * flits <= stream) flits *= 2;
    return {element_bytes, flits};
  }

  /// Layout for a stream on a ring, where a vertex stores a packet while it sends another: packets are long, but at
  /// most a quarter of the stream, because the next vertex of a short stream waits for a whole packet.
  [[nodiscard]] static Packetizer of_ring(std::size_t element_bytes, unsigned shortest, unsigned longest,
                                          std::uint64_t elements) {
    const std::uint64_t stream = elements * element_bytes / kFlitBytes;
    unsigned flits = shortest;
    while (flits < longest && std::uint64_t{8} * flits <= stream) flits *= 2;
    return {element_bytes, flits};
  }

  /// Elements in a full packet.
  [[nodiscard]] std::uint64_t elements_per_packet() const { return capacity_; }
  /// Data packets of a stream; an empty stream has one without elements.
  [[nodiscard]] std::uint64_t packets(std::uint64_t elements) const {
    return std::max<std::uint64_t>(1, (elements + capacity_ - 1) / capacity_);
  }
  [[nodiscard]] std::size_t element_bytes() const { return element_; }

  /// Elements in packet `index` of a stream of `total` elements.
  [[nodiscard]] std::uint64_t elements_in(std::uint64_t index, std::uint64_t total) const {
    return std::min(capacity_, total - index * capacity_);
  }

  /// Flits of a packet with `elements` elements: a power of two.
  [[nodiscard]] unsigned flits(std::uint64_t elements) const {
    unsigned flits = 1;
    while (capacity(flits) < elements) flits *= 2;
    return flits;
  }

  /// Elements in the next packet of a stream with `left` remaining, when packets are filled. A packet that would use
  /// less than three quarters of its flits is replaced by a full one of half as many flits and another after it.
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

/// Produces a stream's packets flit by flit: the descriptor, which is all of a barrier's stream, then the elements from
/// memory words; C++ model of rtl/mpi_fpga/tw_packetizer.sv.
class FlitPacketizer {
 public:
  using Word = thalweg::Word<256>;
  struct Flit {
    Word data{};
    bool head = false, tail = false;
  };

  [[nodiscard]] bool idle() const { return !busy_; }
  /// Starts a stream; must be idle. `descriptor` includes the header of all packets; `packet_flits`: flits of a full
  /// packet.
  void start(const Word& descriptor, unsigned packet_flits) {
    const auto words = std::span(descriptor).first<4>();
    busy_ = true;
    descriptor_ = descriptor;
    layout_ = Packetizer(spec::size_of(spec::descriptor::type(words)), packet_flits);
    left_ = spec::descriptor::count(words);
    packet_ = flit_ = 0;
    bytes_.clear();
  }
  /// True if the next flit consumes a word.
  [[nodiscard]] bool wants_word() const { return busy_ && packet_ > 0 && bytes_.size() < payload(); }
  /// Returns the next flit; must not be idle. `word` is used if wants_word().
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
  /// Visits the position in the flit of each payload byte.
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
  std::uint64_t left_ = 0;    ///< elements of the stream not sent yet, including the current packet
  std::uint64_t packet_ = 0;  ///< 0 is the descriptor
  unsigned flit_ = 0;
  std::deque<std::uint8_t> bytes_;  ///< received and not sent yet
};

}  // namespace thalweg::mpi_fpga
