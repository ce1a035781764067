// SPDX-License-Identifier: Apache-2.0
// The ranks' sockets: a rank connects with a greeting and gets the shared memory, and its exit is detected. A child process can keep
// the socket open, so the ranks' processes are watched, too.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "launch/greeting.hpp"
#include "launch/watched_process.hpp"

namespace thalweg::launch {

class Connections {
 public:
  /// Takes ownership of `listener`, a listening Unix stream socket.
  Connections(int listener, unsigned ranks, int memory, const Welcome& welcome);
  ~Connections();
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  /// Waits at most `milliseconds` for ranks that connect or exit.
  void poll(int milliseconds);

  [[nodiscard]] unsigned joined() const { return joined_; }
  [[nodiscard]] bool has_joined(unsigned rank) const { return sockets_[rank] >= 0; }
  [[nodiscard]] const std::vector<std::int32_t>& processes() const { return processes_; }
  /// Ranks whose process has ended or left the run, in the order of these events.
  [[nodiscard]] const std::vector<unsigned>& lost() const { return lost_; }
  [[nodiscard]] bool has_lost(unsigned rank) const { return std::ranges::find(lost_, rank) != lost_.end(); }
  /// The process of a rank that has joined.
  [[nodiscard]] const WatchedProcess& process(unsigned rank) const { return watched_[rank]; }
  /// Reason why a greeting was refused, or empty.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }

 private:
  void accept_ranks();
  void greet(int socket);
  void watch(int descriptor);
  void lose(unsigned rank);

  int listener_;
  int poller_;
  int memory_;
  Welcome welcome_;
  unsigned joined_ = 0;
  std::vector<int> sockets_;    ///< of each rank; -1 before it connects
  std::vector<int> strangers_;  ///< accepted, not greeted yet
  std::vector<std::int32_t> processes_;
  std::vector<WatchedProcess> watched_;
  std::vector<unsigned> lost_;
  std::string refusal_;
};

}  // namespace thalweg::launch
