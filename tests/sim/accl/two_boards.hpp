// SPDX-License-Identifier: Apache-2.0
// Two boards connected by a cable, for tests.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "accl/network.hpp"

namespace thalweg::accl {

inline constexpr unsigned kBuffers = 16;
inline constexpr std::uint32_t kBufferBytes = 256, kCommunicator = 0x8 + 28 * kBuffers,
                               kArithmetic = kCommunicator + 8 + 48;
inline constexpr std::uint64_t kPlace = 0x40000, kBytes = 0x80000;

/// Clock periods in ticks: of the engines and of the line.
struct TwoClocks {
  Tick ticks_per_second = 250'000'000;
  Clock engine{}, line{};
};

inline Description two_boards(const std::string& transport, const TwoClocks& clocks) {
  const Values board("board", {{"engine_clock", std::string("engine")},
                               {"line_clock", std::string("line")},
                               {"transport", transport},
                               {"calls", std::int64_t{8}},
                               {"memory_bytes", std::int64_t{1} << 24},
                               {"memory_gb", 14.0},
                               {"memory_ns", 100.0},
                               {"host_gb", 14.0},
                               {"host_ns", 700.0},
                               {"invocation_us", 0.0},
                               {"arithmetic", true},
                               {"compression", true},
                               {"processor", std::vector<std::int64_t>{}},
                               {"udp_port", std::int64_t{5500}},
                               {"packet_bytes", std::int64_t{4096}},
                               {"port_ns", 100.0},
                               {"fifo_bytes", std::int64_t{65'536}},
                               {"send_bytes", std::int64_t{16'384}},
                               {"resend_us", 20.0},
                               {"reorder_packets", std::int64_t{3}},
                               {"tries", std::int64_t{16}},
                               {"segment_bytes", std::int64_t{1460}},
                               {"window_bytes", std::int64_t{65'535}},
                               {"window_scaling", true}});
  const Values cable("cable", {{"gbit_s", 100.0},
                               {"latency_ns", 15.0},
                               {"bit_error_rate", 0.0},
                               {"frames_lost", 0.0},
                               {"frames_duplicated", 0.0},
                               {"frames_reordered", 0.0},
                               {"seed", std::int64_t{1}}});
  return {.ticks_per_second = clocks.ticks_per_second,
          .clocks = {{"engine", clocks.engine}, {"line", clocks.line}},
          .nodes = {{"accl", board}, {"accl", board}},
          .links = {{"ethernet", cable, 0, 0, 1, 0}}};
}

/// Two boards, configured as ACCL's driver does it.
class World {
 public:
  explicit World(const std::string& transport, const TwoClocks& clocks = {}, std::uint32_t buffer_bytes = kBufferBytes)
      : network(two_boards(transport, clocks), "") {
    for (unsigned rank = 0; rank < 2; ++rank) {
      Node& board = network.board(rank);
      board.device.allocate(0, kBytes);
      board.host.allocate(0, kBytes);
      const auto put = [&](std::uint32_t at, std::initializer_list<std::uint32_t> words) {
        for (const auto word : words) {
          board.exchange.write(at, word);
          at += 4;
        }
      };
      put(0, {kBuffers, buffer_bytes});
      for (unsigned k = 0; k < kBuffers; ++k) put(0x8 + 28 * k, {0, k * buffer_bytes, 0, 0, 0, 0, 0});
      put(kCommunicator, {2, rank, 0x7F000001, 5500, 0, 0, 0, buffer_bytes, 0x7F000001, 5501, 0, 0, 1, buffer_bytes});
      put(kArithmetic, {4, 4, 0, 0, 0, 2, 0, 0, 5});
      call(rank, {.scenario = Scenario::config, .function = 1});
      call(rank, {.scenario = Scenario::config, .count = std::max(1024U, buffer_bytes), .function = 3});
    }
    run();
  }

  ethernet::Frames frames;  ///< of packets that the network holds
  Network network;

  Handle call(unsigned rank, const Call& call) {
    network.submit(next_, rank, 2, call);
    return next_++;
  }
  /// Runs until nothing moves.
  void run() {
    std::vector<Completion> completed;
    while (!network.idle()) network.advance(kNever, completed);
  }
  [[nodiscard]] std::vector<std::byte> memory(bool host, std::uint64_t at, std::uint64_t size) {
    std::vector<std::byte> data(size);
    (host ? network.board(0).host : network.board(0).device).read(at, data);
    return data;
  }
  /// Of board 0.
  [[nodiscard]] std::uint64_t dropped() const {
    std::uint64_t sum = 0;
    for (const Lost& lost : network.lost()) sum += lost.count;
    return sum;
  }

 private:
  Handle next_ = 0;
};

}  // namespace thalweg::accl
