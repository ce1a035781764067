// SPDX-License-Identifier: Apache-2.0
// The arbitrary-precision types that the tests' kernels use, in place of the vendor's headers, which are not in every
// installation.
#pragma once
#include <array>
#include <cstdint>

template <int W>
class ap_uint;

template <int W>
class ap_range {
 public:
  ap_range(ap_uint<W>& of, int high, int low) : of_(of), high_(high), low_(low) {}
  ap_range& operator=(const ap_range& from) { return *this = from.to_uint64(); }
  template <int V>
  ap_range& operator=(const ap_uint<V>& from) {
    for (int bit = low_; bit <= high_; ++bit) of_.set(bit, bit - low_ < V && from.get(bit - low_));
    return *this;
  }
  ap_range& operator=(std::uint64_t from) {
    for (int bit = low_; bit <= high_; ++bit) of_.set(bit, bit - low_ < 64 && from >> (bit - low_) & 1);
    return *this;
  }
  operator std::uint64_t() const { return to_uint64(); }
  std::uint64_t to_uint64() const {
    std::uint64_t value = 0;
    for (int bit = low_; bit <= high_ && bit - low_ < 64; ++bit)
      value |= static_cast<std::uint64_t>(of_.get(bit)) << (bit - low_);
    return value;
  }

 private:
  ap_uint<W>& of_;
  int high_, low_;
};

template <int W>
class ap_uint {
 public:
  ap_uint() = default;
  ap_uint(long long value) {
    for (auto& word : words_) word = value < 0 ? ~std::uint64_t{0} : 0;
    words_[0] = static_cast<std::uint64_t>(value);
    trim();
  }
  ap_uint(unsigned long long value) : words_{value} { trim(); }
  ap_uint(unsigned long value) : words_{value} { trim(); }
  ap_uint(long value) : ap_uint(static_cast<long long>(value)) {}
  ap_uint(int value) : ap_uint(static_cast<long long>(value)) {}
  ap_uint(unsigned value) : words_{value} { trim(); }
  template <int V>
  ap_uint(const ap_uint<V>& from) {
    for (int bit = 0; bit < W && bit < V; ++bit) set(bit, from.get(bit));
  }
  template <int V>
  ap_uint(const ap_range<V>& from) : ap_uint(from.to_uint64()) {}

  bool get(int bit) const { return words_[bit / 64] >> (bit % 64) & 1; }
  void set(int bit, bool to) {
    const auto mask = std::uint64_t{1} << (bit % 64);
    words_[bit / 64] = to ? words_[bit / 64] | mask : words_[bit / 64] & ~mask;
  }
  ap_range<W> range(int high, int low) const { return {const_cast<ap_uint&>(*this), high, low}; }
  ap_range<W> operator()(int high, int low) const { return range(high, low); }
  std::uint64_t to_uint64() const { return words_[0]; }
  operator std::uint64_t() const { return words_[0]; }
  ap_uint operator~() const {
    ap_uint inverse;
    for (int bit = 0; bit < W; ++bit) inverse.set(bit, !get(bit));
    return inverse;
  }

 private:
  void trim() {
    if (W % 64) words_[W / 64] &= (std::uint64_t{1} << W % 64) - 1;
  }
  std::array<std::uint64_t, (W + 63) / 64> words_{};
};

template <int W>
class ap_int : public ap_uint<W> {
 public:
  using ap_uint<W>::ap_uint;
};
