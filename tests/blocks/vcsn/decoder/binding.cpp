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
#include "blocks/random_port.hpp"
#include "blocks/vcsn/words.hpp"
#include "vcsn/decoder.hpp"

namespace {

using top::Inputs, top::Outputs, top::Parameters;
namespace vcsn = thalweg::vcsn;
namespace ethernet = thalweg::ethernet;
using vcsn::Received;

constexpr unsigned kPorts = Parameters::Ports, kMost = Parameters::FrameWords;
constexpr ethernet::Address kAddress = 0x02'1234'5678'9A;
constexpr std::size_t kHeaders = ethernet::kHeader + vcsn::kHeader;

/// In the order of outcome_t from its last one on.
constexpr std::array kOutcomes{&Received::sessionless, &Received::full,    &Received::credits,  &Received::indications,
                               &Received::unformed,    &Received::foreign, &Received::others,   &Received::strays,
                               &Received::damaged,     &Received::taken,   &Received::sequenced};

[[nodiscard]] auto sequence(const std::byte* bytes) {
  std::array<std::uint64_t, 2> packed{};
  std::memcpy(packed.data(), bytes, vcsn::kSequence);
  const auto of = vcsn::spec::VcsnSequence::unpack(packed);
  return decltype(std::declval<Outputs>().rx_sequence_o.get(0)){
      .session = of.session, .peer = of.peer, .number = of.number, .base = of.base};
}

/// The decoder's decisions in their cycles, and the words of frames.
struct Twin {
  struct Beat {
    bool valid = false, first = false, last = false, damaged = false;
    std::vector<std::byte> frame;  ///< up to this beat's bytes
  };

  std::unique_ptr<ethernet::Frames> frames = std::make_unique<ethernet::Frames>();
  thalweg::Domains domains;
  vcsn::CircuitTable circuits{kPorts};
  std::deque<vcsn::ReceiveBuffer> none;
  std::deque<vcsn::Session> no_sessions;
  vcsn::Decoder decoder{domains.add({1, 0}), kAddress, circuits, none, no_sessions, 0, kMost};
  std::array<Beat, 3> beats;  ///< of this cycle and those before
  vcsn::Decoder::Verdict begun;
  bool takes_words = false, receives = false;                            ///< its virtual port takes them; until the end
  std::array<Received, 3> received;                                      ///< in this cycle and those before
  std::optional<unsigned> indicated;                                     ///< a virtual port, in the cycle before
  std::optional<std::pair<unsigned, std::uint32_t>> credit;              ///< likewise
  std::optional<std::pair<unsigned, std::vector<std::byte>>> sequenced;  ///< of a session
  std::optional<std::pair<unsigned, std::optional<vcsn::Circuit>>> written;

  void outputs(const Inputs& in, Outputs& out) const {
    out = {};
    for (unsigned i = 0; i < kOutcomes.size(); ++i)
      out.counts_o.set(received[2].*kOutcomes[i] & ((std::uint64_t{1} << Parameters::CountBits) - 1), i);
    const vcsn::Decoder::Verdict now = beats[1].first ? begin(in) : begun;
    const unsigned port = now.port;
    const bool takes_now = beats[1].first ? takes(in, now) : takes_words;
    out.begin_valid_o.set(beats[0].first);
    if (beats[0].first) out.begin_number_o.set(sequence(last_.data() + kHeaders).number);
    if (ended() && !beats[1].first && takes_words) {
      const bool taken = end() == begun.counts;
      out.commit_o.set_bit(begun.port, taken);
      out.drop_o.set_bit(begun.port, !taken);
      out.kept_valid_o.set(taken);
      out.kept_words_o.set(beats[1].frame.size() / vcsn::kWord);  // the MAC's words except the last, of a few bytes
    }
    if (credit) {
      out.credit_valid_o.set_bit(credit->first, true);
      out.credit_number_o.set(credit->second, credit->first);
    }
    if (sequenced) {
      const auto& [port, frame] = *sequenced;
      const auto fields = header(frame);
      out.rx_valid_o.set_bit(port, true);
      out.rx_sequence_o.set(sequence(frame.data() + kHeaders), port);
      out.rx_kind_o.set(static_cast<unsigned>(fields.kind), port);
      out.rx_first_o.set_bit(port, fields.first);
      out.rx_last_o.set_bit(port, fields.last);
      std::uint64_t number = 0;
      std::memcpy(&number, frame.data() + kHeaders + vcsn::kSequence, sizeof number);
      out.rx_number_o.set(number, port);
    }
    out.receiving_o.set_bit(begun.port, receives);
    if (indicated) out.indicated_o.set_bit(*indicated, true);
    const Beat& beat = beats[0];
    const std::size_t words = beat.frame.size() / vcsn::kWord + (beat.frame.size() % vcsn::kWord > 0) - beat.valid;
    if (!beat.valid || beat.first || !takes_now || words > kMost) return;
    const auto fields = header(beat.frame);
    blocks::WordData data{};
    const std::size_t from = kHeaders + (fields.sequenced ? vcsn::kSequence : 0) + (words - 1) * vcsn::kWord;
    padded_.assign(beat.frame.begin(), beat.frame.end());
    padded_.insert(padded_.end(), last_.begin() + static_cast<std::ptrdiff_t>((padded_.size() - 1) % vcsn::kWord + 1),
                   last_.end());
    std::memcpy(data.data(), padded_.data() + from, sizeof data);
    out.word_valid_o.set_bit(port, true);
    out.word_data_o.set(data, port);
    out.word_first_o.set_bit(port, fields.first && words == 1);
    out.word_last_o.set_bit(port, fields.last && beat.last);
    out.word_channel_o.set(fields.channel, port);
  }

  void step(const Inputs& in) {
    if (beats[1].first) {
      begun = begin(in);
      takes_words = takes(in, begun);
      receives = takes_words && !beats[1].last;  // a frame of one word has no data
    }
    receives &= !(beats[0].valid && beats[0].last);
    received[2] = received[1];
    received[1] = received[0];
    indicated.reset();
    credit.reset();
    sequenced.reset();
    if (ended()) {
      const auto counts = end();
      ++(received[0].*counts);
      if (counts == &Received::indications) indicated = begun.port;
      const auto& frame = beats[1].frame;
      if (counts == &Received::sequenced) sequenced.emplace(begun.port, frame);
      if (counts == &Received::credits && frame.size() == kHeaders + vcsn::kWord) {
        std::uint32_t number = 0;
        std::memcpy(&number, frame.data() + kHeaders, sizeof number);
        credit.emplace(begun.port, number);
      }
    }
    if (written) circuits.set(written->first, written->second);
    written.reset();
    if (in.write_valid_i.get()) {
      const auto row = in.write_row_i.get();
      written.emplace(
          static_cast<unsigned>(in.write_port_i.get()),
          row.open ? std::optional<vcsn::Circuit>({row.address, static_cast<std::uint8_t>(row.port)}) : std::nullopt);
    }
    beats[1] = beats[0];
    Beat& beat = beats[0];
    beat.valid = in.rx_valid_i.get();
    if (!beat.valid) {
      beat.first = beat.last = false;
      return;
    }
    beat.first = !inside_;
    beat.last = in.rx_last_i.get();
    beat.damaged = in.rx_error_i.get();
    inside_ = !beat.last;
    if (beat.first) beat.frame.clear();
    const blocks::WordData data = in.rx_data_i.get();
    std::memcpy(last_.data(), data.data(), sizeof data);
    const auto bytes = static_cast<std::ptrdiff_t>(std::popcount(std::uint64_t{in.rx_keep_i.get()}));
    beat.frame.insert(beat.frame.end(), last_.begin(), last_.begin() + bytes);
  }

 private:
  [[nodiscard]] static vcsn::spec::VcsnHeader header(const std::vector<std::byte>& frame) {
    std::uint64_t word = 0;
    std::memcpy(&word, frame.data() + ethernet::kHeader, vcsn::kHeader);
    return vcsn::spec::VcsnHeader::unpack(word);
  }
  [[nodiscard]] vcsn::Decoder::Verdict begin(const Inputs& in) const {
    return decoder.begin(
        *frames->copy(beats[1].frame), [&](unsigned port) { return in.room_i.bit(port); },
        [&](unsigned port) { return in.session_i.bit(port); });
  }
  [[nodiscard]] bool takes(const Inputs& in, const vcsn::Decoder::Verdict& verdict) const {
    if (verdict.counts != &Received::sequenced) return verdict.counts == &Received::taken;
    return header(beats[1].frame).kind == vcsn::spec::FrameKind::data && in.room_i.bit(verdict.port);
  }
  /// True if a frame's last word arrived two cycles ago.
  [[nodiscard]] bool ended() const { return beats[1].valid && beats[1].last; }
  [[nodiscard]] std::uint64_t Received::* end() const {
    return decoder.end(*frames->copy(beats[1].frame), begun, beats[1].damaged);
  }

  bool inside_ = false;
  std::array<std::byte, vcsn::kWord> last_{};
  mutable std::vector<std::byte> padded_;
};

/// Frames any part of which may be wrong, while circuits are written and virtual ports have room or not. Lanes: the
/// MAC, rows, rooms.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 3;

  explicit Stimulus(bisim::Dice run)
      : load_(run.pick(1000, 500, 50)),
        gaps_(run.pick(0, 300, 700)),
        wrong_(run.pick(0, 20, 200)),
        short_(run.pick(0, 700)),
        writes_(run.pick(2, 50)),
        rooms_(run.pick(10, 200)),
        full_(run.pick(0, 100, 500)),
        others_(run.pick(0, 300)),
        sessions_(run.pick(0, 500, 1000)) {}

  void drive(const Outputs&, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice mac = draws.lane(0), rows = draws.lane(1), rooms = draws.lane(2);
    next.address_i.set(kAddress);
    for (unsigned i = 0; i < kPorts; ++i) {
      if (rooms.chance(rooms_)) room_[i] = !rooms.chance(full_);
      next.room_i.set_bit(i, room_[i]);
      if (rooms.chance(rooms_)) session_[i] = rooms.chance(sessions_);
      next.session_i.set_bit(i, session_[i]);
    }
    if (rows.chance(writes_)) {
      const unsigned port = rows.below(kPorts);
      circuits_[port] = {.address = base(rows), .port = static_cast<std::uint8_t>(rows.below(3))};
      const bool open = rows.chance(900);
      next.write_valid_i.set(true);
      next.write_port_i.set(port);
      next.write_row_i.set({.open = open, .address = circuits_[port].address, .port = circuits_[port].port});
    }
    if (sent_ == frame_.size() && mac.chance(load_)) make(mac);
    if (sent_ == frame_.size() || mac.chance(gaps_)) return;
    const std::size_t bytes = std::min<std::size_t>(vcsn::kWord, frame_.size() - sent_);
    blocks::fill(next.rx_data_i, mac);
    blocks::WordData data = next.rx_data_i.get();
    std::memcpy(data.data(), frame_.data() + sent_, bytes);
    sent_ += bytes;
    next.rx_data_i.set(data);
    next.rx_valid_i.set(true);
    next.rx_keep_i.set(bytes == vcsn::kWord ? ~std::uint64_t{0} : (std::uint64_t{1} << bytes) - 1);
    next.rx_last_i.set(sent_ == frame_.size());
    next.rx_error_i.set(sent_ == frame_.size() && mac.chance(wrong_));
  }

 private:
  static std::uint64_t base(bisim::Dice& dice) { return 0x02'0000'0000'00 | std::uint64_t{1} << dice.below(3) * 20; }

  void make(bisim::Dice& dice) {
    const unsigned words = 1 + dice.below(dice.chance(short_) ? std::min(3U, kMost) : kMost);
    const bool sequenced = dice.chance(sessions_);
    const std::size_t headers = kHeaders + (sequenced ? vcsn::kSequence : 0);
    std::size_t size = headers + std::size_t{words} * vcsn::kWord;
    if (dice.chance(wrong_)) size = ethernet::kShortest + dice.below(5);  // a word of the MAC
    if (dice.chance(wrong_)) size += dice.below(vcsn::kWord + 1);         // not whole words, or one word more
    if (dice.chance(wrong_)) size = headers + std::size_t{kMost + 1 + dice.below(3)} * vcsn::kWord;  // too long
    size = std::clamp<std::size_t>(size, ethernet::kShortest, ethernet::kMost);
    frame_.resize(size);
    for (std::size_t k = 0; k < size; ++k) frame_[k] = static_cast<std::byte>(dice.below(256));
    const unsigned to = dice.below(kPorts);
    const auto& circuit = circuits_[to];
    const auto group = vcsn::group_of({circuit.address, static_cast<std::uint8_t>(circuit.port)});
    put(0, (dice.chance(200) ? group : kAddress) ^ std::uint64_t{dice.chance(wrong_)} << dice.below(48), 6);
    put(6, circuit.address ^ std::uint64_t{dice.chance(wrong_)} << dice.below(48), 6);
    put(12, vcsn::spec::kEtherType ^ std::uint64_t{dice.chance(wrong_)} << dice.below(16), 2);
    const auto header =
        vcsn::spec::VcsnHeader{
            .destination_port = static_cast<std::uint8_t>(dice.chance(wrong_) ? dice.below(256) : to),
            .source_port = static_cast<std::uint8_t>(circuit.port ^ unsigned{dice.chance(wrong_)} << dice.below(8)),
            .channel = static_cast<std::uint8_t>(dice.below(256)),
            .kind = static_cast<vcsn::spec::FrameKind>(dice.chance(wrong_ + others_) ? dice.below(8) : 0),
            .first = dice.chance(500),
            .last = dice.chance(500),
            .sequenced = sequenced != dice.chance(wrong_)}
            .pack();
    std::memcpy(frame_.data() + ethernet::kHeader, &header, vcsn::kHeader);
    sent_ = 0;
  }
  void put(std::size_t at, std::uint64_t value, unsigned bytes) {
    for (unsigned k = bytes; k-- > 0; value >>= 8) frame_[at + k] = static_cast<std::byte>(value & 0xFF);
  }

  unsigned load_, gaps_, wrong_, short_, writes_, rooms_, full_, others_, sessions_;
  std::array<bool, kPorts> session_{};
  std::array<bool, kPorts> room_{};
  std::array<vcsn::Circuit, kPorts> circuits_{};
  std::vector<std::byte> frame_;
  std::size_t sent_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
