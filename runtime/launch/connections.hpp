// SPDX-License-Identifier: Apache-2.0
// The sockets of the ranks: a rank connects with a greeting, gets the shared memory, and is detected when it exits. A child process
// can keep the socket open, so the ranks' processes are watched, too.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launch/greeting.hpp"
#include "launch/watched_process.hpp"

namespace thalweg::launch {

class Connections {
 public:
  /// Takes over `listener`, a Unix stream socket that listens.
  Connections(int listener, unsigned ranks, int memory, const Welcome& welcome);
  ~Connections();
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  /// Looks for at most `milliseconds` for ranks that come or go.
  void poll(int milliseconds);

  [[nodiscard]] unsigned joined() const { return joined_; }
  [[nodiscard]] bool has_joined(unsigned rank) const { return sockets_[rank] >= 0; }
  [[nodiscard]] const std::vector<std::int32_t>& processes() const { return processes_; }
  /// Ranks whose process has ended, or is none of the run any more, in the order of their ends.
  [[nodiscard]] const std::vector<unsigned>& lost() const { return lost_; }
  /// The process of a rank that has joined.
  [[nodiscard]] const WatchedProcess& process(unsigned rank) const { return watched_[rank]; }
  /// What is wrong with a greeting, or nothing.
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
  std::vector<int> sockets_;    ///< of each rank; -1 before it comes
  std::vector<int> strangers_;  ///< accepted, not greeted yet
  std::vector<std::int32_t> processes_;
  std::vector<WatchedProcess> watched_;
  std::vector<unsigned> lost_;
  std::string refusal_;
};

}  // namespace thalweg::launch
