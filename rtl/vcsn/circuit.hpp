// SPDX-License-Identifier: Apache-2.0
// Common part of the Verilated nodes of VCSN and DCN: everything except their external ports.
#pragma once

#include <bit>
#include <cstddef>
#include <cstring>
#include <vector>

#include "engine/edges.hpp"
#include "vcsn/node_circuit.hpp"

namespace engine {

using thalweg::vcsn::NodeCircuit, thalweg::vcsn::Word;

template <class Symbols>
class NodeOf : public NodeCircuit, private Edges<Vtop> {
 public:
  void reset() override {
    in_ = top::Inputs{};
    constants(in_);
    Edges::reset(in_);
    for (unsigned edge = 0; edge < 8; ++edge) evaluate(kAll);  // until it accepts commands
  }

  const Outputs& show(const Inputs& in) override {
    in_.shell_command_valid_i.set(in.commands);
    if (in.commands)
      in_.shell_command_data_i.set({.kind = in.command.high >> 56,
                                    .place = in.command.high >> 48 & 0xFF,
                                    .body = {in.command.low, in.command.high & 0xFFFF'FFFF'FFFF}});
    for (unsigned k = 0; k < in.users.size(); ++k) {
      const auto& user = in.users[k];
      in_.shell_user_in_valid_i.set_bit(k, user.offers);
      in_.shell_user_out_ready_i.set_bit(k, user.takes);
      if (!user.offers) continue;
      in_.shell_user_in_data_i.set(std::bit_cast<Data>(user.word.bytes), k);
      in_.shell_user_in_first_i.set_bit(k, user.word.first);
      in_.shell_user_in_last_i.set_bit(k, user.word.last);
      in_.shell_user_in_channel_i.set(user.word.channel, k);
    }
    for (unsigned k = 0; k < in.engines.size(); ++k) {
      const auto& engine = in.engines[k];
      in_.shell_answer_valid_i.set_bit(k, engine.answers);
      if (engine.answers) in_.shell_answer_data_i.set(engine.answer, k);
      in_.shell_write_ready_i.set_bit(k, engine.accepts);
      in_.shell_written_i.set_bit(k, engine.written);
    }
    drive(in, in_);
    top::load(model_, in_);
    settle();
    top::store(model_, out_);
    shown_.takes_command = out_.shell_command_ready_o.get() != 0;
    for (unsigned k = 0; k < shown_.users.size(); ++k) {
      auto& user = shown_.users[k];
      user.takes = out_.shell_user_in_ready_o.bit(k);
      user.offers = out_.shell_user_out_valid_o.bit(k);
      if (!user.offers) continue;
      user.word = {.bytes = std::bit_cast<decltype(Word::bytes)>(out_.shell_user_out_data_o.get(k)),
                   .first = out_.shell_user_out_first_o.bit(k),
                   .last = out_.shell_user_out_last_o.bit(k),
                   .channel = static_cast<std::uint8_t>(out_.shell_user_out_channel_o.get(k))};
    }
    for (unsigned k = 0; k < shown_.engines.size(); ++k) {
      auto& engine = shown_.engines[k];
      engine.requests = out_.shell_request_valid_o.bit(k);
      engine.request_address = out_.shell_request_address_o.get(k);
      engine.request_words = static_cast<unsigned>(out_.shell_request_words_o.get(k));
      engine.burst = out_.shell_burst_valid_o.bit(k);
      engine.burst_address = out_.shell_burst_address_o.get(k);
      engine.burst_words = static_cast<unsigned>(out_.shell_burst_words_o.get(k));
      engine.writes = out_.shell_word_valid_o.bit(k);
      if (engine.writes) {
        engine.data = out_.shell_word_data_o.get(k);
        engine.keep = out_.shell_word_keep_o.get(k);
      }
      engine.read_ended = out_.shell_read_ended_o.bit(k);
      engine.write_ended = out_.shell_write_ended_o.bit(k);
      engine.overrun = out_.shell_overrun_o.bit(k);
      engine.headless = out_.shell_headless_o.bit(k);
      engine.broken = out_.shell_broken_o.bit(k);
    }
    read(out_, shown_);
    return shown_;
  }
  void edges(bool shell, bool line) override { evaluate(shell | line << 1); }

  [[nodiscard]] bool rests() override {
    top::set_clocks(model_, 0);  // the last edge may have been of one clock only
    const auto* now = reinterpret_cast<const std::byte*>(model_.rootp);
    if (kept_.size() == sizeof(Symbols) && std::memcmp(kept_.data(), now, sizeof(Symbols)) == 0) return true;
    kept_.assign(now, now + sizeof(Symbols));
    return false;
  }

 protected:
  NodeOf(unsigned users, unsigned engines, unsigned ports) : Edges(0) {
    shown_.users.resize(users);
    shown_.engines.resize(engines);
    shown_.ports.resize(ports);
  }

  virtual void constants(top::Inputs& in) = 0;
  virtual void drive(const Inputs& from, top::Inputs& in) = 0;
  virtual void read(const top::Outputs& out, Outputs& to) = 0;

 private:
  top::Inputs in_{};
  top::Outputs out_{};
  Outputs shown_;
  std::vector<std::byte> kept_;
};

}  // namespace engine
