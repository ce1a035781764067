// SPDX-License-Identifier: Apache-2.0
#include "mpi/interposer/data.hpp"

#include <algorithm>

namespace thalweg::mpi {
namespace {

/// Number of leading elements to copy separately: at MPI_BOTTOM, MPICH (5.0.2) packs one element, but rejects several.
MPI_Count alone(const void* buffer, MPI_Count count) {
  return buffer == MPI_BOTTOM && count > 1 ? 1 : 0;
}

}  // namespace

namespace {

bool ends_inside_a_basic_element(MPI_Datatype type, std::uint64_t bytes) {
  MPI_Status status{};
  MPI_Count elements = 0;
  PMPI_Status_set_elements_x(&status, MPI_BYTE, static_cast<MPI_Count>(bytes));
  PMPI_Get_elements_x(&status, type, &elements);
  return elements == MPI_UNDEFINED;
}

}  // namespace

Layout::Layout(MPI_Datatype type) : type_(type) {
  int integers = 0, addresses = 0, types = 0, combiner = 0;
  PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  MPI_Count lower = 0;
  PMPI_Type_size_x(type, &size_);
  PMPI_Type_get_extent_x(type, &lower, &extent_);
  predefined_ = combiner == MPI_COMBINER_NAMED;
  plain_ = predefined_ && size_ == extent_;
}

Layout Layout::kept() const {
  Layout copy = *this;
  if (predefined_) return copy;
  PMPI_Type_dup(type_, &copy.type_);
  copy.own_ = std::shared_ptr<const MPI_Datatype>(new MPI_Datatype(copy.type_), [](const MPI_Datatype* type) {
    MPI_Datatype freed = *type;
    PMPI_Type_free(&freed);
    delete type;
  });
  return copy;
}

int Layout::copy_in(std::byte* to, const void* from, MPI_Count count) const {
  if (count == 0 || size_ == 0) return MPI_SUCCESS;
  if (plain_) {
    std::memcpy(to, from, bytes(count));
    return MPI_SUCCESS;
  }
  const MPI_Count first = alone(from, count);
  if (first > 0)
    if (const int error = pack(from, first, type_, to, size_ * first)) return error;
  return pack(at(from, first), count - first, type_, to + bytes(first), size_ * (count - first));
}

int Layout::copy_out(void* to, MPI_Count count, const std::byte* from, std::uint64_t bytes) const {
  if (bytes == 0 || size_ == 0) return MPI_SUCCESS;
  if (plain_) {
    std::memcpy(to, from, bytes);
    return MPI_SUCCESS;
  }
  const MPI_Count whole = std::min<MPI_Count>(count, static_cast<MPI_Count>(bytes) / size_);
  const MPI_Count first = alone(to, whole);
  if (first > 0)
    if (const int error = unpack(from, first * size_, to, first, type_)) return error;
  if (whole > first)
    if (const int error =
            unpack(from + this->bytes(first), (whole - first) * size_, at(to, first), whole - first, type_))
      return error;
  const std::uint64_t rest = bytes - this->bytes(whole);
  if (rest == 0 || whole == count) return MPI_SUCCESS;
  std::vector<std::byte> element(static_cast<std::size_t>(size_));
  if (const int error = pack(at(to, whole), 1, type_, element.data(), size_)) return error;
  std::memcpy(element.data(), from + this->bytes(whole), rest);
  if (const int error = unpack(element.data(), size_, at(to, whole), 1, type_)) return error;
  // As in MPICH, which accepts any number of bytes for a type without gaps.
  return size_ != extent_ && ends_inside_a_basic_element(type_, rest) ? MPI_ERR_TYPE : MPI_SUCCESS;
}

}  // namespace thalweg::mpi
