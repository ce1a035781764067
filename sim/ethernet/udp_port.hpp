// SPDX-License-Identifier: Apache-2.0
// A board's network port, word by word. C++ model of rtl/ethernet/tw_udp_port.sv.
#pragma once

#include <cstddef>
#include <optional>

#include "ethernet/answers.hpp"
#include "ethernet/frame_arbiter.hpp"
#include "ethernet/udp_receiver.hpp"
#include "ethernet/udp_sender.hpp"

namespace thalweg::ethernet {

class UdpPort {
 public:
  /// `send_words`: capacity for waiting frames; `ask_words`: words of the longest answer; `answer_words`: capacity for
  /// waiting answers. `frames` must outlive the object.
  UdpPort(const UdpEnd& own, std::size_t send_words, unsigned ask_words, std::size_t answer_words, Frames& frames)
      : sender_(own, send_words, frames), answers_(own, ask_words, answer_words, frames), receiver_(own) {}

  [[nodiscard]] bool ready() const { return sender_.ready(); }
  [[nodiscard]] bool valid() const { return arbiter_.valid(); }
  [[nodiscard]] const Word& front() const { return arbiter_.front(); }
  [[nodiscard]] const UdpReceiver::Shown& shown() const { return receiver_.shown(); }
  [[nodiscard]] const UdpReceiver::Counts& received() const { return receiver_.counts(); }
  [[nodiscard]] const Answers::Counts& answered() const { return answers_.counts(); }

  /// One clock edge. out: an offered word of a datagram or nullptr, taken if ready(). in: the MAC's word, or nullptr;
  /// pop: its ready.
  void step(const UdpSender::In* out, const UdpReceiver::In* in, bool pop) {
    const bool sends = arbiter_.ready(0), answers = arbiter_.ready(1);
    std::optional<Word> datagram, answer;
    if (sender_.valid()) datagram = sender_.front();
    if (answers_.valid()) answer = answers_.front();
    arbiter_.step({datagram ? &*datagram : nullptr, answer ? &*answer : nullptr}, pop);
    sender_.step(out, sends);
    const auto& shown = receiver_.shown();
    std::optional<Answers::In> asked;
    if (shown.ask) asked = {.bytes = shown.ask->bytes, .first = shown.ask->first};
    answers_.step(asked ? &*asked : nullptr, shown.ask_commits, shown.ask_drops, answers);
    receiver_.step(in);
  }

 private:
  UdpSender sender_;
  Answers answers_;
  UdpReceiver receiver_;
  FrameArbiter arbiter_{2};
};

}  // namespace thalweg::ethernet
