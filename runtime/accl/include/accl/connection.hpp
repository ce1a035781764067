// SPDX-License-Identifier: Apache-2.0
// The connection of a rank's program to the simulator that has started it: a Unix socket, whose path is in the environment. Each request has one answer.
// python/thalweg/systems/accl/hosts.py defines the same headers.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "accl/constants.hpp"

namespace ACCL::detail {

enum class Kind : std::uint32_t { hello, read, write, load, store, allocate, call, wait, start };

struct RequestHeader {
  Kind kind{};
  std::uint32_t argument = 0;
  std::uint64_t address = 0, size = 0, bytes = 0;
};
struct AnswerHeader {
  std::uint32_t status = 0, code = 0;
  std::uint64_t value = 0, bytes = 0;
};
enum class ArgumentKind : std::uint32_t { signed_number, real, memory, unsigned_number };
struct KernelArgument {
  ArgumentKind kind{};
  std::uint16_t host = 0;
  std::uint16_t type = 0;  ///< dataType of memory
  std::uint64_t value = 0, size = 0;
};
static_assert(sizeof(RequestHeader) == 32 && sizeof(AnswerHeader) == 24 && sizeof(KernelArgument) == 24);

/// End of a call.
struct End {
  std::uint32_t code = 0;
  std::uint64_t duration_ns = 0;
  std::string reason{};  ///< reason if the code is not 0
};

inline std::optional<unsigned> number_in(const char* name) {
  const char* text = std::getenv(name);
  if (!text || !*text) return std::nullopt;
  return static_cast<unsigned>(std::strtoul(text, nullptr, 10));
}

class Connection {
 public:
  static constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

  explicit Connection(unsigned rank) : rank_(rank) {
    if (in_use()) throw std::runtime_error("this process already has an ACCL; a process is one rank");
    const char* path = std::getenv("THALWEG_ACCL_SOCKET");
    sockaddr_un address{};
    if (!path || std::strlen(path) >= sizeof address.sun_path)
      throw std::runtime_error("not started by a simulator; use thalweg accl run -n RANKS -- PROGRAM");
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, path);
    socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket_ < 0 || ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      const std::string reason = std::strerror(errno);
      if (socket_ >= 0) ::close(socket_);
      throw std::runtime_error(std::string("the simulator is not at ") + path + ": " + reason);
    }
    try {
      exchange({Kind::hello, kVersion, rank, 0, 0});
    } catch (...) {
      ::close(socket_);
      throw;
    }
    in_use() = true;
  }
  ~Connection() {
    ::close(socket_);
    in_use() = false;
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Reads a word of the exchange memory.
  std::uint32_t read(addr_t address) {
    return static_cast<std::uint32_t>(exchange({Kind::read, 0, address, 0, 0}).value);
  }
  void write(addr_t address, const std::vector<std::uint32_t>& words) {
    exchange({Kind::write, 0, address, 0, 4 * words.size()}, words.data());
  }
  void load(bool host, addr_t address, void* to, std::size_t bytes) {
    for (std::size_t done = 0; done < bytes; done += kMaxBytes)
      exchange({Kind::load, host, address + done, std::min(bytes - done, kMaxBytes), 0}, nullptr,
               static_cast<char*>(to) + done);
  }
  void store(bool host, addr_t address, const void* from, std::size_t bytes) {
    for (std::size_t done = 0; done < bytes; done += kMaxBytes)
      exchange({Kind::store, host, address + done, 0, std::min(bytes - done, kMaxBytes)},
               static_cast<const char*>(from) + done);
  }
  void allocate(bool host, addr_t address, std::size_t bytes) { exchange({Kind::allocate, host, address, bytes, 0}); }

  /// Starts a call once the calls `after` have ended, and returns its number.
  std::uint64_t call(const std::array<std::uint32_t, 15>& words, const std::vector<std::uint64_t>& after) {
    std::string data(reinterpret_cast<const char*>(words.data()), sizeof words);
    data.append(reinterpret_cast<const char*>(after.data()), 8 * after.size());
    return exchange({Kind::call, 0, 0, 0, data.size()}, data.data()).value;
  }
  std::uint64_t start(const std::string& kernel, const std::vector<KernelArgument>& arguments) {
    std::string data = kernel + '\0';
    data.append(reinterpret_cast<const char*>(arguments.data()), sizeof(KernelArgument) * arguments.size());
    return exchange({Kind::start, 0, 0, 0, data.size()}, data.data()).value;
  }
  /// Waits for a call, at most for this virtual time; nullopt if it has not ended. An ended call's number becomes invalid.
  std::optional<End> wait(std::uint64_t number, std::uint64_t limit_ns) {
    std::string reason;
    const AnswerHeader answer = exchange({Kind::wait, 0, number, limit_ns, 0}, nullptr, nullptr, &reason);
    if (answer.status == kRunning) return std::nullopt;
    return End{answer.code, answer.value, reason};
  }

 private:
  static bool& in_use() {
    static bool used = false;
    return used;
  }

  static constexpr std::uint32_t kVersion = 1, kRefused = 1, kRunning = 2;
  static constexpr std::size_t kMaxBytes = std::size_t{64} << 20;

  /// The answer's data go to `to`, or into a text.
  AnswerHeader exchange(const RequestHeader& request, const void* data = nullptr, void* to = nullptr,
                        std::string* text = nullptr) {
    if (::getpid() != process_)
      throw std::runtime_error(prefix() +
                               "a call from a forked process; only the process that has made the ACCL is the rank");
    const std::unique_lock<std::mutex> locked(mutex_, std::try_to_lock);
    if (!locked)
      throw std::runtime_error(prefix() +
                               "a call while another thread is in one; make all calls of a rank from one thread");
    send(&request, sizeof request);
    send(data, request.bytes);
    AnswerHeader answer;
    receive(&answer, sizeof answer);
    std::string refused;
    if (answer.status == kRefused || !to) {
      std::string& into = text && answer.status != kRefused ? *text : refused;
      into.resize(answer.bytes);
      receive(into.data(), into.size());
    } else {
      receive(to, answer.bytes);
    }
    if (answer.status == kRefused) throw std::invalid_argument(refused);
    return answer;
  }
  void send(const void* data, std::size_t bytes) {
    for (auto* from = static_cast<const char*>(data); bytes > 0;) {
      const auto sent = ::send(socket_, from, bytes, MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent <= 0) throw std::runtime_error("the simulator has ended");
      from += sent;
      bytes -= static_cast<std::size_t>(sent);
    }
  }
  void receive(void* data, std::size_t bytes) {
    for (auto* to = static_cast<char*>(data); bytes > 0;) {
      const auto received = ::recv(socket_, to, bytes, 0);
      if (received < 0 && errno == EINTR) continue;
      if (received <= 0) throw std::runtime_error("the simulator has ended");
      to += received;
      bytes -= static_cast<std::size_t>(received);
    }
  }

  [[nodiscard]] std::string prefix() const { return "rank " + std::to_string(rank_) + ": "; }

  unsigned rank_;
  pid_t process_ = ::getpid();
  int socket_ = -1;
  std::mutex mutex_;
};

}  // namespace ACCL::detail
