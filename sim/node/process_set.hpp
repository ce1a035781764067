// A set of processes, searched in the order of their numbers.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <utility>

namespace thalweg {

class ProcessSet {
 public:
  static constexpr std::uint32_t kSize = 64 * 64;

  [[nodiscard]] bool empty() const { return used_ == 0; }
  void add(std::uint32_t process) {
    words_[process / 64] |= bit(process % 64);
    used_ |= bit(process / 64);
  }
  void remove(std::uint32_t process) {
    words_[process / 64] &= ~bit(process % 64);
    if (words_[process / 64] == 0) used_ &= ~bit(process / 64);
  }
  void add(ProcessSet&& others) {
    for (std::uint64_t rest = std::exchange(others.used_, 0); rest; rest &= rest - 1) {
      const auto word = static_cast<std::size_t>(std::countr_zero(rest));
      words_[word] |= std::exchange(others.words_[word], 0);
      used_ |= bit(word);
    }
  }
  /// The first process from `from` on; kSize where there is none.
  [[nodiscard]] std::uint32_t next(std::uint32_t from) const {
    if (from >= kSize) return kSize;
    std::uint32_t word = from / 64;
    std::uint64_t bits = words_[word] >> from % 64 << from % 64;
    if (bits == 0) {
      const std::uint64_t later = word == 63 ? 0 : used_ >> (word + 1) << (word + 1);
      if (later == 0) return kSize;
      word = static_cast<std::uint32_t>(std::countr_zero(later));
      bits = words_[word];
    }
    return word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
  }

 private:
  static constexpr std::uint64_t bit(std::size_t index) { return std::uint64_t{1} << index; }

  std::array<std::uint64_t, 64> words_{};
  std::uint64_t used_ = 0;  ///< words that are not 0
};

}  // namespace thalweg
