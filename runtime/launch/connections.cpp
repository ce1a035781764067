// SPDX-License-Identifier: Apache-2.0
#include "launch/connections.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace thalweg::launch {

Connections::Connections(int listener, unsigned ranks, int memory, const Welcome& welcome)
    : listener_(listener),
      poller_(epoll_create1(EPOLL_CLOEXEC)),
      memory_(memory),
      welcome_(welcome),
      sockets_(ranks, -1),
      processes_(ranks, 0),
      watched_(ranks) {
  if (poller_ < 0) throw std::system_error(errno, std::generic_category(), "epoll_create1");
  fcntl(listener_, F_SETFL, fcntl(listener_, F_GETFL) | O_NONBLOCK);
  watch(listener_);
}

Connections::~Connections() {
  for (const int socket : sockets_)
    if (socket >= 0) close(socket);
  for (const int socket : strangers_) close(socket);
  close(poller_);
  close(listener_);
}

void Connections::watch(int descriptor) {
  epoll_event event{};
  // Edge-triggered: a level-triggered socket that is ready keeps its position in the ready list, so the order of the ends is lost.
  event.events = EPOLLIN | EPOLLRDHUP | EPOLLET;
  event.data.fd = descriptor;
  epoll_ctl(poller_, EPOLL_CTL_ADD, descriptor, &event);
}

void Connections::lose(unsigned rank) {
  epoll_ctl(poller_, EPOLL_CTL_DEL, sockets_[rank], nullptr);
  epoll_ctl(poller_, EPOLL_CTL_DEL, watched_[rank].descriptor(), nullptr);
  if (std::ranges::find(lost_, rank) == lost_.end()) lost_.push_back(rank);
}

void Connections::poll(int milliseconds) {
  std::array<epoll_event, 64> events;
  const int ready = epoll_wait(poller_, events.data(), events.size(), milliseconds);
  for (int i = 0; i < ready; ++i) {
    const auto& event = events[static_cast<std::size_t>(i)];
    const int socket = event.data.fd;
    if (socket == listener_) {
      accept_ranks();
      continue;
    }
    if (std::erase(strangers_, socket) != 0) greet(socket);
    const auto process = std::ranges::find(watched_, socket, &WatchedProcess::descriptor);
    if (process != watched_.end()) lose(static_cast<unsigned>(process - watched_.begin()));
    const auto rank = std::ranges::find(sockets_, socket);
    if (rank == sockets_.end() || (event.events & (EPOLLRDHUP | EPOLLHUP)) == 0) continue;
    lose(static_cast<unsigned>(rank - sockets_.begin()));
  }
}

void Connections::accept_ranks() {
  for (int socket; (socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
    strangers_.push_back(socket);
    watch(socket);
  }
}

void Connections::greet(int socket) {
  const auto refuse = [&](const std::string& what) {
    if (refusal_.empty()) refusal_ = what;
    close(socket);
  };
  Hello hello;
  if (recv(socket, &hello, sizeof hello, MSG_WAITALL) != sizeof hello || hello.magic != kMagic)
    return refuse("a process that is not a rank of the program called the run's socket");
  hello.library[sizeof hello.library - 1] = 0;
  if (hello.library[0] != 0) return refuse(hello.library);
  const auto ranks = static_cast<std::int32_t>(sockets_.size());
  if (hello.size != ranks || hello.rank < 0 || hello.rank >= ranks)
    return refuse("a rank says that it is " + std::to_string(hello.rank) + " of " + std::to_string(hello.size) +
                  "; the run has " + std::to_string(ranks));
  const auto rank = static_cast<std::size_t>(hello.rank);
  if (sockets_[rank] >= 0) return refuse("two processes say that they are rank " + std::to_string(hello.rank));

  iovec payload{&welcome_, sizeof welcome_};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &payload;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* part = CMSG_FIRSTHDR(&message);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(part), &memory_, sizeof memory_);
  if (sendmsg(socket, &message, MSG_NOSIGNAL) != sizeof welcome_)
    return refuse("rank " + std::to_string(hello.rank) + " left while it was greeted");
  sockets_[rank] = socket;
  processes_[rank] = hello.pid;
  ucred peer{};
  socklen_t size = sizeof peer;
  getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size);
  watched_[rank] = WatchedProcess(peer.pid);
  if (watched_[rank].descriptor() >= 0) watch(watched_[rank].descriptor());
  ++joined_;
}

}  // namespace thalweg::launch
