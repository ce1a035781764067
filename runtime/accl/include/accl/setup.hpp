// SPDX-License-Identifier: Apache-2.0
// Configuration of an engine in its exchange memory: receive buffers, communicators, arithmetic configurations and tuning, in the layout of ACCL's driver.
#pragma once

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "accl/buffer.hpp"
#include "accl/connection.hpp"
#include "accl/constants.hpp"

namespace ACCL {

/// A member of a communicator. Its session is its board; if negative, the difference of its port to rank 0's is used.
struct rank_t {
  std::string ip;
  int port;
  int session_id;
  addr_t max_segment_size;
};

namespace detail {

inline std::uint32_t low(addr_t address) {
  return static_cast<std::uint32_t>(address);
}
inline std::uint32_t high(addr_t address) {
  return static_cast<std::uint32_t>(address >> 32);
}

class Setup {
 public:
  struct Communicator {
    std::vector<rank_t> ranks;
    unsigned rank;
    addr_t address;
  };

  /// `prefix` starts error messages.
  Setup(std::shared_ptr<Board> board, std::string prefix) : board_(std::move(board)), prefix_(std::move(prefix)) {}

  /// Replaces the configuration: receive buffers, a communicator of these ranks, arithmetic configurations and tuning. Throws std::invalid_argument, and
  /// std::runtime_error if the exchange memory is full.
  void begin(const std::vector<rank_t>& ranks, int local_rank, unsigned buffers, addr_t buffer_bytes) {
    communicators_.clear();
    arithmetic_.clear();
    buffers_.clear();
    write_buffers(buffers, buffer_bytes);
    add_communicator(ranks, local_rank);
    write_arithmetic();
    write_tuning();
  }
  communicatorId add_communicator(const std::vector<rank_t>& ranks, int local_rank) {
    if (local_rank < 0 || static_cast<std::size_t>(local_rank) >= ranks.size())
      throw std::invalid_argument(prefix_ + "a communicator of " + std::to_string(ranks.size()) +
                                  " ranks; local rank " + std::to_string(local_rank) + " is not one of them");
    for (auto one = ranks.begin(); one != ranks.end(); ++one)
      if (std::any_of(one + 1, ranks.end(),
                      [&](const rank_t& other) { return other.ip == one->ip && other.port == one->port; }))
        throw std::invalid_argument(prefix_ + "a communicator with the rank at " + one->ip + ':' +
                                    std::to_string(one->port) + " twice");
    std::vector<std::uint32_t> words{static_cast<std::uint32_t>(ranks.size()), static_cast<std::uint32_t>(local_rank)};
    for (const rank_t& rank : ranks) {
      const int session = rank.session_id >= 0 ? rank.session_id : rank.port - first_port(ranks);
      const auto bytes = rank.max_segment_size > 0 ? rank.max_segment_size : segment_;
      for (const std::uint32_t word : {number_of(rank.ip), static_cast<std::uint32_t>(rank.port), 0U, 0U,
                                       static_cast<std::uint32_t>(session), static_cast<std::uint32_t>(bytes)})
        words.push_back(word);
    }
    communicators_.push_back({ranks, static_cast<unsigned>(local_rank), append(words)});
    return static_cast<communicatorId>(communicators_.size() - 1);
  }

  [[nodiscard]] const std::vector<Communicator>& communicators() const { return communicators_; }
  [[nodiscard]] const Communicator& communicator(communicatorId id) const {
    if (id >= communicators_.size())
      throw std::invalid_argument(prefix_ + "communicator " + std::to_string(id) + " does not exist");
    return communicators_[id];
  }
  /// Returns the address of the arithmetic configuration of element types in memory and on the wire.
  [[nodiscard]] addr_t arithmetic(const std::pair<dataType, dataType>& types) const {
    for (const Arithmetic& entry : arithmetic_)
      if (entry.types == types) return entry.address;
    throw std::invalid_argument(prefix_ + "no arithmetic for elements of these types");
  }

 private:
  static constexpr std::size_t kBufferWords = 7;
  static constexpr unsigned kFlatBytes = 32'768;  // maximum block of collectives that send directly from rank to rank

  struct Arithmetic {
    std::pair<dataType, dataType> types;
    addr_t address;
  };

  void write_buffers(unsigned number, addr_t bytes) {
    segment_ = bytes;
    end_ = 8 + 4 * kBufferWords * number;
    if (end_ > CCLO_ADDR::GATHER_FLAT_TREE_MAX_FANIN_OFFSET) throw full();
    std::vector<std::uint32_t> words{number, static_cast<std::uint32_t>(bytes)};
    for (unsigned k = 0; k < number; ++k) {
      buffers_.push_back(std::make_shared<Block>(board_, false, bytes, nullptr));
      for (const std::uint32_t word : {0U, low(buffers_[k]->address), high(buffers_[k]->address), 0U, 0U, 0U, 0U})
        words.push_back(word);
    }
    board_->connection.write(CCLO_ADDR::NUM_EGR_RX_BUFS_OFFSET, words);
  }
  [[nodiscard]] int first_port(const std::vector<rank_t>& ranks) const {
    return (communicators_.empty() ? ranks : communicators_[GLOBAL_COMM].ranks)[0].port;
  }
  /// Writes them in the driver's order. Numbers of the engine's arithmetic units are those of sim/accl/arithmetic.hpp.
  void write_arithmetic() {
    using Units = std::array<std::uint32_t, 4>;  // sum, maximum, product, minimum
    constexpr Units kFloat16{4, 9, 16, 22};
    const auto add = [this](dataType wide, dataType narrow, const Units& units) {
      const auto bytes = [](dataType type) { return static_cast<std::uint32_t>(size_of(type)); };
      const std::uint32_t differ = wide != narrow;
      arithmetic_.push_back(
          {{wide, narrow},
           append({bytes(wide), bytes(narrow), differ, 0, 1, 4, 1, units[0], units[1], units[2], units[3]})});
    };
    add(dataType::float16, dataType::float16, kFloat16);
    add(dataType::float32, dataType::float16, kFloat16);
    add(dataType::float32, dataType::float32, {0, 5, 12, 18});
    add(dataType::float64, dataType::float64, {1, 6, 13, 19});
    add(dataType::int32, dataType::int32, {2, 7, 14, 20});
    add(dataType::int64, dataType::int64, {3, 8, 15, 21});
    add(dataType::int8, dataType::int8, {10, 11, 17, 23});
  }
  /// Writes maximum fan-in and block bytes of a flat gather, ranks of a flat broadcast, ranks and bytes of a flat reduction, and a spare buffer.
  void write_tuning() {
    spare_ = std::make_shared<Block>(board_, false, kFlatBytes, nullptr);
    board_->connection.write(CCLO_ADDR::GATHER_FLAT_TREE_MAX_FANIN_OFFSET,
                             {2, kFlatBytes, 3, 4, kFlatBytes / 4, low(spare_->address), high(spare_->address)});
    board_->connection.write(CCLO_ADDR::CFGRDY_OFFSET, {1});
  }
  addr_t append(const std::vector<std::uint32_t>& words) {
    const addr_t address = end_;
    if (address + 4 * words.size() > CCLO_ADDR::GATHER_FLAT_TREE_MAX_FANIN_OFFSET) throw full();
    board_->connection.write(address, words);
    end_ += 4 * words.size();
    return address;
  }
  [[nodiscard]] std::runtime_error full() const {
    return std::runtime_error(prefix_ +
                              "the exchange memory is full: receive buffers and communicators take more than " +
                              std::to_string(CCLO_ADDR::GATHER_FLAT_TREE_MAX_FANIN_OFFSET) + " bytes");
  }
  /// Converts an address such as 10.0.0.1; 0 if it is invalid.
  static std::uint32_t number_of(const std::string& ip) {
    in_addr parsed{};
    return inet_pton(AF_INET, ip.c_str(), &parsed) == 1 ? ntohl(parsed.s_addr) : 0;
  }

  std::shared_ptr<Board> board_;
  std::string prefix_;
  addr_t segment_ = 0;  // bytes of a receive buffer
  addr_t end_ = 0;      // end of the configuration in the exchange memory
  std::vector<std::shared_ptr<Block>> buffers_;
  std::shared_ptr<Block> spare_;
  std::vector<Communicator> communicators_;
  std::vector<Arithmetic> arithmetic_;
};

}  // namespace detail
}  // namespace ACCL
