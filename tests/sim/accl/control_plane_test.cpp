// SPDX-License-Identifier: Apache-2.0
// Do the hardware's control plane and the simulator's node issue the same moves to the move engine for the same calls?
#include "accl/control_plane.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "../../seed.hpp"
#include "accl/network.hpp"
#include "two_boards.hpp"

namespace thalweg::accl {
namespace {

constexpr std::uint32_t kRanks = 5, kBytesOfBuffer = 4096, kAt = 0x400, kTypes = 0x800;
constexpr std::uint64_t kMemory = 1 << 22;

std::string text(const NodeCircuit::Command& command) {
  const NodeCircuit::Move& move = command.move;
  std::string made = std::to_string(static_cast<int>(command.does));
  for (const auto* place : {&move.x, &move.y, &move.z})
    made += " (" + std::to_string(place->host) + ' ' + std::to_string(place->at) + ' ' + std::to_string(place->bytes) +
            ' ' + std::to_string(static_cast<int>(place->conversion)) + ')';
  for (const std::uint64_t value :
       {std::uint64_t{static_cast<unsigned>(move.x_source)}, std::uint64_t{static_cast<unsigned>(move.y_source)},
        std::uint64_t{static_cast<unsigned>(move.target)}, std::uint64_t{move.operation}, std::uint64_t{move.datatype},
        std::uint64_t{move.wire_bytes}, move.elements, std::uint64_t{move.from_communicator}, std::uint64_t{move.from},
        std::uint64_t{move.from_collective}, std::uint64_t{move.from_tag}, std::uint64_t{move.from_number},
        std::uint64_t{move.to}, std::uint64_t{move.to_communicator}, std::uint64_t{move.own_rank},
        std::uint64_t{move.kind}, std::uint64_t{move.stream}, std::uint64_t{move.to_tag},
        std::uint64_t{move.to_number}})
    made += ' ' + std::to_string(value);
  return made;
}

/// A move engine whose moves end at once.
class Ends final : public NodeCircuit {
 public:
  explicit Ends(std::vector<std::string>& commands) : commands_(commands) {}

  [[nodiscard]] Limits limits() const override { return {16, 16, 8, 64, 64, 64, 4096}; }
  const Outputs& show(const Inputs& in) override {
    in_ = &in;
    out_.takes_command = true;
    out_.ended = !slots_.empty();
    if (out_.ended) out_.slot = slots_.front();
    return out_;
  }
  void edge(bool line) override {
    if (line) return;
    if (out_.ended) slots_.pop_front();
    if (!in_->commands || in_->command.does == Does::clear) return;
    commands_.push_back(text(in_->command));
    if (in_->command.does == Does::begin) slots_.push_back(in_->command.slot);
  }

 private:
  std::vector<std::string>& commands_;
  std::deque<unsigned> slots_;
  const Inputs* in_ = nullptr;
  Outputs out_{};
};

/// The words of the exchange memory that make a board rank `rank` of a communicator.
std::vector<std::pair<std::uint32_t, std::uint32_t>> words_of(std::uint32_t rank) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> words{{ExchangeMemory::kBuffers, 16},
                                                             {ExchangeMemory::kBufferBytes, kBytesOfBuffer},
                                                             {kAt, kRanks},
                                                             {kAt + 4, rank},
                                                             {kTypes, 4},
                                                             {kTypes + 4, 2},
                                                             {kTypes + 20, 2},
                                                             {kTypes + 28, 0},
                                                             {kTypes + 32, 5},
                                                             {ExchangeMemory::kGatherFlat, 4096},
                                                             {ExchangeMemory::kReduceFlat, 1024},
                                                             {ExchangeMemory::kBroadcastFlat, 1},
                                                             {ExchangeMemory::kSpare, 0x300000}};
  for (std::uint32_t k = 0; k < kRanks; ++k) {
    words.push_back({kAt + 8 + 24 * k, 0x0A000001 + k});
    words.push_back({kAt + 12 + 24 * k, 5500});
    words.push_back({kAt + 24 + 24 * k, 3 * k + 1});
    words.push_back({kAt + 28 + 24 * k, kBytesOfBuffer});
  }
  for (std::uint32_t k = 0; k < 16; ++k) words.push_back({12 + 28 * k, 0x200000 + k * kBytesOfBuffer});
  return words;
}

/// The control plane and a host that calls it.
class Hardware {
 public:
  explicit Hardware(std::uint32_t rank) {
    for (unsigned k = 0; k < 2100; ++k) step({});
    for (const auto& [at, value] : words_of(rank)) {
      ControlPlane::In in;
      in.access = {.write = true, .at = at, .data = value};
      while (!plane_.access_ready()) step({});
      step(in);
    }
    static_cast<void>(run({0, 0, 0, 0, 1}));
  }
  [[nodiscard]] std::uint32_t own() const { return plane_.own(); }
  /// The moves issued for a call, and the call's return code.
  std::pair<std::vector<std::string>, std::uint32_t> run(const std::array<std::uint32_t, kCallWords>& words) {
    commands_.clear();
    code_.reset();
    std::size_t given = 0;
    for (unsigned cycle = 0, quiet = 0; cycle < 1'000'000 && quiet < 8; ++cycle) {
      ControlPlane::In in;
      if (given < kCallWords) in.words = {std::nullopt, words[given], std::nullopt};
      if (given < kCallWords && plane_.word_ready(1)) ++given;
      step(in);
      if (code_) ++quiet;  // until a collective's end has been forwarded
    }
    return {commands_, code_.value_or(~0U)};
  }

 private:
  void step(ControlPlane::In in) {
    in.words.resize(3);
    in.status_ready = in.command_ready = true;
    if (!slots_.empty()) {
      in.ended = {slots_.front(), NodeCircuit::How::moved};
      slots_.pop_front();
    }
    if (const auto command = plane_.command()) {
      if (command->does != NodeCircuit::Does::clear) commands_.push_back(text(*command));
      if (command->does == NodeCircuit::Does::begin) slots_.push_back(command->slot);
    }
    if (const auto status = plane_.status()) code_ = status->code;
    plane_.step(in);
  }

  ControlPlane plane_{ControlPlane::Limits{}};
  std::deque<unsigned> slots_;
  std::vector<std::string> commands_;
  std::optional<std::uint32_t> code_;
};

std::array<std::uint32_t, kCallWords> draw_call(std::mt19937_64& draw) {
  const auto below = [&](std::uint64_t most) {
    return static_cast<std::uint32_t>(std::uniform_int_distribution<std::uint64_t>(0, most - 1)(draw));
  };
  return {1 + below(13),
          below(4) ? below(300) : below(6000),
          kAt,
          below(kRanks),
          below(2),
          below(3),
          kTypes,
          below(2) ? 0 : below(16),
          below(2) ? 0 : below(8) << 8,
          0,
          0,
          0x80000,
          0,
          0x100000,
          0};
}

TEST(ControlPlane, GivesTheMovesOfTheSimulator) {
  std::mt19937_64 draw(test_seed());
  std::size_t moves = 0;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    std::vector<std::string> expected;
    ethernet::Frames frames;
    Network network(two_boards("udp", {}), "");
    Node& board = network.board(0);
    board.use_hardware(std::make_unique<Ends>(expected), {board.udp.own});
    board.end_of = [&](const Member&) { return board.udp.own; };
    board.disagrees = [](const Context&) { return ""; };
    board.device.allocate(0, kMemory);
    board.host.allocate(0, kMemory);
    for (const auto& [at, value] : words_of(rank)) board.exchange.write(at, value);
    Handle next = 0;
    std::vector<Completion> completed;
    const auto run = [&](const Call& call) {
      network.submit(next, 0, 2, call);
      while (!network.idle()) network.advance(kNever, completed);
      return network.take_end(next++);
    };
    ASSERT_EQ(run({.scenario = Scenario::config, .function = 1}).second, "");
    Hardware hardware(rank);
    EXPECT_EQ(hardware.own(), 3 * rank + 1);

    for (unsigned turn = 0; turn < 100; ++turn) {
      const auto words = draw_call(draw);
      expected.clear();
      const auto [code, why] = run(Call::of(words));
      const auto [commands, got] = hardware.run(words);
      moves += commands.size();
      EXPECT_EQ(got, code) << why;
      ASSERT_EQ(commands, expected) << name_of(words[0]) << " of " << words[1] << " by rank " << rank << ": " << why;
    }
  }
  EXPECT_GT(moves, 1000U);
}

}  // namespace
}  // namespace thalweg::accl
