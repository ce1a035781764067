// SPDX-License-Identifier: Apache-2.0
// Random windows, and random packets as words of a hub.
#pragma once

#include <algorithm>
#include <deque>
#include <vector>

#include "bisim/dice.hpp"
#include "bisim/ports.hpp"
#include "peach2/word.hpp"

namespace blocks {

using thalweg::Word;
using thalweg::peach2::HubWord, thalweg::peach2::Window;

/// The bits of tw_peach2_pkg::window_t.
inline constexpr unsigned kWindowBits = 1 + 3 + 3 * 27;

template <class Port>
void put_window(Port& port, const Window& window) {
  bisim::put_bits(port.words, 0, 27, window.upper);
  bisim::put_bits(port.words, 27, 27, window.lower);
  bisim::put_bits(port.words, 54, 27, window.mask);
  bisim::put_bits(port.words, 81, 3, window.to);
  bisim::put_bits(port.words, 84, 1, window.used);
}
template <class Port>
[[nodiscard]] Window get_window(const Port& port) {
  const auto part = [&](unsigned from) { return static_cast<std::uint32_t>(bisim::get_bits(port.words, from, 27)); };
  return {bisim::get_bits(port.words, 84, 1) != 0, static_cast<unsigned>(bisim::get_bits(port.words, 81, 3)), part(54),
          part(27), part(0)};
}

/// The bits of tw_peach2_pkg::note_t.
template <class Port>
[[nodiscard]] thalweg::peach2::Note get_note(const Port& port) {
  const auto part = [&](unsigned from, unsigned bits) { return bisim::get_bits(port.words, from, bits); };
  return {static_cast<unsigned>(part(47, 3)),
          part(46, 1) != 0,
          {static_cast<unsigned>(part(42, 4)), static_cast<unsigned>(part(39, 3))},
          part(0, 39)};
}

/// The hub's own GByte: one of the pages below.
inline constexpr unsigned kBase = 3 << 5;

/// A page from a small set, so that windows are hit, the page of the hub's registers, or an arbitrary one.
[[nodiscard]] inline std::uint32_t page(bisim::Dice& dice) {
  if (dice.chance(50)) return kBase << 18 | 0x38000;
  return dice.chance(800) ? dice.below(16) << 23 | dice.below(8) : static_cast<std::uint32_t>(dice.bits()) & 0x7FFFFFF;
}
[[nodiscard]] inline Window window(bisim::Dice& dice) {
  Window made;
  made.used = dice.chance(850);
  made.to = dice.below(8);
  made.mask = dice.chance(700)   ? 0x7FFFFFF
              : dice.chance(500) ? 0x7800000
                                 : static_cast<std::uint32_t>(dice.bits()) & 0x7FFFFFF;
  made.lower = page(dice) & made.mask;
  made.upper = page(dice) & made.mask;
  if (made.lower > made.upper && dice.chance(950)) std::swap(made.lower, made.upper);
  return made;
}

/// The words of a write of double words, of random data.
[[nodiscard]] inline std::vector<HubWord> write(std::uint64_t address, unsigned dwords, bisim::Dice& dice,
                                                unsigned first_enable = 15, unsigned last_enable = 15) {
  thalweg::spec::PcieMemoryWrite header;
  header.length = static_cast<std::uint16_t>(dwords % 1024);
  header.requester = static_cast<std::uint16_t>(dice.bits());
  header.tag = static_cast<std::uint8_t>(dice.chance(950) ? dice.below(16) : dice.below(256));  // cables
  header.first_enable = static_cast<std::uint8_t>(first_enable);
  header.last_enable = static_cast<std::uint8_t>(dwords == 1 ? 0 : last_enable);
  header.address = address / 4;
  std::vector<HubWord> words{{thalweg::peach2::word(header.pack()), false}};
  const unsigned lines = thalweg::peach2::lines(static_cast<unsigned>(address / 4), dwords);
  for (unsigned i = 0; i < lines; ++i) words.push_back({{dice.bits(), dice.bits(), dice.bits(), dice.bits()}, false});
  words.back().last = true;
  return words;
}
[[nodiscard]] inline HubWord read(std::uint64_t address, unsigned dwords, unsigned requester, unsigned tag,
                                  unsigned first_enable = 15, unsigned last_enable = 15) {
  thalweg::spec::PcieMemoryRead header;
  header.length = static_cast<std::uint16_t>(dwords % 1024);
  header.requester = static_cast<std::uint16_t>(requester);
  header.tag = static_cast<std::uint8_t>(tag);
  header.first_enable = static_cast<std::uint8_t>(first_enable);
  header.last_enable = static_cast<std::uint8_t>(dwords == 1 ? 0 : last_enable);
  header.address = address / 4;
  return {thalweg::peach2::word(header.pack()), true};
}
/// A completion, after which `later` double words of its read are outstanding.
[[nodiscard]] inline std::vector<HubWord> completion(std::uint64_t address, unsigned dwords, unsigned requester,
                                                     unsigned tag, bisim::Dice& dice, unsigned later = 0) {
  thalweg::spec::PcieCompletion header;
  header.length = static_cast<std::uint16_t>(dwords);
  header.byte_count = static_cast<std::uint16_t>(4 * (dwords + later));
  header.requester = static_cast<std::uint16_t>(requester);
  header.tag = static_cast<std::uint8_t>(tag);
  header.lower_address = static_cast<std::uint8_t>(address & 127);
  std::vector<HubWord> words{{thalweg::peach2::word(header.pack()), false}};
  const unsigned lines = thalweg::peach2::lines(static_cast<unsigned>(address / 4), dwords);
  for (unsigned i = 0; i < lines; ++i) words.push_back({{dice.bits(), dice.bits(), dice.bits(), dice.bits()}, false});
  words.back().last = true;
  return words;
}

/// A completion without data, with any status.
[[nodiscard]] inline HubWord failure(unsigned requester, unsigned tag, bisim::Dice& dice) {
  thalweg::spec::PcieCompletionWithoutData header;
  header.status = static_cast<std::uint8_t>(dice.chance(700) ? 1 : dice.below(8));
  header.byte_count = 4;
  header.requester = static_cast<std::uint16_t>(requester);
  header.tag = static_cast<std::uint8_t>(tag);
  return {thalweg::peach2::word(header.pack()), true};
}
/// Double words of a read's next completion: all that are left, or up to a multiple of 64 bytes.
[[nodiscard]] inline unsigned part(std::uint64_t address, unsigned left, bisim::Dice& dice) {
  const auto first = static_cast<unsigned>(16 - address / 4 % 16);
  return left <= first || dice.chance(600) ? left : first + 16 * dice.below((left - first - 1) / 16 + 1);
}

/// A random packet that may arrive by a link; most are valid.
[[nodiscard]] inline std::vector<HubWord> packet(bisim::Dice& dice, unsigned own) {
  std::uint64_t address = std::uint64_t{page(dice)} << 12 | (dice.below(1024) * 4);
  const unsigned dwords = dice.chance(300) ? 1 : dice.chance(300) ? 64 : 1 + dice.below(64);
  if (dice.chance(850)) address = std::min(address, (address | 4095) + 1 - 4 * dwords);  // within its page
  const unsigned requester = dice.chance(500) ? own : dice.below(4);
  if (address >> 12 == (std::uint64_t{kBase} << 18 | 0x38000) && dice.chance(500))  // around the register of starts
    return write((address & ~std::uint64_t{4095}) + 0x400 - 8 + 4 * dice.below(8), 1 + dice.below(6), dice);
  if (dice.chance(20)) {  // invalid lengths, and addresses outside
    auto words = dice.chance(500) ? write(address, 65 + dice.below(100), dice)
                                  : write(address | std::uint64_t{1} << (39 + dice.below(25)), dwords, dice);
    if (dice.chance(300)) words[0].data[0] ^= 1U << dice.below(8);
    return words;
  }
  if (dice.chance(100)) return {read(address, dwords, requester, dice.below(256), dice.below(16), dice.below(16))};
  if (dice.chance(10)) return {failure(requester, dice.below(256), dice)};
  if (dice.chance(150)) return completion(address, dwords, requester, dice.below(256), dice);
  return write(address, dwords, dice, dice.below(16), dice.below(16));
}

/// Sends packets word by word into a valid/ready port; a word is repeated until it is accepted.
class PacketSource {
 public:
  explicit PacketSource(unsigned load) : load_(load) {}

  [[nodiscard]] bool empty() const { return words_.empty(); }
  void add(const std::vector<HubWord>& packet) { words_.insert(words_.end(), packet.begin(), packet.end()); }
  /// The word shown in this cycle, or null.
  [[nodiscard]] const HubWord* show(bisim::Dice& dice) {
    shown_ = !words_.empty() && (shown_ || dice.chance(load_));
    return shown_ ? &words_.front() : nullptr;
  }
  void taken() {
    words_.pop_front();
    shown_ = false;
  }

 private:
  unsigned load_;
  bool shown_ = false;
  std::deque<HubWord> words_;
};

/// The word that leaves by a port of valid, data and last, or null.
template <class Outputs>
void put_word(Outputs& out, const HubWord* word) {
  out.out_valid_o.set(word != nullptr);
  if (!word) return;
  out.out_data_o.set(word->data);
  out.out_last_o.set(word->last);
}
template <class Inputs>
[[nodiscard]] HubWord get_word(const Inputs& in) {
  return {in.in_data_i.get(), in.in_last_i.get() != 0};
}
/// Shows a source's word of this cycle; returns the word that was accepted, or null.
template <class Inputs>
const HubWord* offer(PacketSource& source, bisim::Dice& dice, bool ready, Inputs& next) {
  const auto* word = source.show(dice);
  if (!word) return nullptr;
  next.in_valid_i.set(true);
  next.in_data_i.set(word->data);
  next.in_last_i.set(word->last);
  return ready ? word : nullptr;
}

}  // namespace blocks
