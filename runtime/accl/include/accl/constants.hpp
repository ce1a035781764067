// SPDX-License-Identifier: Apache-2.0
// Numbers of ACCL's engine under the names of its driver: types, functions, flags of calls, return codes, and words of the exchange memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace ACCL {

using addr_t = std::uint64_t;
using val_t = std::uint32_t;
using communicatorId = unsigned;

constexpr unsigned TAG_ANY = 0xFFFFFFFF;
constexpr communicatorId GLOBAL_COMM = 0;

enum class dataType { none, int8, float16, float32, float64, int32, int64 };

/// Bits of an element.
inline const std::map<dataType, unsigned> dataTypeSize{
    {dataType::none, 0},     {dataType::int8, 8},   {dataType::float16, 16}, {dataType::float32, 32},
    {dataType::float64, 64}, {dataType::int32, 32}, {dataType::int64, 64}};

/// PROD and MIN are Thalweg's extensions.
enum class reduceFunction { SUM = 0, MAX = 1, PROD = 2, MIN = 3 };

enum class operation : std::uint32_t {
  config = 0,
  copy = 1,
  combine = 2,
  send = 3,
  recv = 4,
  bcast = 5,
  scatter = 6,
  gather = 7,
  reduce = 8,
  allgather = 9,
  allreduce = 10,
  reduce_scatter = 11,
  barrier = 12,
  alltoall = 13,
  nop = 255
};

enum class cfgFunc : std::uint32_t {
  reset_periph = 0,
  enable_pkt = 1,
  set_timeout = 2,
  set_max_eager_msg_size = 3,
  set_max_rendezvous_msg_size = 4
};

/// Bits of a return code.
enum class errorCode : std::uint32_t {
  COLLECTIVE_OP_SUCCESS = 0,
  DMA_MISMATCH_ERROR = 1U << 0,
  DMA_INTERNAL_ERROR = 1U << 1,
  DMA_DECODE_ERROR = 1U << 2,
  DMA_SLAVE_ERROR = 1U << 3,
  DMA_NOT_OKAY_ERROR = 1U << 4,
  DMA_NOT_END_OF_PACKET_ERROR = 1U << 5,
  DMA_NOT_EXPECTED_BTT_ERROR = 1U << 6,
  DMA_TIMEOUT_ERROR = 1U << 7,
  CONFIG_SWITCH_ERROR = 1U << 8,
  DEQUEUE_BUFFER_TIMEOUT_ERROR = 1U << 9,
  DEQUEUE_BUFFER_SPARE_BUFFER_STATUS_ERROR = 1U << 10,
  RECEIVE_TIMEOUT_ERROR = 1U << 11,
  DEQUEUE_BUFFER_SPARE_BUFFER_DMATAG_MISMATCH = 1U << 12,
  DEQUEUE_BUFFER_SPARE_BUFFER_INDEX_ERROR = 1U << 13,
  COLLECTIVE_NOT_IMPLEMENTED = 1U << 14,
  RECEIVE_OFFCHIP_SPARE_BUFF_ID_NOT_VALID = 1U << 15,
  EAGER_THRESHOLD_INVALID = 1U << 16,
  RENDEZVOUS_THRESHOLD_INVALID = 1U << 17,
  DMA_SIZE_ERROR = 1U << 18,
  ARITH_ERROR = 1U << 19,
  PACK_TIMEOUT_STS_ERROR = 1U << 20,
  PACK_SEQ_NUMBER_ERROR = 1U << 21,
  COMPRESSION_ERROR = 1U << 22,
  KRNL_TIMEOUT_STS_ERROR = 1U << 23,
  KRNL_STS_COUNT_ERROR = 1U << 24,
  SEGMENTER_EXPECTED_BTT_ERROR = 1U << 25,
  DMA_TAG_MISMATCH_ERROR = 1U << 26,
  NOT_READY_ERROR = 1U << 31
};

namespace CCLO_ADDR {
constexpr addr_t NUM_EGR_RX_BUFS_OFFSET = 0x0;
constexpr addr_t EGR_RX_BUF_SIZE_OFFSET = 0x4;
constexpr addr_t GATHER_FLAT_TREE_MAX_FANIN_OFFSET = 0x1FC4;
constexpr addr_t CFGRDY_OFFSET = 0x1FF4;
constexpr addr_t IDCODE_OFFSET = 0x1FF8;
constexpr addr_t RETCODE_OFFSET = 0x1FFC;
}  // namespace CCLO_ADDR

namespace detail {

/// Bytes of an element.
inline std::size_t size_of(dataType type) {
  return dataTypeSize.at(type) / 8;
}

// Flags of a call's words.
constexpr std::uint32_t kFromStream = 1, kToStream = 2, kHostShift = 8, kOnWire = 8;

}  // namespace detail
}  // namespace ACCL
