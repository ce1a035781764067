// SPDX-License-Identifier: Apache-2.0
// A serial link between two ranks: packets at its rate, with a latency, and credits for the buffer at the other end, so that it
// loses none. A model alone: the hardware ends at the board's I/O channels, which are streams.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "cluster/assembly.hpp"
#include "common/ring.hpp"
#include "core/clock.hpp"
#include "smi/packet.hpp"

namespace thalweg::smi {

/// One direction. Whoever is at an end steps it, and is woken where that has something to do.
class LinkLane {
 public:
  struct Config {
    Tick latency = 1;          ///< cycles
    double packet_cycles = 1;  ///< from a packet to the next one, at least
    unsigned buffer = 2;       ///< packets at the reader's end
  };
  explicit LinkLane(const Config& config)
      : config_(config), packets_(config.buffer), credits_(config.buffer), credit_(config.buffer) {}

  void bind_writer(Domain& domain, ComponentId component) { writer_.bind(domain, component); }
  void bind_reader(Domain& domain, ComponentId component) { reader_.bind(domain, component); }

  /// Does it take a packet in this cycle? If not, the writer is woken when it may.
  [[nodiscard]] bool ready(Tick now) {
    for (; !credits_.empty() && credits_.front() <= now; credits_.pop()) ++credit_;
    if (credit_ == 0) return false;  // a credit wakes
    if (free_ > static_cast<double>(now)) {
      writer_.wake(std::max(now + 1, static_cast<Tick>(std::ceil(free_))));
      return false;
    }
    return true;
  }
  /// Only where ready().
  void write(Tick now, const Packet& packet) {
    // Less than a cycle that it was free before is made up for: the rate holds over all packets.
    free_ = std::max(free_, static_cast<double>(now - 1)) + config_.packet_cycles;
    --credit_;
    packets_.push({now + config_.latency, packet});
    reader_.wake(now + config_.latency);
  }
  /// The first packet that has come, or null.
  [[nodiscard]] const Packet* front(Tick now) const {
    return !packets_.empty() && packets_.front().first <= now ? &packets_.front().second : nullptr;
  }
  /// Only where front().
  void pop(Tick now) {
    packets_.pop();
    credits_.push(now + config_.latency);
    writer_.wake(now + config_.latency);
  }

 private:
  Config config_;
  Ring<std::pair<Tick, Packet>> packets_;
  Ring<Tick> credits_;
  unsigned credit_;
  double free_ = 0;
  Waker writer_, reader_;
};

/// A rank's end of a link.
struct SerialPort final : LinkPort {
  [[nodiscard]] std::string carries() const override { return "serial"; }
  Domain* domain = nullptr;
  ComponentId component = 0;
  LinkLane *out = nullptr, *in = nullptr;
};

class SerialLink final : public AssembledLink {
 public:
  SerialLink(const LinkLane::Config& config, SerialPort& a, SerialPort& b) : there_(config), back_(config) {
    join(a, there_, back_);
    join(b, back_, there_);
  }

 private:
  static void join(SerialPort& port, LinkLane& out, LinkLane& in) {
    port.out = &out;
    port.in = &in;
    out.bind_writer(*port.domain, port.component);
    in.bind_reader(*port.domain, port.component);
  }

  LinkLane there_, back_;
};

}  // namespace thalweg::smi
