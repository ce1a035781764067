// SPDX-License-Identifier: Apache-2.0
// The hardware's control plane, cycle by cycle. Twin of rtl/accl/tw_control_plane.sv.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "accl/call.hpp"
#include "accl/call_order.hpp"
#include "accl/call_port.hpp"
#include "accl/exchange_ports.hpp"
#include "accl/move_engine.hpp"
#include "accl/node_circuit.hpp"
#include "accl/program_moves.hpp"
#include "accl/sequencer.hpp"

namespace thalweg::accl {

class ControlPlane {
 public:
  struct Set {
    CallPort::Communicator communicator{};
    std::uint32_t identity = 0;
  };
  struct In {
    std::optional<Set> set{};
    bool clear = false;
    MoveEngine::Buffers buffers{};
    std::uint32_t identity = 0;                         ///< of the exchange memory
    std::optional<ExchangePorts::Access> access{};      ///< the host's
    std::vector<std::optional<std::uint32_t>> words{};  ///< of calls, by port
    bool status_ready = false, command_ready = false;
    std::optional<ProgramMoves::Ended> ended{};
  };

  ControlPlane(unsigned ports, unsigned calls, unsigned communicators, unsigned ranks, bool arithmetic,
               bool conversions)
      : ports_(ports),
        port_(communicators, ranks, arithmetic, conversions),
        order_(calls),
        sequencer_(calls),
        moves_(calls, communicators, ranks) {}

  [[nodiscard]] bool word_ready(unsigned port) const { return inside_ && owner_ == port && port_.word_ready(); }
  [[nodiscard]] const ExchangePorts& exchange() const { return exchange_; }
  [[nodiscard]] auto command() const { return moves_.command(); }
  [[nodiscard]] auto status() const { return moves_.status(); }

  void step(const In& in) {
    const bool begins = order_.begin().has_value(), enters = port_.begins() && order_.ready();
    const auto session = moves_.access(), lookup = port_.access();
    const bool reads = exchange_.ready(1);
    const auto& answer = exchange_.answer(1);
    const bool of_port = of_port_[kMemoryCycles - 1];

    CallPort::In port;
    port.clear = in.clear;
    port.buffers = in.buffers;
    if (in.set) port.set = in.set->communicator;
    if (inside_) port.word = in.words[owner_];
    const bool word = port.word && port_.word_ready();
    port.port = owner_;
    port.number = order_.number();
    port.access_ready = reads && !session;
    port.load_ready = sequencer_.ready() && !begins;
    port.call_ready = order_.ready();
    if (answer && of_port) port.answer = answer->data;

    CallOrder::In order;
    order.number_ready = port_.number_ready();
    order.begin_ready = sequencer_.ready();
    if (port.load_ready) order.load = port_.load();
    if (port_.begins()) order.call = {port_.number(), port_.call()};
    if (in.status_ready && moves_.status()) order.ended = moves_.status()->number;

    Sequencer::In sequencer;
    if (begins)
      sequencer.load = {
          .call = order_.begin()->number, .to = 0, .data = 0, .begins = true, .program = order_.begin()->at};
    else if (port_.load())
      sequencer.load = {
          .call = port_.number(), .to = static_cast<unsigned>(port_.load()->to), .data = port_.load()->data};
    sequencer.ended = moves_.ended();
    sequencer.move_ready = sequencer.end_ready = moves_.ready();

    ProgramMoves::In moves;
    if (in.set) moves.set = {in.set->communicator.index, in.set->identity};
    moves.clear = in.clear;
    if (enters) moves.call = order.call;
    if (const auto* move = sequencer_.move()) moves.move = {sequencer_.call(), *move};
    if (sequencer_.ends()) moves.end = sequencer_.call();
    moves.ended = in.ended;
    moves.access_ready = reads;
    if (answer && !of_port) moves.answer = answer->data;
    moves.command_ready = in.command_ready;
    moves.status_ready = in.status_ready;

    std::array<std::optional<ExchangePorts::Access>, 2> accesses{in.access, std::nullopt};
    if (const auto at = session ? session : lookup) accesses[1] = {.write = false, .at = *at, .data = 0};

    exchange_.step(accesses, in.identity);
    for (std::size_t k = kMemoryCycles; k-- > 1;) of_port_[k] = of_port_[k - 1];
    of_port_[0] = !session;
    port_.step(port);
    order_.step(order);
    sequencer_.step(sequencer);
    moves_.step(moves);
    turn(in, word);
  }

 private:
  static constexpr std::size_t kMemoryCycles = 3;  ///< from a read to its answer

  /// Ports take turns.
  void turn(const In& in, bool word) {
    if (inside_) {
      if (word && ++words_ == kCallWords) inside_ = false;
      return;
    }
    words_ = 0;
    for (unsigned k = 1; k <= ports_ && !inside_; ++k)
      if (in.words[(owner_ + k) % ports_]) {
        owner_ = (owner_ + k) % ports_;
        inside_ = true;
      }
  }

  unsigned ports_;
  ExchangePorts exchange_;
  CallPort port_;
  CallOrder order_;
  Sequencer sequencer_;
  ProgramMoves moves_;
  bool inside_ = false;  ///< a call
  unsigned owner_ = 0, words_ = 0;
  std::array<bool, kMemoryCycles> of_port_{};
};

}  // namespace thalweg::accl
