// SPDX-License-Identifier: Apache-2.0
// Encodes words and acknowledgements of a replay, and flow control of a router's port, as one frame per cycle, and
// decodes them. C++ model of rtl/link/tw_replay_codec.sv; docs/links.md describes the layout.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <stdexcept>

#include "common/bits.hpp"
#include "common/crc32.hpp"
#include "link/flow.hpp"
#include "link/replay.hpp"
#include "link/session.hpp"

namespace thalweg {

/// Payload of a frame: a flit and its sideband, or any other word of at most 320 bits.
using LinkWord = std::array<std::uint64_t, 5>;
/// A frame on the wire, bit 0 first.
using WireFrame = std::array<std::uint64_t, 6>;

struct FrameFormat {
  static constexpr unsigned kCheckBits = 32;

  unsigned word_bits = 262;
  unsigned sequence_bits = 9;  ///< log2 of the replay's window, plus 1
  unsigned vcs = 4;            ///< 1 to 16
  FlowControl flow = FlowControl::credits;
  unsigned count_bits = 4;  ///< with credits: 2^count_bits exceeds a buffer's flits

  [[nodiscard]] constexpr unsigned vc_bits() const {
    return vcs > 1 ? static_cast<unsigned>(std::bit_width(vcs - 1)) : 1;
  }
  [[nodiscard]] constexpr unsigned flow_bits() const {
    return flow == FlowControl::credits ? vc_bits() + count_bits : vcs;
  }
  [[nodiscard]] constexpr unsigned control_bits() const {
    return 2 * sequence_bits + 3 + SessionFields::kBits + flow_bits();
  }
  [[nodiscard]] constexpr unsigned body_bits() const { return word_bits + control_bits(); }
  [[nodiscard]] constexpr unsigned frame_bits() const { return body_bits() + kCheckBits; }
};

class ReplayCodec {
 public:
  static constexpr unsigned kMaxVcs = 16;

  explicit ReplayCodec(const FrameFormat& format)
      : format_(format), back_(format.flow == FlowControl::credits ? 0 : all()) {
    if (format.vcs < 1 || format.vcs > kMaxVcs) throw std::invalid_argument("a codec has 1 to 16 virtual channels");
    if (format.word_bits > 64 * std::tuple_size_v<LinkWord> || format.control_bits() > 64 ||
        format.frame_bits() > 64 * std::tuple_size_v<WireFrame>)
      throw std::invalid_argument("a frame has at most 384 bits, 320 of a word and 64 of control");
  }

  /// The frame on the wire, or nullptr before the first.
  [[nodiscard]] const WireFrame* wire() const { return out_ ? &*out_ : nullptr; }
  /// The good frame received, or nullptr; it may belong to another session.
  [[nodiscard]] const ReplayFrame<LinkWord>* peer() const { return peer_ ? &*peer_ : nullptr; }
  /// Session fields of the good frame received.
  [[nodiscard]] const SessionFields& peer_session() const { return peer_session_; }
  /// To the own output port, one bit per virtual channel: one more credit, or its stop level.
  [[nodiscard]] std::uint32_t back() const { return back_; }

  /// True if all credits returned by the other end's port were delivered to the own one.
  [[nodiscard]] bool settled(const ReplayCodec& other) const { return given_ == other.returned_; }
  /// Accounts for `frames` frames that were not stepped because they carried nothing new.
  void skip(Tick frames) { turn_ = static_cast<unsigned>((turn_ + frames) % format_.vcs); }

  /// One clock edge. next: the replay's next frame. session: of this end. flush: it was lost, and flow control
  /// restarts. back: from the own input port, as in back(). taken: the wire takes a frame. arrived: the frame received
  /// from the wire, or nullptr.
  void step(const ReplayFrame<LinkWord>& next, const SessionFields& session, bool flush, std::uint32_t back, bool taken,
            const WireFrame* arrived) {
    if (taken) out_ = pack(next, session, back);
    take_apart(session);
    if (format_.flow == FlowControl::credits)
      each_bit(back, [&](unsigned vc) { returned_[vc] = counted(returned_[vc] + 1); });
    if (flush && format_.flow == FlowControl::credits) {
      returned_ = granted_ = given_ = {};
      back_ = 0;
    }
    in_.reset();
    if (arrived) in_ = *arrived;
  }

 private:
  [[nodiscard]] std::uint32_t all() const { return (1u << format_.vcs) - 1; }
  [[nodiscard]] std::uint32_t counted(std::uint32_t count) const { return count & ((1u << format_.count_bits) - 1); }

  [[nodiscard]] WireFrame pack(const ReplayFrame<LinkWord>& next, const SessionFields& session, std::uint32_t back) {
    std::uint64_t flow = back;
    if (format_.flow == FlowControl::credits) {
      flow = std::uint64_t{returned_[turn_]} << format_.vc_bits() | turn_;
      turn_ = turn_ + 1 == format_.vcs ? 0 : turn_ + 1;
    }
    WireFrame frame{};
    std::ranges::copy(next.word, frame.begin());
    const unsigned n = format_.sequence_bits;
    put_bits(frame, format_.word_bits,
             std::uint64_t{next.carries} | std::uint64_t{next.sequence} << 1 | std::uint64_t{next.epoch} << (n + 1) |
                 std::uint64_t{next.expected} << (n + 2) | std::uint64_t{next.request} << (2 * n + 2) |
                 session.bits() << (2 * n + 3) | flow << (2 * n + 3 + SessionFields::kBits));
    put_bits(frame, format_.body_bits(), crc32(frame, format_.body_bits()));
    return frame;
  }

  void take_apart(const SessionFields& session) {
    const bool credits = format_.flow == FlowControl::credits;
    back_ = credits ? 0 : all();
    for (unsigned vc = 0; credits && vc < format_.vcs; ++vc) {
      if (granted_[vc] == given_[vc]) continue;
      given_[vc] = counted(given_[vc] + 1);
      back_ |= 1u << vc;
    }
    peer_.reset();
    const unsigned body = format_.body_bits();
    if (!in_ || crc32(*in_, body) != get_bits(*in_, body, FrameFormat::kCheckBits)) return;
    const std::uint64_t control = get_bits(*in_, format_.word_bits, format_.control_bits());
    const unsigned n = format_.sequence_bits;
    const auto number = [&](unsigned from) {
      return static_cast<std::uint16_t>(control >> from & ((std::uint64_t{1} << n) - 1));
    };
    peer_.emplace();
    peer_->carries = control & 1;
    peer_->sequence = number(1);
    peer_->epoch = control >> (n + 1) & 1;
    peer_->expected = number(n + 2);
    peer_->request = control >> (2 * n + 2) & 1;
    std::copy_n(in_->begin(), peer_->word.size(), peer_->word.begin());
    if (const unsigned whole = format_.word_bits / 64; whole < peer_->word.size()) {
      peer_->word[whole] &= (std::uint64_t{1} << format_.word_bits % 64) - 1;
      std::fill(peer_->word.begin() + whole + 1, peer_->word.end(), 0);
    }
    peer_session_ = SessionFields::of(control >> (2 * n + 3));
    if (!session.up || !same_session(session, peer_session_)) return;
    const auto flow = static_cast<std::uint32_t>(control >> (2 * n + 3 + SessionFields::kBits));
    if (!credits) {
      back_ = flow;
    } else if (const unsigned vc = flow & ((1u << format_.vc_bits()) - 1); vc < format_.vcs) {
      granted_[vc] = flow >> format_.vc_bits();
    }
  }

  FrameFormat format_;
  std::optional<WireFrame> out_, in_;
  std::optional<ReplayFrame<LinkWord>> peer_;
  SessionFields peer_session_;
  std::uint32_t back_;
  unsigned turn_ = 0;  ///< virtual channel whose credits the next frame carries
  /// Credits since the start of the session, modulo 2^count_bits: returned here, received from the other end, and
  /// delivered of these.
  std::array<std::uint32_t, kMaxVcs> returned_{}, granted_{}, given_{};
};

}  // namespace thalweg
