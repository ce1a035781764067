// SPDX-License-Identifier: Apache-2.0
// A network of boards with offload engines, as an Engine: calls are submitted, and each completes with a return code.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "accl/agreement.hpp"
#include "accl/kinds.hpp"
#include "accl/light_paths.hpp"
#include "accl/node.hpp"
#include "cluster/assembly.hpp"
#include "cluster/engine.hpp"
#include "core/require.hpp"
#include "ethernet/capture.hpp"
#include "ethernet/frame.hpp"
#include "ethernet/kinds.hpp"
#include "ethernet/optical_switch.hpp"
#include "ethernet/switch.hpp"

namespace thalweg::accl {

class Network final : public Engine {
 public:
  /// Makes the hardware for the board of a rank; null: simulate the board.
  using MakeCircuit = std::function<std::unique_ptr<NodeCircuit>(unsigned rank, const ethernet::UdpEnd& own)>;

  /// `capture`: file to write, or empty. Throws std::invalid_argument and std::runtime_error.
  Network(const Description& description, const std::string& capture, const MakeCircuit& hardware = {})
      : assembly_(description, kinds(description.ticks_per_second, frames_)) {
    if (!capture.empty()) capture_.emplace(capture);
    for (unsigned n = 0; n < assembly_.nodes(); ++n) {
      auto* node = dynamic_cast<Node*>(&assembly_.node(n));
      if (!node) continue;
      boards_.push_back(node);
      numbers_.push_back(n);
      node->done = [this](const Ended& ended) {
        ends_[ended.handle] = {ended.code, ended.why};
        ended_.push_back({ended.handle, ended.at});
        assembly_.time().interrupt();
      };
      node->disagrees = [this](const Context& context) { return agreement_.enter(context); };
      node->forget = [this](std::uint32_t communicator) { agreement_.forget(communicator); };
      node->failed = [this](const std::string& who, const Ended& ended) {
        failed_.push_back({who, ended.code, ended.why});
      };
      node->end_of = [this](const Member& member) { return end_of(member); };
      node->missing_light = [this, n](const Member& member) {
        return member.session < numbers_.size() ? accl::missing_light(assembly_, n, numbers_[member.session]) : "";
      };
      if (capture_) {
        const auto& clock = node->udp.port.domain->clock;
        const double ns = 1e9 / static_cast<double>(ticks_per_second()) * static_cast<double>(clock.period);
        node->udp.seen = capture_->tap("node " + std::to_string(n), ns);
      }
    }
    require(!boards_.empty(), "the cluster has no board (kind accl)");
    if (!hardware) return;
    std::vector<ethernet::UdpEnd> ends;
    for (const Node* board : boards_) ends.push_back(board->udp.own);
    for (unsigned rank = 0; rank < boards_.size(); ++rank)
      if (auto circuit = hardware(rank, ends[rank])) boards_[rank]->use_hardware(std::move(circuit), ends);
  }

  std::function<std::vector<Blocked>()> kernels_blocked;  ///< returns waiting kernels on the boards

  /// Call in a step: completes an operation that runs on a board, without a return code.
  void complete(const Completion& completion) {
    ends_[completion.handle] = {0, ""};
    ended_.push_back(completion);
    assembly_.time().interrupt();
  }
  /// A kernel's call with a nonzero return code.
  struct Failed {
    std::string who;
    std::uint32_t code = 0;
    std::string why{};
  };
  [[nodiscard]] const std::vector<Failed>& failed() const { return failed_; }
  [[nodiscard]] unsigned ranks() const { return static_cast<unsigned>(boards_.size()); }
  [[nodiscard]] Node& board(unsigned rank) {
    require(rank < boards_.size(),
            "rank " + std::to_string(rank) + " does not exist; there are " + std::to_string(boards_.size()));
    return *boards_[rank];
  }
  /// Submits a call at the current time. Throws std::invalid_argument.
  void submit(Handle handle, unsigned rank, unsigned port, const Call& call) { board(rank).submit(handle, port, call); }
  /// Connects pairs of ports of an optical switch. Throws std::invalid_argument.
  void rewire(unsigned node, ethernet::OpticalSwitch::Pairs pairs) {
    auto* mirrors = node < assembly_.nodes() ? dynamic_cast<ethernet::OpticalSwitch*>(&assembly_.node(node)) : nullptr;
    require(mirrors != nullptr, "node " + std::to_string(node) + " is not an optical switch");
    mirrors->rewire(pairs);
  }
  /// Starts to close the boards' connections. With TCP this takes simulated time, as the peers are notified.
  void disconnect() {
    for (Node* board : boards_) board->disconnect();
  }
  /// Closed connections that their peers have not acknowledged yet.
  [[nodiscard]] std::size_t disconnecting() const {
    std::size_t sum = 0;
    for (const Node* board : boards_) sum += board->disconnecting();
    return sum;
  }
  /// Returns and removes the return code of an ended call, and the reason if it is not 0.
  std::pair<std::uint32_t, std::string> take_end(Handle handle) {
    const auto found = ends_.find(handle);
    require(found != ends_.end(), "no call with this handle has ended");
    auto end = std::move(found->second);
    ends_.erase(found);
    return end;
  }

  [[nodiscard]] Tick now() const override { return assembly_.time().now(); }
  [[nodiscard]] std::int64_t ticks_per_second() const override { return assembly_.ticks_per_second(); }
  void advance(Tick until, std::vector<Completion>& completed) override {
    auto& time = assembly_.time();
    while (ended_.empty() && time.next_due() < until) time.advance(until == kNever ? time.next_due() + kStride : until);
    if (ended_.empty() && until != kNever && time.now() < until) time.advance(until);
    completed.insert(completed.end(), ended_.begin(), ended_.end());
    ended_.clear();
  }
  /// As advance(), but time does not move beyond the last event.
  void work(Tick until, std::vector<Completion>& completed) {
    auto& time = assembly_.time();
    while (ended_.empty() && time.next_due() < until) time.advance(time.next_due() + 1);
    advance(now(), completed);
  }
  [[nodiscard]] bool idle() const override { return assembly_.time().next_due() == kNever && ended_.empty(); }
  [[nodiscard]] Tick next() const override { return ended_.empty() ? assembly_.time().next_due() : now(); }
  /// The tick of the next time-out; kNever if no call waits.
  [[nodiscard]] Tick time_out() const {
    Tick first = kNever;
    for (const Node* board : boards_) first = std::min(first, board->time_out());
    return first;
  }
  /// Advances to the next time-out, and ends the calls that time out.
  void expire(std::vector<Completion>& completed) {
    const Tick tick = time_out();
    if (tick == kNever) return;
    advance(tick, completed);
    if (!completed.empty()) return;
    for (Node* board : boards_) board->expire(tick);
    advance(kNever, completed);
  }
  [[nodiscard]] std::vector<Blocked> blocked() const override {
    std::vector<Blocked> all;
    if (kernels_blocked) all = kernels_blocked();
    for (const Node* board : boards_) board->blocked(all);
    return all;
  }
  /// "no light path joins ..." if none joins the boards of two ranks, else empty.
  [[nodiscard]] std::string missing_light(unsigned one, unsigned other) const {
    return accl::missing_light(assembly_, numbers_[one], numbers_[other]);
  }
  /// One line per pair of ranks that had no light path when one sent to the other.
  [[nodiscard]] std::vector<std::string> unlit() const {
    std::vector<std::string> all;
    for (const Node* board : boards_) all.insert(all.end(), board->unlit().begin(), board->unlit().end());
    return all;
  }
  [[nodiscard]] std::vector<Lost> lost() const override { return assembly_.lost(); }
  [[nodiscard]] const Assembly& assembly() const { return assembly_; }
  [[nodiscard]] Assembly& assembly() { return assembly_; }
  /// Closes the capture. Throws std::runtime_error if it cannot be written.
  void close() {
    if (capture_) capture_->close();
  }

 private:
  static constexpr Tick kStride = 1 << 20;

  static Kinds kinds(Tick ticks_per_second, ethernet::Frames& frames) {
    Kinds known;
    ethernet::add_kinds(known, ticks_per_second, frames);
    accl::add_kinds(known, ticks_per_second, frames);
    return known;
  }
  /// A member's session is the rank of its board.
  [[nodiscard]] std::optional<ethernet::UdpEnd> end_of(const Member& member) const {
    if (member.session >= boards_.size()) return std::nullopt;
    return boards_[member.session]->udp.own;
  }

  ethernet::Frames frames_;
  std::optional<ethernet::Capture> capture_;
  Assembly assembly_;
  std::vector<Node*> boards_;
  std::vector<unsigned> numbers_;  ///< node numbers of the boards
  Agreement agreement_;
  std::map<Handle, std::pair<std::uint32_t, std::string>> ends_;
  std::vector<Completion> ended_;
  std::vector<Failed> failed_;
};

}  // namespace thalweg::accl
