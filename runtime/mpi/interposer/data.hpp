// SPDX-License-Identifier: Apache-2.0
// Packs data of any type from the program's buffers into the rank's heap, and unpacks it.
#pragma once

#include <utility>

#include "mpi/interposer/process.hpp"

namespace thalweg::mpi {

/// Memory layout of a datatype.
class Layout {
 public:
  explicit Layout(MPI_Datatype type);
  /// A copy that remains valid after the program frees its datatype.
  [[nodiscard]] Layout kept() const;

  [[nodiscard]] std::uint64_t bytes(MPI_Count count) const { return static_cast<std::uint64_t>(size_ * count); }
  [[nodiscard]] bool predefined() const { return predefined_; }
  [[nodiscard]] MPI_Datatype type() const { return type_; }
  /// Address of element `count` of `buffer`.
  [[nodiscard]] void* at(void* buffer, MPI_Count count) const { return static_cast<char*>(buffer) + extent_ * count; }
  [[nodiscard]] const void* at(const void* buffer, MPI_Count count) const {
    return static_cast<const char*>(buffer) + extent_ * count;
  }
  /// Bytes of memory that `count` elements span, gaps included.
  [[nodiscard]] std::uint64_t span(MPI_Count count) const { return static_cast<std::uint64_t>(extent_ * count); }

  int copy_in(std::byte* to, const void* from, MPI_Count count) const;
  /// `bytes` may end within an element.
  int copy_out(void* to, MPI_Count count, const std::byte* from, std::uint64_t bytes) const;

 private:
  MPI_Datatype type_;
  std::shared_ptr<const MPI_Datatype> own_;  ///< a duplicate, freed with its last user
  MPI_Count size_ = 0;
  MPI_Count extent_ = 0;
  bool predefined_ = false;
  bool plain_ = false;  ///< contiguous
};

/// A piece of the rank's own heap, freed by the destructor.
class Piece {
 public:
  explicit Piece(std::uint64_t bytes) : offset_(process().heap().take(bytes)) {}
  ~Piece() {
    if (offset_ != 0) process().heap().give_back(offset_);
  }
  Piece(Piece&& other) noexcept : offset_(std::exchange(other.offset_, 0)) {}
  Piece& operator=(Piece&&) = delete;

  [[nodiscard]] std::uint64_t offset() const { return offset_; }
  [[nodiscard]] std::byte* data() const { return process().at(offset_); }
  /// Passes ownership to a reader in another process.
  std::uint64_t lend() {
    process().heap().lend(offset_);
    return std::exchange(offset_, 0);
  }

 private:
  std::uint64_t offset_;
};

}  // namespace thalweg::mpi
