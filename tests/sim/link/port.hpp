// SPDX-License-Identifier: Apache-2.0
// A router port at the end of a link, for tests.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

#include "link/flow.hpp"
#include "link/link_end.hpp"

namespace thalweg {

/// Throws std::logic_error with the text `otherwise` unless `right`.
inline void check(bool right, const std::string& otherwise) {
  if (!right) throw std::logic_error(otherwise);
}

/// A router's port as its link sees it: a word is granted if flow control and the link permit, and is in the output
/// register two cycles later. Arriving words are buffered and leave at random times. A word holds its index in its
/// channel, its channel, and the life of its port.
class Port {
 public:
  static constexpr unsigned kVcs = 3, kSlack = 2;

  Port(FlowControl flow, unsigned depth, unsigned margin) : flow_(flow), depth_(depth), margin_(margin) { begin(); }

  /// Starts another life: all flits and credits are discarded.
  void restart() {
    begin();
    ++life_;
    peer_life_.reset();
  }
  [[nodiscard]] std::uint64_t life() const { return life_; }
  /// Life of the other port whose words arrived in this life; nothing before the first word.
  [[nodiscard]] std::optional<std::uint64_t> peer_life() const { return peer_life_; }

  /// Before the clock edge: returns the word in the output register, or nullptr.
  template <class End>
  const LinkWord* output(const End& end, bool send, unsigned vc) {
    output_ = crossing_;
    crossing_ = granted_;
    granted_.reset();
    if (send && end.ready() && senders_[vc].ready()) {
      senders_[vc].send();
      granted_ = LinkWord{sent_[vc]++, vc, life_};
    }
    return output_ ? &*output_ : nullptr;
  }
  [[nodiscard]] std::uint32_t back() const { return back_; }

  /// The clock edge: takes the link's outputs, and one word leaves each channel in `leaving`.
  template <class End>
  void step(const End& end, std::uint32_t leaving) {
    if (const LinkWord* word = end.received()) {
      const auto vc = (*word)[1];
      check(vc < kVcs, "a word of no channel");
      check((*word)[2] == peer_life_.value_or((*word)[2]), "words of two lives of the other port");
      check((*word)[0] == arrived_[vc]++, "a word is missing or comes twice");
      peer_life_ = (*word)[2];
      check(!receivers_[vc].full(), "a word comes to a full buffer");
      receivers_[vc].push();
    }
    for (unsigned vc = 0; vc < kVcs; ++vc) {
      const bool credits = flow_ == FlowControl::credits;
      const std::uint32_t told = end.back();
      if ((credits ? told : told ^ reported_) >> vc & 1) senders_[vc].event();
      const bool leaves = (leaving >> vc & 1) && receivers_[vc].held() > 0;
      if (leaves) receivers_[vc].pop();
      const bool event = receivers_[vc].update(leaves);
      back_ = (credits ? back_ & ~(1u << vc) : back_) ^ std::uint32_t{event} << vc;
    }
    reported_ = end.back();
  }

  [[nodiscard]] std::uint64_t sent() const { return sent_[0] + sent_[1] + sent_[2]; }
  [[nodiscard]] std::uint64_t arrived() const { return arrived_[0] + arrived_[1] + arrived_[2]; }
  /// Number of credits that the sender has for the other side's buffer; takes them all.
  unsigned credits(unsigned vc) {
    unsigned count = 0;
    for (; senders_[vc].ready(); ++count) senders_[vc].send();
    return count;
  }

 private:
  void begin() {
    senders_.fill(FlowSender(flow_, depth_));
    receivers_.fill(FlowReceiver(flow_, depth_, margin_));
    granted_ = crossing_ = output_ = {};
    sent_ = arrived_ = {};
    back_ = reported_ = 0;
  }

  FlowControl flow_;
  unsigned depth_, margin_;
  std::uint64_t life_ = 0;
  std::optional<std::uint64_t> peer_life_;
  std::array<FlowSender, kVcs> senders_;
  std::array<FlowReceiver, kVcs> receivers_;
  std::optional<LinkWord> granted_, crossing_, output_;
  std::array<std::uint64_t, kVcs> sent_{}, arrived_{};
  std::uint32_t back_ = 0, reported_ = 0;
};

}  // namespace thalweg
