// SPDX-License-Identifier: Apache-2.0
// Buffers: elements in the memory of a rank's board or of its host, and the program's array.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "accl/connection.hpp"
#include "accl/constants.hpp"

namespace ACCL {

namespace detail {

/// Allocates the two memories of a rank. A freed block is reused for one of the same size.
class Memories {
 public:
  static constexpr std::size_t kPage = 4096;

  explicit Memories(Connection& connection) : connection_(connection) {}

  addr_t allocate(bool host, std::size_t bytes) {
    const std::size_t pages = (std::max<std::size_t>(bytes, 1) + kPage - 1) / kPage;
    auto& freed = freed_[{host, pages}];
    if (!freed.empty()) {
      const addr_t address = freed.back();
      freed.pop_back();
      return address;
    }
    addr_t& end = end_[host ? 1 : 0];
    const addr_t address = end;
    connection_.allocate(host, address, pages * kPage);
    end += pages * kPage;
    return address;
  }
  void free(bool host, addr_t address, std::size_t bytes) {
    freed_[{host, (std::max<std::size_t>(bytes, 1) + kPage - 1) / kPage}].push_back(address);
  }

 private:
  Connection& connection_;
  addr_t end_[2] = {};
  std::map<std::pair<bool, std::size_t>, std::vector<addr_t>> freed_;
};

/// State that buffers share with their rank.
struct Board {
  explicit Board(unsigned rank) : connection(rank), memories(connection) {}
  Connection connection;
  Memories memories;
};

/// Bytes of a memory and their array; freed with its last owner.
struct Block {
  Block(std::shared_ptr<Board> owner, bool in_host, std::size_t size, void* host_array)
      : board(std::move(owner)),
        host(in_host),
        bytes(size),
        address(board->memories.allocate(host, bytes)),
        own(host_array ? 0 : size),
        array(host_array ? host_array : own.data()) {}
  ~Block() { board->memories.free(host, address, bytes); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  std::shared_ptr<Board> board;
  bool host;
  std::size_t bytes;
  addr_t address;
  std::vector<char> own;
  void* array;
  /// Results of calls that the program has not waited for, as [begin, end): there the memory is newer than the array.
  std::multiset<std::pair<std::size_t, std::size_t>> newer{};
};

}  // namespace detail

class BaseBuffer {
 public:
  virtual ~BaseBuffer() = default;
  BaseBuffer(const BaseBuffer&) = delete;
  BaseBuffer& operator=(const BaseBuffer&) = delete;

  void sync_to_device() { sync_to_device(_size); }
  void sync_from_device() { sync_from_device(_size); }
  /// Frees the memory once all calls that use the buffer have ended.
  void free_buffer() {
    _block.reset();
    _byte_array = nullptr;
  }
  [[nodiscard]] bool is_simulated() const { return true; }
  [[nodiscard]] bool is_host_only() const { return block().host; }
  [[nodiscard]] std::size_t size() const { return _size; }  ///< in bytes
  [[nodiscard]] dataType type() const { return _type; }
  [[nodiscard]] void* byte_array() const { return _byte_array; }
  [[nodiscard]] addr_t address() const { return block().address + _offset; }
  /// The elements [start, end) in the same memory.
  virtual std::unique_ptr<BaseBuffer> slice(std::size_t start, std::size_t end) = 0;

 protected:
  BaseBuffer(std::shared_ptr<detail::Block> block, std::size_t offset, std::size_t size, dataType type)
      : _block(std::move(block)),
        _offset(offset),
        _size(size),
        _type(type),
        _byte_array(static_cast<char*>(_block->array) + offset) {}

  std::shared_ptr<detail::Block> _block;
  std::size_t _offset, _size;
  dataType _type;
  void* _byte_array;

 private:
  friend class ACCL;

  [[nodiscard]] detail::Block& block() const {
    if (!_block) throw std::invalid_argument("the buffer has been freed");
    return *_block;
  }
  void sync_to_device(std::size_t bytes) { store(_offset, _offset + bytes); }
  /// Copies an operand to the memory, except where the memory is newer.
  void store_older(std::size_t bytes) {
    std::size_t at = _offset;
    const std::size_t end = _offset + bytes;
    for (const auto& [first, last] : block().newer) {
      if (first >= end) break;
      if (first > at) store(at, first);
      at = std::max(at, last);
    }
    if (at < end) store(at, end);
  }
  void store(std::size_t first, std::size_t last) {
    block().board->connection.store(block().host, block().address + first, static_cast<char*>(block().array) + first,
                                    last - first);
  }
  void sync_from_device(std::size_t bytes) {
    block().board->connection.load(block().host, address(), _byte_array, bytes);
  }
};

template <typename dtype>
class Buffer : public BaseBuffer {
 public:
  Buffer(std::shared_ptr<detail::Block> block, std::size_t offset, std::size_t length, dataType type)
      : BaseBuffer(std::move(block), offset, length * sizeof(dtype), type) {}

  [[nodiscard]] std::size_t length() const { return _size / sizeof(dtype); }
  [[nodiscard]] dtype* buffer() const { return static_cast<dtype*>(_byte_array); }
  dtype& operator[](std::size_t i) const { return buffer()[i]; }

  std::unique_ptr<BaseBuffer> slice(std::size_t start, std::size_t end) override {
    if (start > end || end > length())
      throw std::invalid_argument("slice [" + std::to_string(start) + ", " + std::to_string(end) +
                                  ") exceeds a buffer of " + std::to_string(length()) + " elements");
    return std::make_unique<Buffer<dtype>>(_block, _offset + start * sizeof(dtype), end - start, _type);
  }
};

}  // namespace ACCL
