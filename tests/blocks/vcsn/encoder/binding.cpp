// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bisim/bisim.hpp"
#include "blocks/random_port.hpp"
#include "blocks/vcsn/mac.hpp"
#include "blocks/vcsn/words.hpp"
#include "vcsn/encoder.hpp"

namespace {

using thalweg::Tick;
using top::Inputs, top::Outputs, top::Parameters;
namespace vcsn = thalweg::vcsn;
namespace ethernet = thalweg::ethernet;

constexpr unsigned kPorts = Parameters::Ports, kMost = Parameters::FrameWords;
constexpr ethernet::Address kAddress = 0x02'1234'5678'9A;

/// The MAC's line in a run, shared by twin and stimulus: its rate, and the number of other frames that occupy it after
/// each.
struct Mac {
  ethernet::Rate rate;
  unsigned others = 0;  ///< in 8 frames

  [[nodiscard]] unsigned taken_after(std::uint64_t frame) const {
    return (frame * 5 & 7) < others ? 1 + static_cast<unsigned>(frame % 3) : 0;
  }
};
Mac mac;
constexpr unsigned kOther = 300;  ///< bytes

/// Virtual ports that have a session in a run.
std::array<bool, kPorts> sequenced;

/// A session that sends each frame once, and sends a message from a given cycle on; its contents and headers are set
/// later.
struct Saying {
  ethernet::SessionFrame kind = ethernet::SessionFrame::acknowledgement;
  bool asks = false, knows = false;
  ethernet::Sequence sequence{};
  std::uint64_t received = 0;
};
class FakeSession {
 public:
  using Saying = ::Saying;

  FakeSession(unsigned port, const vcsn::SendBuffer& buffer) : port_(port), buffer_(&buffer) {}

  Tick says = thalweg::kNever;

  [[nodiscard]] bool used() const { return sequenced[port_]; }
  [[nodiscard]] static Tick acts_at() { return thalweg::kNever; }
  static void run(Tick) {}
  [[nodiscard]] Tick says_at(Tick) const { return says; }
  [[nodiscard]] Saying say(Tick) {
    says = thalweg::kNever;
    return {};
  }
  [[nodiscard]] std::optional<unsigned> next() const { return buffer_->empty() ? std::nullopt : std::optional(0U); }
  [[nodiscard]] static ethernet::Sequence sends(Tick) { return {}; }
  static void reads_until(Tick) {}

 private:
  unsigned port_;
  const vcsn::SendBuffer* buffer_;
};

/// The encoder with buffers that hold the frames offered in the module's cycles. Words arrive in the cycles in which
/// they are read, and are inserted into the encoder's frames there.
struct Twin {
  static constexpr Tick kBefore = 1 << 20;   ///< time in which words are put into buffers
  static constexpr unsigned kAll = 1 << 14;  ///< more words than arrive in a run, so that none waits

  thalweg::Domains domains;
  thalweg::Domain& domain = domains.add({1, 0});
  ethernet::Frames frames;
  vcsn::CircuitTable circuits{kPorts};
  std::deque<vcsn::SendBuffer> buffers;
  std::deque<FakeSession> sessions;
  vcsn::EncoderOf<FakeSession> encoder{domain, frames, kAddress, circuits, buffers, sessions};
  std::optional<ethernet::Line> line;

  struct Beat {
    Tick requested = 0, taken = 0;
    unsigned port = 0;
    bool reads = false, pops = false, last = false;
    std::shared_ptr<std::vector<std::byte>> frame{};
    std::size_t number = 0, data = 0;  ///< index in the frame; where words begin in it
  };
  std::deque<Beat> beats;                                ///< that have not been taken
  std::array<Tick, kPorts> popped{};                     ///< after it the next frame may be offered
  std::array<std::vector<Tick>, kPorts> left;            ///< when words left receive buffers
  std::array<std::size_t, kPorts> reports{};             ///< number of those that were reported
  std::optional<std::pair<unsigned, std::size_t>> sent;  ///< virtual port and words of the frame of the cycle before
  std::optional<unsigned> said;                          ///< or virtual port whose session sent a message
  std::optional<unsigned> reported;                      ///< or virtual port that it reports
  std::uint64_t frames_sent = 0;
  Tick now = 0;

  Twin() {
    for (unsigned i = 0; i < kPorts; ++i) {
      buffers.emplace_back(thalweg::Clock{1, 0}, thalweg::Clock{1, 0}, kAll, kMost, kAll).whole = [](Tick) {};
      sessions.emplace_back(i, buffers.back());
    }
    encoder.emptied = encoder.filled = [](unsigned) {};
    encoder.left_at = [this](unsigned port, std::uint64_t number) {
      return number < left[port].size() ? left[port][number] : thalweg::kNever;
    };
    encoder.moved = [this](Tick requested, Tick taken) {
      beats.push_back({.requested = requested - kBefore, .taken = taken - kBefore});
    };
  }

  void outputs(const Inputs&, Outputs& out) const {
    out = {};
    for (const Beat& beat : beats) {
      if (beat.requested != now || !beat.reads) continue;
      out.read_o.set_bit(beat.port, true);
      out.pop_o.set_bit(beat.port, beat.pops);
    }
    if (sent) {
      out.sent_valid_o.set_bit(sent->first, true);
      out.sent_words_o.set(sent->second, sent->first);
    }
    if (reported) out.reported_o.set_bit(*reported, true);
    if (said) out.said_o.set_bit(*said, true);
    if (beats.empty() || beats.front().requested + vcsn::Encoder::kToMac > now) return;
    const Beat& front = beats.front();
    blocks::WordData data{};
    const std::size_t from = front.number * vcsn::kWord,
                      bytes = std::min<std::size_t>(vcsn::kWord, front.frame->size() - from);
    std::memcpy(data.data(), front.frame->data() + from, bytes);
    out.tx_valid_o.set(true);
    out.tx_data_o.set(data);
    out.tx_keep_o.set(bytes == vcsn::kWord ? ~std::uint64_t{0} : (std::uint64_t{1} << bytes) - 1);
    out.tx_last_o.set(front.last);
  }

  void step(const Inputs& in) {
    if (!line) line.emplace(ethernet::Line::Config{.rate = mac.rate, .latency = 2 * mac.rate.cycle});
    encoder.line = &*line;
    for (Beat& beat : beats)
      if (beat.reads && beat.requested + 1 == now)
        std::memcpy(beat.frame->data() + beat.data + beat.number * vcsn::kWord, in.word_data_i.get(beat.port).data(),
                    vcsn::kWord);
    for (unsigned i = 0; i < kPorts; ++i)
      if (in.frame_valid_i.bit(i) && buffers[i].empty() && popped[i] < now + 1) offer(i, in);
    if (reported) {
      const std::uint64_t number = in.report_number_i.get(*reported);
      std::memcpy(beats.back().frame->data() + ethernet::kHeader + vcsn::kHeader, &number, sizeof number);
    }
    if (const auto port = said ? said : sent && sequenced[sent->first] ? std::optional(sent->first) : std::nullopt)
      session(*port, in);
    for (unsigned i = 0; i < kPorts; ++i) credits(i, in);
    for (unsigned i = 0; i < kPorts; ++i)
      if (sequenced[i] && in.says_valid_i.bit(i) && sessions[i].says == thalweg::kNever && said != i)
        sessions[i].says = now + kBefore + 1;
    sent.reset();
    reported.reset();
    said.reset();
    const auto before = beats.size();
    encoder.step(now + kBefore);
    if (beats.size() > before) frame(before);
    if (!beats.empty() && beats.front().taken == now) beats.pop_front();
    if (in.write_valid_i.get()) {
      const auto row = in.write_row_i.get();
      circuits.set(
          static_cast<unsigned>(in.write_port_i.get()),
          row.open ? std::optional<vcsn::Circuit>({row.address, static_cast<std::uint8_t>(row.port)}) : std::nullopt);
    }
    // For the monitor, frames ended two cycles ago; for the decoder, one.
    for (unsigned i = 0; i < kPorts; ++i)
      if (in.indicate_i.bit(i)) encoder.indicate(i, now + kBefore - 2);
    for (unsigned i = 0; i < kPorts; ++i)
      if (in.indicated_i.bit(i)) encoder.react(i, now + kBefore - 1);
    if (in.write_valid_i.get()) {
      const auto port = static_cast<unsigned>(in.write_port_i.get());
      encoder.forget(port);
      // Frames other than data are chosen one cycle ahead, with the row of that cycle.
      if (sessions[port].says != thalweg::kNever) sessions[port].says = now + kBefore + 2;
      if (left[port].size() > reports[port]) left[port].back() = now + kBefore + 2 - vcsn::Credits::kReports;
    }
    if (in.react_valid_i.get())
      encoder.set(static_cast<unsigned>(in.react_port_i.get()),
                  {.cycles = static_cast<Tick>(in.react_cycles_i.get()),
                   .stops = in.react_stops_i.get() != 0,
                   .pace = static_cast<std::uint32_t>(in.react_pace_i.get())},
                  now + kBefore + 1);
    if (in.set_valid_i.get())
      encoder.ports().set(static_cast<unsigned>(in.set_port_i.get()),
                          {.priority = static_cast<unsigned>(in.set_priority_i.get()),
                           .cycle = static_cast<std::uint32_t>(in.set_pace_i.get())});
    ++now;
  }

 private:
  void offer(unsigned port, const Inputs& in) {
    const auto words = static_cast<unsigned>(in.frame_words_i.get(port));
    for (unsigned k = 0; k < words; ++k)
      buffers[port].put(buffers[port].accepts(), {.first = k == 0 && in.frame_first_i.bit(port),
                                                  .last = k + 1 == words && in.frame_last_i.bit(port),
                                                  .channel = static_cast<std::uint8_t>(in.frame_channel_i.get(port))});
  }
  /// The headers and contents of a frame that was chosen in the cycle before.
  void session(unsigned port, const Inputs& in) {
    std::byte* at = beats.back().frame->data() + ethernet::kHeader;
    const auto of = in.sequence_i.get(port);
    const auto sequence = vcsn::spec::VcsnSequence{.session = static_cast<std::uint16_t>(of.session),
                                                   .peer = static_cast<std::uint16_t>(of.peer),
                                                   .number = static_cast<std::uint32_t>(of.number),
                                                   .base = static_cast<std::uint32_t>(of.base)}
                              .pack();
    std::memcpy(at + vcsn::kHeader, sequence.data(), vcsn::kSequence);
    if (!said) return;
    std::uint32_t word = 0;
    std::memcpy(&word, at, vcsn::kHeader);
    auto header = vcsn::spec::VcsnHeader::unpack(word);
    header.kind = static_cast<vcsn::spec::FrameKind>(in.says_kind_i.get(port));
    header.first = in.says_first_i.bit(port);
    header.last = in.says_last_i.bit(port);
    const auto packed = header.pack();
    std::memcpy(at, &packed, vcsn::kHeader);
    const std::uint64_t number = in.says_number_i.get(port);
    std::memcpy(at + vcsn::kHeader + vcsn::kSequence, &number, sizeof number);
  }
  /// A report is due if an unreported word has left; as many words are in flight as permitted while the port is held.
  void credits(unsigned port, const Inputs& in) {
    if (in.report_i.bit(port) && left[port].size() == reports[port] && reported != port)
      left[port].push_back(now + kBefore + 1 - vcsn::Credits::kReports);
    encoder.credits(port).set({.words = 1, .report = 1}, reports[port]);
    encoder.credits(port).sends(in.held_i.bit(port));
    encoder.wake(now + kBefore);
  }
  /// The frame that the encoder has just sent: its beats begin at `first`.
  void frame(std::size_t first) {
    const ethernet::Frame* made = nullptr;
    while (const auto* arrival = line->front(thalweg::kNever / mac.rate.cycle)) {
      kept = arrival->frame;
      line->pop();
    }
    made = &*kept;
    const auto bytes = std::make_shared<std::vector<std::byte>>(made->bytes().begin(), made->bytes().end());
    const auto header = vcsn::spec::VcsnHeader::unpack(word_at(*made));
    const auto words = beats.size() - first - 1;
    const bool data = header.kind == vcsn::spec::FrameKind::data;
    for (std::size_t k = 0; k <= words; ++k) {
      Beat& beat = beats[first + k];
      beat.port = header.source_port;
      beat.reads = data && k < words;
      beat.pops = data && k + 1 == words;
      beat.last = k == words;
      beat.frame = bytes;
      beat.data = ethernet::kHeader + vcsn::kHeader + (header.sequenced ? vcsn::kSequence : 0);
      beat.number = k;
      if (beat.pops) popped[beat.port] = beat.requested + 1;
    }
    if (data) sent.emplace(header.source_port, words);
    if (data && header.sequenced) buffers[header.source_port].release(beats.back().requested + kBefore);
    if (!data && header.sequenced) said = header.source_port;
    if (header.kind == vcsn::spec::FrameKind::credit) {
      reported = header.source_port;
      ++reports[header.source_port];
    }
    for (unsigned k = mac.taken_after(frames_sent++); k-- > 0;)
      line->send(line->free(), frames.make(0, 0, 0, kOther - ethernet::kHeader, [](std::span<std::byte>) {}));
  }
  [[nodiscard]] static std::uint64_t word_at(const ethernet::Frame& frame) {
    std::uint64_t word = 0;
    std::memcpy(&word, frame.payload().data(), vcsn::kHeader);
    return word;
  }
  ethernet::FrameRef kept;
};

/// Frames of buffers, which are never withdrawn, while circuits are written. The MAC accepts words at its line's pace.
/// Lanes: settings, rows, indications, frames of each port.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 3 + kPorts;

  explicit Stimulus(bisim::Dice run)
      : load_(run.pick(1000, 500, 50, 5)),
        short_(run.pick(0, 500, 1000)),
        sets_(run.pick(0, 2, 20)),
        writes_(run.pick(2, 20, 200)),
        open_(run.pick(1000, 900, 500)),
        fast_(run.pick(0, 5, 100, 500)),
        held_(run.pick(0, 100, 900)),
        reports_(run.pick(0, 5, 300)) {
    mac = {blocks::draw_rate(run), run.pick(0, 2, 8)};
    pace_.emplace(mac.rate);
    for (bool& each : sequenced) each = run.chance(300);
  }

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice settings = draws.lane(0), rows = draws.lane(1), indications = draws.lane(2);
    next.address_i.set(kAddress);
    take(seen, next);
    for (unsigned i = 0; i < kPorts; ++i) {
      bisim::Dice frames = draws.lane(3 + i);
      Frame& frame = frames_[i];
      next.word_valid_i.set_bit(i, std::exchange(frame.read, seen.read_o.bit(i)));
      if (next.word_valid_i.bit(i)) next.word_data_i.set(data(frames), i);
      if (frame.words == 0 && frames.chance(load_)) {
        frame.words = 1 + frames.below(frames.chance(short_) ? std::min(4U, kMost) : kMost);
        frame.last = frame.words < kMost || frames.chance(500);
        frame.first = frames.chance(500);
        frame.channel = frames.below(256);
      }
      next.frame_valid_i.set_bit(i, frame.words > 0);
      next.frame_words_i.set(frame.words, i);
      next.frame_single_i.set_bit(i, frame.words == 1);
      next.frame_first_i.set_bit(i, frame.first);
      next.frame_last_i.set_bit(i, frame.last);
      next.frame_channel_i.set(frame.channel, i);
      if (seen.pop_o.bit(i)) frame.words = 0;  // with its last word
    }
    if (rows.chance(writes_)) {
      next.write_valid_i.set(true);
      next.write_port_i.set(rows.below(kPorts));
      next.write_row_i.set({.open = rows.chance(open_),
                            .address = std::uint64_t{rows.bits()} << 16 | rows.below(1 << 16),
                            .port = rows.below(256)});
    }
    if (settings.chance(sets_)) {
      next.set_valid_i.set(true);
      next.set_port_i.set(settings.below(kPorts));
      next.set_priority_i.set(settings.below(settings.chance(500) ? 2 : 1U << Parameters::PriorityBits));
      next.set_pace_i.set(settings.below(settings.chance(300) ? 1024 : 1U << 12));
    }
    if (settings.chance(sets_)) {
      next.react_valid_i.set(true);
      next.react_port_i.set(settings.below(kPorts));
      next.react_cycles_i.set(settings.below(settings.chance(500) ? 8 : 1U << settings.below(13)));
      next.react_stops_i.set(settings.chance(500));
      next.react_pace_i.set(settings.below(1U << 12));
    }
    for (unsigned i = 0; i < kPorts; ++i) {
      next.indicate_i.set_bit(i, indications.chance(fast_));
      next.indicated_i.set_bit(i, indications.chance(fast_));
      next.held_i.set_bit(i, indications.chance(held_));
      if (std::exchange(reported_[i], seen.reported_o.bit(i)) || !report_[i]) report_[i] = indications.chance(reports_);
      next.report_i.set_bit(i, report_[i]);
      next.report_number_i.set(indications.bits(), i);
      if (std::exchange(said_[i], seen.said_o.bit(i)) || !says_[i])
        says_[i] = sequenced[i] && indications.chance(reports_);
      next.says_valid_i.set_bit(i, says_[i]);
      next.says_kind_i.set(3 + indications.below(2), i);
      next.says_first_i.set_bit(i, indications.chance(500));
      next.says_last_i.set_bit(i, indications.chance(500));
      next.says_number_i.set(std::uint64_t{indications.bits()} << 32 | indications.bits(), i);
      next.sequenced_i.set_bit(i, sequenced[i]);
      next.sequence_i.set({.session = indications.below(1 << 16),
                           .peer = indications.below(1 << 16),
                           .number = indications.bits(),
                           .base = indications.bits()},
                          i);
    }
    ++now_;
  }

 private:
  struct Frame {
    unsigned words = 0, channel = 0;  ///< no words: no frame
    bool first = false, last = false, read = false;
  };

  static blocks::WordData data(bisim::Dice& dice) {
    blocks::WordData words;
    for (auto& word : words) word = std::uint64_t{dice.bits()} << 32 | dice.bits();
    return words;
  }
  void take(const Outputs& seen, Inputs& next) {
    if (!seen.tx_valid_o.get() || !pace_->takes(now_)) return;
    next.tx_ready_i.set(true);
    if (!seen.tx_last_o.get()) return;
    pace_->ends(pace_->word() * vcsn::kWord + static_cast<unsigned>(std::popcount(std::uint64_t{seen.tx_keep_o.get()})),
                mac.taken_after(sent_++) * ethernet::wire_bytes(kOther));
  }

  unsigned load_, short_, sets_, writes_, open_, fast_, held_, reports_;
  std::array<bool, kPorts> report_{}, reported_{}, says_{}, said_{};
  std::array<Frame, kPorts> frames_{};
  Tick now_ = 0;
  std::optional<blocks::MacPace> pace_;
  std::uint64_t sent_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
