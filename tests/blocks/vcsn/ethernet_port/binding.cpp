// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bisim/bisim.hpp"
#include "blocks/clocks.hpp"
#include "blocks/random_port.hpp"
#include "blocks/vcsn/mac.hpp"
#include "blocks/vcsn/words.hpp"
#include "vcsn/ethernet_port.hpp"

namespace {

using bisim::Clocks, bisim::Instant, blocks::clock, blocks::cycle;
using thalweg::Tick;
using top::Inputs, top::Outputs, top::Parameters;
namespace vcsn = thalweg::vcsn;
namespace ethernet = thalweg::ethernet;

constexpr unsigned kShell = 0, kMac = 1;
constexpr unsigned kPorts = Parameters::Ports;
constexpr unsigned kNode = 3, kNumber = 1;

/// The line of a run, which leads back to its port; shared by twin and stimulus.
struct Way {
  ethernet::Rate rate;
  Tick latency = 0;  ///< cycles of the line
  Tick macs = 0;     ///< cycles of the MACs
  double lost = 0;   ///< share of frames
  double cut = 0;    ///< share of frames that are followed by a copy without the last word
};
constexpr std::uint64_t kSeed = 1;  ///< of losses and cut copies
Way way;

[[nodiscard]] thalweg::Trials draw_cuts() {
  return {way.cut, thalweg::mix(kSeed) + 5};
}

/// In the order of outcome_t from its last one on.
constexpr std::array kOutcomes{&vcsn::Received::sessionless, &vcsn::Received::full,     &vcsn::Received::credits,
                               &vcsn::Received::indications, &vcsn::Received::unformed, &vcsn::Received::foreign,
                               &vcsn::Received::others,      &vcsn::Received::strays,   &vcsn::Received::damaged,
                               &vcsn::Received::taken,       &vcsn::Received::sequenced};

struct Twin {
  struct State {
    thalweg::Domains domains;
    thalweg::Domain &shell, &mac;
    ethernet::Frames frames;
    ethernet::Line line;
    thalweg::Trials cuts = draw_cuts();
    vcsn::EthernetPort port;

    explicit State(const Clocks& clocks)
        : shell(domains.add(clock(clocks, kShell))),
          mac(domains.add(clock(clocks, kMac))),
          line({.rate = way.rate,
                .latency = way.latency * way.rate.cycle,
                .faults = {.frames_lost = way.lost},
                .seed = kSeed}),
          port({.virtual_ports = kPorts,
                .send_words = Parameters::SendWords,
                .receive_words = Parameters::ReceiveWords,
                .frame_words = Parameters::FrameWords,
                .frames = Parameters::Frames,
                .session = {.window =
                                std::bit_floor(std::min<unsigned>({vcsn::kMostWindow, Parameters::Frames,
                                                                   Parameters::ReceiveWords / Parameters::FrameWords})),
                            .resend = Parameters::Resend,
                            .reorder = Parameters::Reorder,
                            .tries = Parameters::Tries},
                .line_cycles = way.macs},
               kNode, kNumber, shell, mac, frames) {}
  };
  struct Beat {
    Tick requested = 0, taken = 0;
    blocks::WordData data{};
    unsigned bytes = 0;
    bool last = false;
  };

  Clocks clocks;
  std::unique_ptr<State> state;            ///< from the first step on, when the run's line is known
  std::deque<Beat> beats;                  ///< that have not been taken
  std::size_t made = 0;                    ///< number of those that belong to frames before the current one
  std::array<vcsn::Received, 3> received;  ///< in this cycle and those before
  std::optional<std::pair<unsigned, std::optional<vcsn::Circuit>>> written;
  std::optional<std::pair<unsigned, vcsn::CreditsConfig>> credits;  ///< that are set
  std::optional<std::pair<unsigned, std::uint16_t>> opened;

  explicit Twin(const Clocks& all) : clocks(all) {}

  void outputs(const Inputs&, const Instant& now, Outputs& out) const {
    out = {};
    if (!state) {
      for (unsigned i = 0; i < kPorts; ++i) out.shell_in_ready_o.set_bit(i, true);
      return;
    }
    const Tick shell = cycle(now, kShell), mac = cycle(now, kMac);
    for (unsigned i = 0; i < kPorts; ++i) {
      out.shell_in_ready_o.set_bit(i, state->port.sink(i).accepts() <= shell);
      const vcsn::Source& source = state->port.source(i);
      if (source.offers() > shell) continue;
      out.shell_out_valid_o.set_bit(i, true);
      out.shell_out_data_o.set(blocks::data_of(source.front()), i);
      out.shell_out_first_o.set_bit(i, source.front().first);
      out.shell_out_last_o.set_bit(i, source.front().last);
      out.shell_out_channel_o.set(source.front().channel, i);
    }
    for (unsigned i = 0; i < kPorts; ++i) {
      const unsigned shown = bits(state->port.session(i).state());
      out.mac_session_o.set({.closing = shown >> 4,
                             .opening = shown >> 3 & 1U,
                             .open = shown >> 2 & 1U,
                             .refused = shown >> 1 & 1U,
                             .silent = shown & 1U},
                            i);
    }
    for (unsigned i = 0; i < kOutcomes.size(); ++i)
      out.mac_counts_o.set(received[2].*kOutcomes[i] & ((std::uint64_t{1} << Parameters::CountBits) - 1), i);
    if (beats.empty() || beats.front().requested + vcsn::Encoder::kToMac > mac) return;
    const Beat& front = beats.front();
    out.mac_tx_valid_o.set(true);
    out.mac_tx_data_o.set(front.data);
    out.mac_tx_keep_o.set(front.bytes == vcsn::kWord ? ~std::uint64_t{0} : (std::uint64_t{1} << front.bytes) - 1);
    out.mac_tx_last_o.set(front.last);
  }

  void step(const Inputs& in, const Instant& now) {
    if (!state) start();
    vcsn::EthernetPort& port = state->port;
    if (now.edge(kShell)) {
      const Tick at = cycle(now, kShell);
      for (unsigned i = 0; i < kPorts; ++i) {
        if (in.shell_out_ready_i.bit(i) && port.source(i).offers() <= at) port.source(i).take(at);
        if (in.shell_in_valid_i.bit(i) && port.sink(i).accepts() <= at)
          port.sink(i).put(at, blocks::word_of(in.shell_in_data_i.get(i), in.shell_in_first_i.bit(i),
                                               in.shell_in_last_i.bit(i), in.shell_in_channel_i.get(i)));
      }
    }
    if (!now.edge(kMac)) return;
    const Tick at = cycle(now, kMac);
    made = beats.size();
    port.encoder.step(at);
    if (!beats.empty() && beats.front().taken == at) beats.pop_front();
    port.decoder.step(at);
    received[2] = received[1];
    received[1] = received[0];
    received[0] = port.decoder.received();
    if (written) {
      port.write_row(written->first, written->second, at + 1);
      port.set_credits(written->first, {}, at + 1);
    }
    if (opened) {
      port.open_session(opened->first, opened->second, at + 1);
      port.set_credits(opened->first, {}, at + 1);
    }
    written.reset();
    opened.reset();
    if (in.mac_open_valid_i.get())
      opened.emplace(static_cast<unsigned>(in.mac_open_port_i.get()),
                     static_cast<std::uint16_t>(in.mac_open_number_i.get()));
    if (credits) port.set_credits(credits->first, credits->second, at + 1);
    credits.reset();
    if (in.mac_credits_valid_i.get())
      credits.emplace(static_cast<unsigned>(in.mac_credits_port_i.get()),
                      vcsn::CreditsConfig{.words = static_cast<unsigned>(in.mac_credits_words_i.get()),
                                          .report = static_cast<unsigned>(in.mac_credits_report_i.get())});
    port.run_sessions(at + 1);
    if (in.mac_write_valid_i.get()) {
      const auto row = in.mac_write_row_i.get();
      written.emplace(
          static_cast<unsigned>(in.mac_write_port_i.get()),
          row.open ? std::optional<vcsn::Circuit>({row.address, static_cast<std::uint8_t>(row.port)}) : std::nullopt);
    }
    if (in.mac_react_valid_i.get())
      port.encoder.set(static_cast<unsigned>(in.mac_react_port_i.get()),
                       {.cycles = static_cast<Tick>(in.mac_react_cycles_i.get()),
                        .stops = in.mac_react_stops_i.get() != 0,
                        .pace = static_cast<std::uint32_t>(in.mac_react_pace_i.get())},
                       at + 1);
    if (in.mac_monitor_valid_i.get())
      port.decoder.monitor.set(
          {.cycles = static_cast<Tick>(in.mac_monitor_cycles_i.get()), .words = in.mac_monitor_words_i.get()}, at + 2);
    if (in.mac_set_valid_i.get())
      port.encoder.ports().set(static_cast<unsigned>(in.mac_set_port_i.get()),
                               {.priority = static_cast<unsigned>(in.mac_set_priority_i.get()),
                                .cycle = static_cast<std::uint32_t>(in.mac_set_pace_i.get())});
  }

 private:
  void start() {
    state = std::make_unique<State>(clocks);
    vcsn::EthernetPort& port = state->port;
    port.emptied = port.filled = [](unsigned) {};
    auto& end = dynamic_cast<ethernet::Port&>(port.end());
    end.out = end.in = &state->line;
    port.start();
    port.encoder.moved = [this](Tick requested, Tick taken) {
      beats.push_back({.requested = requested, .taken = taken});
    };
    port.encoder.sent = [this](Tick, const ethernet::Frame& frame) {
      const auto bytes = frame.bytes();
      for (std::size_t k = made; k < beats.size(); ++k) {
        const auto word = bytes.subspan((k - made) * vcsn::kWord);
        beats[k].bytes = static_cast<unsigned>(std::min<std::size_t>(word.size(), vcsn::kWord));
        beats[k].last = k + 1 == beats.size();
        std::memcpy(beats[k].data.data(), word.data(), beats[k].bytes);
      }
      if (state->cuts.next())
        state->line.send(0, state->frames.copy(bytes.first((bytes.size() - 1) / vcsn::kWord * vcsn::kWord)));
    };
  }
};

/// Packets of each virtual port, while circuits between them, and with missing ports, are written. Lanes: settings,
/// rows, words and readiness of each port.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 2 + 2 * kPorts;

  explicit Stimulus(bisim::Dice run)
      : load_(run.pick(1000, 500, 100)),
        ends_(run.pick(10, 100, 500, 1000)),
        takes_(run.pick(1000, 900, 300, 20)),
        sets_(run.pick(0, 2, 20)),
        writes_(run.pick(5, 50, 1)),
        credits_(run.pick(0, 2, 20)),
        opens_(run.pick(0, 1, 1, 20)),
        reopens_(opens_),
        losses_(0, 0),
        cuts_(0, 0),
        pace_(draw(run)) {
    if (opens_ > 0) {  // circuits persist, and most have sessions from the start
      way.lost = run.pick(0, 20, 200) / 1000.;
      if (run.chance(800)) writes_ = 0;
      if (run.chance(500)) {
        // Sessions begin and end often, between frames without a session and while the line is idle.
        starts_ = false;
        writes_ = 0;
        takes_ = std::max(takes_, 300U);
        ended_ = 700;
        calms_ = 20;
        reopens_ = run.pick(20, 50);
      } else if (run.chance(500)) {  // one end is gone, which the other one must detect
        closes_ = 2000 + run.below(3000);
        writes_ = reopens_ = 0;
      }
      losses_ = thalweg::Trials(way.lost, thalweg::mix(kSeed) + 2);
    } else {
      way.lost = 0;
    }
    way.cut = (starts_ ? run.pick(0, 20, 300) : 600) / 1000.;
    cuts_ = draw_cuts();
  }

  void drive(const Outputs& seen, const Instant& now, const bisim::Draws& draws, Inputs& next) {
    next.mac_address_i.set(vcsn::address_of(kNode, kNumber));
    if (now.edge(kShell)) shell(seen, draws, next);
    if (now.edge(kMac)) mac(seen, cycle(now, kMac), draws, next);
  }

 private:
  struct Word {
    Tick at = 0;
    blocks::WordData data{};
    std::uint64_t keep = 0;
    bool last = false;
  };
  struct Port {
    bool waiting = false, first = true;
  };

  static ethernet::Rate draw(bisim::Dice& run) {
    way = {blocks::draw_rate(run), 1 + static_cast<Tick>(run.below(40)), static_cast<Tick>(run.below(40))};
    // At 64 bytes per cycle a frame's first word may arrive with the last one of the previous frame.
    if (way.rate.bytes(vcsn::kWord) == way.rate.cycle) way.rate = {};
    return way.rate;
  }

  void shell(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    for (unsigned i = 0; i < kPorts; ++i) {
      bisim::Dice words = draws.lane(2 + 2 * i), ready = draws.lane(3 + 2 * i);
      Port& port = ports_[i];
      if (!port.waiting && !is_calm_ && words.chance(load_)) {
        port.waiting = true;
        blocks::WordData data;
        for (auto& word : data) word = std::uint64_t{words.bits()} << 32 | words.bits();
        next.shell_in_data_i.set(data, i);
        const bool last = words.chance(ends_);
        if (port.first) next.shell_in_channel_i.set(words.below(256), i);
        next.shell_in_first_i.set_bit(i, std::exchange(port.first, last));
        next.shell_in_last_i.set_bit(i, last);
      }
      next.shell_in_valid_i.set_bit(i, port.waiting);
      if (seen.shell_in_ready_o.bit(i)) port.waiting = false;
      next.shell_out_ready_i.set_bit(i, ready.chance(takes_));
    }
  }
  void mac(const Outputs& seen, Tick at, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice settings = draws.lane(0), rows = draws.lane(1);
    if (settings.chance(calms_)) is_calm_ = !is_calm_;
    next.mac_tx_ready_i.set(seen.mac_tx_valid_o.get() && pace_.takes(at));
    if (next.mac_tx_ready_i.get()) carry(seen);
    const bool comes = !coming_.empty() && coming_.front().at == at;
    next.mac_rx_valid_i.set(comes);
    if (comes) {
      next.mac_rx_data_i.set(coming_.front().data);
      next.mac_rx_keep_i.set(coming_.front().keep);
      next.mac_rx_last_i.set(coming_.front().last);
      coming_.pop_front();
    }
    next.mac_write_valid_i.set(rows.chance(writes_));
    next.mac_write_port_i.set(rows.below(kPorts));
    next.mac_write_row_i.set({.open = rows.chance(950),
                              .address = vcsn::address_of(kNode, rows.chance(950) ? kNumber : 0),
                              .port = rows.below(rows.chance(950) ? kPorts : 256)});
    // Virtual ports in pairs, one after the other, and their sessions.
    const auto first = static_cast<unsigned>(at);
    if (opens_ > 0 && first < kPorts) {
      next.mac_write_valid_i.set(true);
      next.mac_write_port_i.set(first);
      next.mac_write_row_i.set(
          {.open = true, .address = vcsn::address_of(kNode, kNumber), .port = std::min(first ^ 1U, kPorts - 1)});
    }
    if (closes_ > 0 && first == closes_) {
      next.mac_write_valid_i.set(true);
      next.mac_write_port_i.set(0);
      next.mac_write_row_i.set({});
    }
    const bool begins = first >= kPorts && first < 2 * kPorts;
    const bool opens = begins || ((first > 2000 || !starts_) && rows.chance(reopens_));
    next.mac_open_valid_i.set(opens_ > 0 && opens && !next.mac_write_valid_i.get());
    next.mac_open_port_i.set(begins ? first - kPorts : rows.below(kPorts));
    next.mac_open_number_i.set((begins ? starts_ : !rows.chance(ended_)) ? 1 + rows.below(rows.chance(900) ? 65535 : 3)
                                                                         : 0);
    next.mac_set_valid_i.set(settings.chance(sets_));
    next.mac_set_port_i.set(settings.below(kPorts));
    next.mac_set_priority_i.set(settings.below(1U << Parameters::PriorityBits));
    next.mac_set_pace_i.set(settings.below(1024));
    const bool credits = settings.chance(800);
    next.mac_credits_valid_i.set(settings.chance(credits_));
    next.mac_credits_port_i.set(settings.below(kPorts));
    next.mac_credits_words_i.set(credits ? 1 + settings.below(Parameters::ReceiveWords) : 0);
    next.mac_credits_report_i.set(credits ? 1 + settings.below(settings.chance(500) ? 4 : Parameters::ReceiveWords)
                                          : 0);
    next.mac_react_valid_i.set(settings.chance(sets_));
    next.mac_react_port_i.set(settings.below(kPorts));
    next.mac_react_cycles_i.set(settings.below(1U << settings.below(10)));
    next.mac_react_stops_i.set(settings.chance(500));
    next.mac_react_pace_i.set(settings.below(2048));
    next.mac_monitor_valid_i.set(settings.chance(sets_));
    next.mac_monitor_cycles_i.set(settings.below(1U << settings.below(11)));
    next.mac_monitor_words_i.set(settings.below(1U << (1 + settings.below(9))));
  }
  /// A word that the MAC takes returns when all of it has been on the line; the last one with its FCS. Its copy
  /// follows.
  void carry(const Outputs& seen) {
    const auto& rate = way.rate;
    const ethernet::Units begin = pace_.begin() + way.latency * rate.cycle;
    const auto there = [&](unsigned bytes) { return rate.seen(begin + rate.bytes(ethernet::kPreamble + bytes)); };
    const std::uint64_t keep = seen.mac_tx_keep_o.get();
    const unsigned before = pace_.word() * vcsn::kWord, size = before + static_cast<unsigned>(std::popcount(keep));
    Word word{.at = there(size), .data = seen.mac_tx_data_o.get(), .keep = keep, .last = seen.mac_tx_last_o.get() != 0};
    if (before == 0) {
      is_lost_ = losses_.next();
      copy_.clear();
    }
    const bool is_cut = word.last && cuts_.next();
    if (word.last) {
      word.at = std::max(there(size + ethernet::kFcs), there(before) + 1);
      pace_.ends(size, is_cut ? ethernet::wire_bytes(before) : 0);
    }
    if (!word.last) copy_.push_back(word);
    word.at += way.macs;
    if (!is_lost_) coming_.push_back(word);
    if (!is_cut || losses_.next()) return;
    const ethernet::Units later = rate.bytes(ethernet::wire_bytes(size));
    for (unsigned k = 0; k < copy_.size(); ++k) {
      Word& each = copy_[k];
      const std::int64_t bytes = ethernet::kPreamble + std::int64_t{k + 1} * vcsn::kWord;
      each.last = k + 1 == copy_.size();
      each.at = rate.seen(begin + later + rate.bytes(bytes + (each.last ? ethernet::kFcs : 0)));
      if (each.last && k > 0) each.at = std::max(each.at, copy_[k - 1].at - way.macs + 1);
      each.at += way.macs;
      coming_.push_back(each);
    }
  }

  unsigned load_, ends_, takes_, sets_, writes_, credits_, opens_, reopens_;
  unsigned ended_ = 100;  ///< per 1,000 changes of a session: those that open none
  unsigned calms_ = 0;    ///< per 1,000 cycles: those in which is_calm_ changes
  bool starts_ = true;    ///< sessions begin with the circuits
  bool is_calm_ = false;  ///< no words arrive from the shell, so that the line becomes idle
  unsigned closes_ = 0;   ///< the cycle in which virtual port 0 loses its circuit; 0: never
  thalweg::Trials losses_, cuts_;
  bool is_lost_ = false;
  std::vector<Word> copy_;  ///< the words so far of the frame that the MAC takes
  blocks::MacPace pace_;
  std::array<Port, kPorts> ports_{};
  std::deque<Word> coming_;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
