// SPDX-License-Identifier: Apache-2.0
// Words of AXI4-Stream with the vendor's interface.
#pragma once
#pragma GCC system_header

#include "ap_int.h"
#include "thalweg_hls.hpp"

namespace hls {

template <class T>
struct data_bits {
  static constexpr int value = 8 * sizeof(T);
};
template <int W>
struct data_bits<ap_uint<W>> {
  static constexpr int value = W;
};
template <int W>
struct data_bits<ap_int<W>> {
  static constexpr int value = W;
};

/// Widths of sideband signals may be 0: then the hardware has no such signal, and the field is unused.
template <class T, int User = 0, int Id = 0, int Dest = 0>
struct axis {
  static constexpr int kBits = data_bits<T>::value;
  static constexpr int kBytes = (kBits + 7) / 8;

  T data;
  ap_uint<kBytes> keep;
  ap_uint<kBytes> strb;
  ap_uint<User != 0 ? User : 1> user;
  ap_uint<1> last;
  ap_uint<Id != 0 ? Id : 1> id;
  ap_uint<Dest != 0 ? Dest : 1> dest;

  T get_data() const { return data; }
  void set_data(const T& value) { data = value; }
  ap_uint<kBytes> get_keep() const { return keep; }
  void set_keep(const ap_uint<kBytes>& value) { keep = value; }
  ap_uint<1> get_last() const { return last; }
  void set_last(const ap_uint<1>& value) { last = value; }
  void keep_all() { keep = ~ap_uint<kBytes>(0); }
};

}  // namespace hls

template <int D, int U, int TI, int TD>
using ap_axiu = hls::axis<ap_uint<D>, U, TI, TD>;
template <int D, int U, int TI, int TD>
using ap_axis = hls::axis<ap_int<D>, U, TI, TD>;

namespace thalweg_hls {

template <int W, class Bits>
void pack_bits(const Bits& value, unsigned char* to) {
  const ap_uint<W> bits = value;
  for (int at = 0; at < W; at += 64) {
    const int last = at + 63 < W ? at + 63 : W - 1;
    const std::uint64_t part = ap_uint<64>(bits.range(last, at)).to_uint64();
    std::memcpy(to + at / 8, &part, static_cast<std::size_t>((last - at) / 8 + 1));
  }
}
template <int W, class Bits>
void unpack_bits(const unsigned char* from, Bits& value) {
  ap_uint<W> bits = 0;
  for (int at = 0; at < W; at += 64) {
    const int last = at + 63 < W ? at + 63 : W - 1;
    std::uint64_t part = 0;
    std::memcpy(&part, from + at / 8, static_cast<std::size_t>((last - at) / 8 + 1));
    bits.range(last, at) = ap_uint<64>(part);
  }
  value = bits;
}

/// Layout: data, keep, strb, user, id, dest, last. All but data and last take at least 8 bytes.
template <class T, int User, int Id, int Dest>
struct Wire<hls::axis<T, User, Id, Dest>> {
  using Word = hls::axis<T, User, Id, Dest>;
  static constexpr std::size_t kData = Word::kBytes;
  static constexpr std::size_t kKeep = Word::kBytes > 64 ? (Word::kBytes + 7) / 8 : 8;
  static constexpr std::size_t kUser = User > 64 ? (User + 7) / 8 : 8;
  static constexpr std::size_t kBytes = kData + 2 * kKeep + kUser + 17;

  static void pack(const Word& word, unsigned char* to) {
    std::memset(to, 0, kBytes);
    if constexpr (std::is_arithmetic_v<T>)
      std::memcpy(to, &word.data, sizeof word.data);
    else
      pack_bits<Word::kBits>(word.data, to);
    to += kData;
    pack_bits<Word::kBytes>(word.keep, to);
    pack_bits<Word::kBytes>(word.strb, to + kKeep);
    pack_bits<(User != 0 ? User : 1)>(word.user, to + 2 * kKeep);
    pack_bits<(Id != 0 ? Id : 1)>(word.id, to + 2 * kKeep + kUser);
    pack_bits<(Dest != 0 ? Dest : 1)>(word.dest, to + 2 * kKeep + kUser + 8);
    pack_bits<1>(word.last, to + 2 * kKeep + kUser + 16);
  }
  static Word unpack(const unsigned char* from) {
    Word word;
    if constexpr (std::is_arithmetic_v<T>)
      std::memcpy(&word.data, from, sizeof word.data);
    else
      unpack_bits<Word::kBits>(from, word.data);
    from += kData;
    unpack_bits<Word::kBytes>(from, word.keep);
    unpack_bits<Word::kBytes>(from + kKeep, word.strb);
    unpack_bits<(User != 0 ? User : 1)>(from + 2 * kKeep, word.user);
    unpack_bits<(Id != 0 ? Id : 1)>(from + 2 * kKeep + kUser, word.id);
    unpack_bits<(Dest != 0 ? Dest : 1)>(from + 2 * kKeep + kUser + 8, word.dest);
    unpack_bits<1>(from + 2 * kKeep + kUser + 16, word.last);
    return word;
  }
};

}  // namespace thalweg_hls
