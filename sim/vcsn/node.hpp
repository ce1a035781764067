// SPDX-License-Identifier: Apache-2.0
// An FPGA with its shell: memory, DMA engines, a crossbar, and virtual ports of external ports.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cluster/assembly.hpp"
#include "core/clock.hpp"
#include "core/require.hpp"
#include "ethernet/frame.hpp"
#include "ethernet/line.hpp"
#include "vcsn/circuits.hpp"
#include "vcsn/crossbar.hpp"
#include "vcsn/decoder.hpp"
#include "vcsn/dma.hpp"
#include "vcsn/encoder.hpp"
#include "vcsn/receive_buffer.hpp"
#include "vcsn/send_buffer.hpp"

namespace thalweg::vcsn {

struct NodeConfig {
  unsigned ports = 2, virtual_ports = 2;  ///< external ones, and virtual ones of each
  unsigned dmas = 2;                      ///< pairs of a read and a write engine
  unsigned banks = 1;
  std::uint64_t bank_bytes = 1 << 20;
  BankTiming bank{};
  unsigned send_words = 512, receive_words = 3072, frame_words = 143, frames = 32;
  Tick mac_cycles = 0;  ///< of both MACs of a line
};

/// Of an external port: locally administered.
[[nodiscard]] constexpr ethernet::Address address_of(unsigned node, unsigned port) {
  return 0x0200'0000'0000 | std::uint64_t{port} << 16 | node;
}

/// An external port with what is between it and the crossbar.
struct External {
  External(const NodeConfig& config, unsigned node, unsigned number, Domain& shell, Domain& mac,
           ethernet::Frames& frames)
      : circuits(config.virtual_ports),
        encoder(mac, frames, address_of(node, number), circuits, sends),
        decoder(mac, address_of(node, number), circuits, receives, config.mac_cycles, config.frame_words) {
    for (unsigned port = 0; port < config.virtual_ports; ++port) {
      sends.emplace_back(shell.clock, mac.clock, config.send_words, config.frame_words, config.frames).whole =
          [this](Tick cycle) { encoder.wake(cycle); };
      receives.emplace_back(shell.clock, mac.clock, config.receive_words, config.frame_words);
    }
    end.domain = &mac;
    end.component = decoder.id;
  }

  ethernet::Port end;
  CircuitTable circuits;
  std::deque<SendBuffer> sends;
  std::deque<ReceiveBuffer> receives;
  Encoder encoder;
  Decoder decoder;
};

class Node final : public AssembledNode, public Component {
 public:
  /// A transfer has ended.
  std::function<void(const Ended&)> ended;

  Node(const NodeConfig& config, unsigned number, Domain& shell, Domain& mac, ethernet::Frames& frames)
      : config(config),
        memory("the memory of node " + std::to_string(number), config.banks, config.bank_bytes, config.bank),
        crossbar(shell),
        shell_(&shell),
        id_(shell.scheduler.add(*this)) {
    const DmaTiming timing;
    for (unsigned k = 0; k < config.dmas; ++k) {
      auto& read = reads.emplace_back(shell, memory, timing);
      read.changed = [this, input = crossbar.add(read)] { crossbar.source_changed(input); };
      auto& write = writes.emplace_back(shell, memory, timing);
      write.changed = [this, output = crossbar.add(write)] { crossbar.sink_changed(output); };
      write.ended = [this](const Ended& told) {
        ended_.push_back(told);
        shell_->wake(id_, told.cycle);
      };
    }
    for (unsigned port = 0; port < config.ports; ++port) {
      auto& of = externals.emplace_back(config, number, port, shell, mac, frames);
      const unsigned first = config.dmas + port * config.virtual_ports;
      for (unsigned k = 0; k < config.virtual_ports; ++k) {
        crossbar.add(of.receives[k]);
        crossbar.add(of.sends[k]);
      }
      of.decoder.filled = [this, first](unsigned virtual_port) { crossbar.source_changed(first + virtual_port); };
      of.encoder.emptied = [this, first](unsigned virtual_port) { crossbar.sink_changed(first + virtual_port); };
    }
  }

  const NodeConfig config;
  BoardMemory memory;
  Crossbar crossbar;
  std::deque<ReadDma> reads;
  std::deque<WriteDma> writes;
  std::deque<External> externals;

  [[nodiscard]] const Domain& shell() const { return *shell_; }
  /// Of a virtual port, as an input and an output of the crossbar; engines are before them.
  [[nodiscard]] unsigned place(unsigned port, unsigned virtual_port) const {
    return config.dmas + port * config.virtual_ports + virtual_port;
  }

  [[nodiscard]] LinkPort& port(unsigned number) override {
    require(number < externals.size(), "a node of virtual circuits has no port " + std::to_string(number));
    return externals[number].end;
  }
  /// Once all links are joined. Throws std::invalid_argument where a line is too fast.
  void start() {
    for (External& port : externals) {
      port.encoder.line = port.end.out;
      port.decoder.line = port.end.in;
      require(!port.end.out || port.end.out->rate.cycle <= port.end.out->rate.bytes(kWord),
              "a line takes more than a word of 64 bytes in a cycle of the MAC");
    }
  }

  bool step(Tick now) override {
    std::erase_if(ended_, [&](const Ended& told) {
      if (told.cycle > now) return false;
      ended(told);
      return true;
    });
    return false;
  }

  void lost(NodeId node, std::vector<Lost>& all) const override {
    const auto add = [&](std::uint64_t count, const std::string& what) {
      if (count > 0) all.push_back({node, what, count});
    };
    for (unsigned port = 0; port < externals.size(); ++port) {
      const Received& of = externals[port].decoder.received();
      const std::string at = " at port " + std::to_string(port);
      add(of.full, "frames for which their virtual port had no room" + at);
      add(of.damaged, "frames with a wrong FCS" + at);
      add(of.foreign, "frames of no circuit" + at);
      add(of.unformed, "frames of no whole words" + at);
      add(of.others, "frames of other protocols" + at);
    }
    for (unsigned k = 0; k < writes.size(); ++k)
      add(writes[k].overrun(), "words that write engine " + std::to_string(k) + " had no memory for");
  }

 private:
  Domain* shell_;
  ComponentId id_;
  std::vector<Ended> ended_;
};

}  // namespace thalweg::vcsn
