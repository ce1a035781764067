// SPDX-License-Identifier: Apache-2.0
// ACCL's operations for C++ programs on a simulated cluster, with the names and arguments of ACCL's driver. Header-only, for C++17:
//
//   #include <accl.hpp>
//   int main() {
//     ACCL::ACCL accl;                                     // this process is one rank
//     accl.initialize(ACCL::world(), ACCL::local_rank());
//     auto mine = accl.create_buffer<float>(1000, ACCL::dataType::float32);
//     auto sums = accl.create_buffer<float>(1000, ACCL::dataType::float32);
//     accl.allreduce(*mine, *sums, 1000, ACCL::reduceFunction::SUM);
//   }
//
//   g++ -std=c++17 -I $(thalweg accl include) program.cpp -o program
//   thalweg accl run -n 4 -- ./program
//
// Virtual time advances while the program waits for a call, and is stopped while it computes. With `run_async`, an operation returns at once.
// Waiting for a failed call throws call_error; invalid arguments throw std::invalid_argument. Unlike in the driver, requests in `waitfor` may be in
// progress, and wait() copies the result to its buffer's array unless `to_fpga` is set.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "accl/buffer.hpp"
#include "accl/call.hpp"
#include "accl/connection.hpp"
#include "accl/constants.hpp"
#include "accl/request.hpp"
#include "accl/setup.hpp"

namespace ACCL {

/// This process's rank, and the number of ranks, as set by the simulator.
inline unsigned local_rank() {
  for (const char* name : {"THALWEG_ACCL_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK"})
    if (const auto rank = detail::number_in(name)) return *rank;
  return 0;
}
inline unsigned world_size() {
  return detail::number_in("THALWEG_ACCL_RANKS").value_or(1);
}
/// All ranks.
inline std::vector<rank_t> world() {
  std::vector<rank_t> ranks;
  for (int rank = 0; rank < static_cast<int>(world_size()); ++rank)
    ranks.push_back({"127.0.0.1", 5500 + rank, rank, 0});
  return ranks;
}

class ACCL {
 public:
  /// This process's rank.
  ACCL() : ACCL(0, ::ACCL::local_rank()) {}
  /// The driver's constructor for simulations; the port is ignored.
  ACCL(unsigned /*start_port*/, unsigned local_rank)
      : rank_(local_rank), board_(std::make_shared<detail::Board>(local_rank)), setup_(board_, prefix()) {}
  ~ACCL() {
    for (const auto& [request, own] : requests_)
      if (!request->done) return;  // a reset would end the call
    try {
      deinit();
    } catch (const std::exception&) {  // the simulator reports the error
    }
  }
  ACCL(const ACCL&) = delete;
  ACCL& operator=(const ACCL&) = delete;

  /// Configures the engine with `n_egr_rx_bufs` receive buffers of `egr_rx_buf_size` bytes and a communicator of these ranks. Messages of up to
  /// `max_egr_size` bytes use receive buffers. On clusters with rendezvous, larger ones up to `max_rndzv_size` are written to their destination.
  void initialize(const std::vector<rank_t>& ranks, int local_rank, int n_egr_rx_bufs = 16,
                  addr_t egr_rx_buf_size = 1024, addr_t max_egr_size = 1024, addr_t max_rndzv_size = 32 * 1024) {
    if (n_egr_rx_bufs < 1 || egr_rx_buf_size > kMaxSize || max_egr_size > kMaxSize || max_rndzv_size > kMaxSize)
      throw std::invalid_argument("initialize: n_egr_rx_bufs must be at least 1, and sizes must fit in 32 bits");
    if (local_rank < 0 || static_cast<std::size_t>(local_rank) >= ranks.size())
      throw std::invalid_argument("initialize: local_rank is " + std::to_string(local_rank) + "; must be 0 to " +
                                  std::to_string(static_cast<int>(ranks.size()) - 1));
    soft_reset();
    setup_.begin(ranks, local_rank, static_cast<unsigned>(n_egr_rx_bufs), egr_rx_buf_size);
    ready_ = true;
    configure(cfgFunc::enable_pkt, 0);
    configure(cfgFunc::set_timeout, 1'000'000);
    configure(cfgFunc::set_max_eager_msg_size, static_cast<unsigned>(max_egr_size));
    configure(cfgFunc::set_max_rendezvous_msg_size, static_cast<unsigned>(max_rndzv_size));
  }
  /// Removes the engine's receive buffers and settings, and ends all calls in progress; waiting for one throws call_error. Sequence numbers of messages
  /// restart at 0, so the other ranks of its communicators must reset, too. Their calls that wait for this rank end by time-out.
  void soft_reset() {
    ready_ = false;
    configure(cfgFunc::reset_periph, 0);
  }
  void deinit() { soft_reset(); }

  /// Sets the time-out of calls that wait for a message, in us of virtual time; 0 for none.
  ACCLRequest* set_timeout(unsigned value, bool run_async = false, std::vector<ACCLRequest*> waitfor = {}) {
    Call call{operation::config, "set_timeout", value, GLOBAL_COMM};
    call.function = static_cast<std::uint32_t>(cfgFunc::set_timeout);
    return start_call(call, run_async, waitfor);
  }
  ACCLRequest* nop(bool run_async = false, std::vector<ACCLRequest*> waitfor = {}) {
    return start_call({operation::nop, "nop", 0, GLOBAL_COMM}, run_async, waitfor);
  }

  ACCLRequest* send(BaseBuffer& srcbuf, unsigned count, unsigned dst, unsigned tag = TAG_ANY,
                    communicatorId comm_id = GLOBAL_COMM, bool from_fpga = false,
                    dataType compress_dtype = dataType::none, bool run_async = false,
                    std::vector<ACCLRequest*> waitfor = {}) {
    return send(Operand(srcbuf, count, !from_fpga), count, dst, tag, comm_id, compress_dtype, run_async, waitfor);
  }
  ACCLRequest* send(dataType src_data_type, unsigned count, unsigned dst, unsigned tag = TAG_ANY,
                    communicatorId comm_id = GLOBAL_COMM, dataType compress_dtype = dataType::none,
                    bool run_async = false, std::vector<ACCLRequest*> waitfor = {}) {
    return send(Operand(src_data_type), count, dst, tag, comm_id, compress_dtype, run_async, waitfor);
  }
  /// Sends into a stream of the destination's kernels, which get float16 if `compress_dtype` is float16.
  ACCLRequest* stream_put(BaseBuffer& srcbuf, unsigned count, unsigned dst, unsigned stream_id,
                          communicatorId comm_id = GLOBAL_COMM, bool from_fpga = false,
                          dataType compress_dtype = dataType::none, bool run_async = false,
                          std::vector<ACCLRequest*> waitfor = {}) {
    return put_to_stream(Operand(srcbuf, count, !from_fpga), count, dst, stream_id, comm_id, compress_dtype, run_async,
                         waitfor);
  }
  ACCLRequest* stream_put(dataType src_data_type, unsigned count, unsigned dst, unsigned stream_id,
                          communicatorId comm_id = GLOBAL_COMM, dataType compress_dtype = dataType::none,
                          bool run_async = false, std::vector<ACCLRequest*> waitfor = {}) {
    return put_to_stream(Operand(src_data_type), count, dst, stream_id, comm_id, compress_dtype, run_async, waitfor);
  }
  ACCLRequest* recv(BaseBuffer& dstbuf, unsigned count, unsigned src, unsigned tag = TAG_ANY,
                    communicatorId comm_id = GLOBAL_COMM, bool to_fpga = false,
                    dataType compress_dtype = dataType::none, bool run_async = false,
                    std::vector<ACCLRequest*> waitfor = {}) {
    return recv(Operand(dstbuf, count, !to_fpga), count, src, tag, comm_id, compress_dtype, run_async, waitfor);
  }
  ACCLRequest* recv(dataType dst_data_type, unsigned count, unsigned src, unsigned tag = TAG_ANY,
                    communicatorId comm_id = GLOBAL_COMM, dataType compress_dtype = dataType::none,
                    bool run_async = false, std::vector<ACCLRequest*> waitfor = {}) {
    return recv(Operand(dst_data_type), count, src, tag, comm_id, compress_dtype, run_async, waitfor);
  }

  ACCLRequest* copy(BaseBuffer& srcbuf, BaseBuffer& dstbuf, unsigned count, bool from_fpga = false,
                    bool to_fpga = false, bool run_async = false, std::vector<ACCLRequest*> waitfor = {}) {
    return copy(Operand(srcbuf, count, !from_fpga), Operand(dstbuf, count, !to_fpga), count, run_async, waitfor);
  }
  ACCLRequest* copy_from_stream(BaseBuffer& dstbuf, unsigned count, bool to_fpga = false, bool run_async = false,
                                std::vector<ACCLRequest*> waitfor = {}) {
    return copy(Operand(dstbuf.type()), Operand(dstbuf, count, !to_fpga), count, run_async, waitfor);
  }
  ACCLRequest* copy_to_stream(BaseBuffer& srcbuf, unsigned count, bool from_fpga = false, bool run_async = false,
                              std::vector<ACCLRequest*> waitfor = {}) {
    return copy(Operand(srcbuf, count, !from_fpga), Operand(srcbuf.type()), count, run_async, waitfor);
  }
  ACCLRequest* copy_from_to_stream(dataType dst_data_type, unsigned count, bool run_async = false,
                                   std::vector<ACCLRequest*> waitfor = {}) {
    return copy(Operand(dst_data_type), Operand(dst_data_type), count, run_async, waitfor);
  }
  ACCLRequest* combine(unsigned count, reduceFunction function, BaseBuffer& val1, BaseBuffer& val2, BaseBuffer& result,
                       bool val1_from_fpga = false, bool val2_from_fpga = false, bool to_fpga = false,
                       bool run_async = false, std::vector<ACCLRequest*> waitfor = {}) {
    Call call{operation::combine, "combine", count, GLOBAL_COMM};
    call.function = static_cast<std::uint32_t>(function);
    call.operands[0] = Operand(val1, count, !val1_from_fpga);
    call.operands[1] = Operand(val2, count, !val2_from_fpga);
    call.operands[2] = Operand(result, count, !to_fpga);
    return start_call(call, run_async, waitfor);
  }

  ACCLRequest* bcast(BaseBuffer& buf, unsigned count, unsigned root, communicatorId comm_id = GLOBAL_COMM,
                     bool from_fpga = false, bool to_fpga = false, dataType compress_dtype = dataType::none,
                     bool run_async = false, std::vector<ACCLRequest*> waitfor = {}) {
    const bool is_root = get_comm_rank(comm_id) == root;
    Call call{operation::bcast, "bcast", count, comm_id, root};
    call.operands[0] = Operand(buf, is_root ? count : 0, !from_fpga);
    call.operands[2] = Operand(buf, is_root ? 0 : count, !to_fpga);
    return start_call(call, run_async, waitfor, compress_dtype);
  }
  ACCLRequest* scatter(BaseBuffer& sendbuf, BaseBuffer& recvbuf, unsigned count, unsigned root,
                       communicatorId comm_id = GLOBAL_COMM, bool from_fpga = false, bool to_fpga = false,
                       dataType compress_dtype = dataType::none, bool run_async = false,
                       std::vector<ACCLRequest*> waitfor = {}) {
    Call call{operation::scatter, "scatter", count, comm_id, root};
    call.operands[0] =
        Operand(sendbuf, get_comm_rank(comm_id) == root ? elements_of_all_ranks(count, comm_id) : 0, !from_fpga);
    call.operands[2] = Operand(recvbuf, count, !to_fpga);
    return start_call(call, run_async, waitfor, compress_dtype);
  }
  ACCLRequest* gather(BaseBuffer& sendbuf, BaseBuffer& recvbuf, unsigned count, unsigned root,
                      communicatorId comm_id = GLOBAL_COMM, bool from_fpga = false, bool to_fpga = false,
                      dataType compress_dtype = dataType::none, bool run_async = false,
                      std::vector<ACCLRequest*> waitfor = {}) {
    Call call{operation::gather, "gather", count, comm_id, root};
    call.operands[0] = Operand(sendbuf, count, !from_fpga);
    call.operands[2] =
        Operand(recvbuf, get_comm_rank(comm_id) == root ? elements_of_all_ranks(count, comm_id) : 0, !to_fpga);
    return start_call(call, run_async, waitfor, compress_dtype);
  }
  ACCLRequest* allgather(BaseBuffer& sendbuf, BaseBuffer& recvbuf, unsigned count, communicatorId comm_id = GLOBAL_COMM,
                         bool from_fpga = false, bool to_fpga = false, dataType compress_dtype = dataType::none,
                         bool run_async = false, std::vector<ACCLRequest*> waitfor = {}) {
    Call call{operation::allgather, "allgather", count, comm_id};
    call.operands[0] = Operand(sendbuf, count, !from_fpga);
    call.operands[2] = Operand(recvbuf, elements_of_all_ranks(count, comm_id), !to_fpga);
    return start_call(call, run_async, waitfor, compress_dtype);
  }
  ACCLRequest* reduce(BaseBuffer& sendbuf, BaseBuffer& recvbuf, unsigned count, unsigned root, reduceFunction func,
                      communicatorId comm_id = GLOBAL_COMM, bool from_fpga = false, bool to_fpga = false,
                      dataType compress_dtype = dataType::none, bool run_async = false,
                      std::vector<ACCLRequest*> waitfor = {}) {
    return reduce(Operand(sendbuf, count, !from_fpga), at_root(recvbuf, count, root, comm_id, to_fpga), count, root,
                  func, comm_id, compress_dtype, run_async, waitfor);
  }
  ACCLRequest* reduce(dataType src_data_type, BaseBuffer& recvbuf, unsigned count, unsigned root, reduceFunction func,
                      communicatorId comm_id = GLOBAL_COMM, bool to_fpga = false,
                      dataType compress_dtype = dataType::none, bool run_async = false,
                      std::vector<ACCLRequest*> waitfor = {}) {
    return reduce(Operand(src_data_type), at_root(recvbuf, count, root, comm_id, to_fpga), count, root, func, comm_id,
                  compress_dtype, run_async, waitfor);
  }
  ACCLRequest* reduce(BaseBuffer& sendbuf, dataType dst_data_type, unsigned count, unsigned root, reduceFunction func,
                      communicatorId comm_id = GLOBAL_COMM, bool from_fpga = false,
                      dataType compress_dtype = dataType::none, bool run_async = false,
                      std::vector<ACCLRequest*> waitfor = {}) {
    return reduce(Operand(sendbuf, count, !from_fpga), Operand(dst_data_type), count, root, func, comm_id,
                  compress_dtype, run_async, waitfor);
  }
  ACCLRequest* reduce(dataType src_data_type, dataType dst_data_type, unsigned count, unsigned root,
                      reduceFunction func, communicatorId comm_id = GLOBAL_COMM,
                      dataType compress_dtype = dataType::none, bool run_async = false,
                      std::vector<ACCLRequest*> waitfor = {}) {
    return reduce(Operand(src_data_type), Operand(dst_data_type), count, root, func, comm_id, compress_dtype, run_async,
                  waitfor);
  }
  ACCLRequest* allreduce(BaseBuffer& sendbuf, BaseBuffer& recvbuf, unsigned count, reduceFunction func,
                         communicatorId comm_id = GLOBAL_COMM, bool from_fpga = false, bool to_fpga = false,
                         dataType compress_dtype = dataType::none, bool run_async = false,
                         std::vector<ACCLRequest*> waitfor = {}) {
    Call call{operation::allreduce, "allreduce", count, comm_id};
    call.function = static_cast<std::uint32_t>(func);
    call.operands[0] = Operand(sendbuf, count, !from_fpga);
    call.operands[2] = Operand(recvbuf, count, !to_fpga);
    return start_call(call, run_async, waitfor, compress_dtype);
  }
  ACCLRequest* reduce_scatter(BaseBuffer& sendbuf, BaseBuffer& recvbuf, unsigned count, reduceFunction func,
                              communicatorId comm_id = GLOBAL_COMM, bool from_fpga = false, bool to_fpga = false,
                              dataType compress_dtype = dataType::none, bool run_async = false,
                              std::vector<ACCLRequest*> waitfor = {}) {
    Call call{operation::reduce_scatter, "reduce_scatter", count, comm_id};
    call.function = static_cast<std::uint32_t>(func);
    call.operands[0] = Operand(sendbuf, elements_of_all_ranks(count, comm_id), !from_fpga);
    call.operands[2] = Operand(recvbuf, count, !to_fpga);
    return start_call(call, run_async, waitfor, compress_dtype);
  }
  ACCLRequest* alltoall(BaseBuffer& sendbuf, BaseBuffer& recvbuf, unsigned count, communicatorId comm_id = GLOBAL_COMM,
                        bool from_fpga = false, bool to_fpga = false, dataType compress_dtype = dataType::none,
                        bool run_async = false, std::vector<ACCLRequest*> waitfor = {}) {
    Call call{operation::alltoall, "alltoall", count, comm_id};
    call.operands[0] = Operand(sendbuf, elements_of_all_ranks(count, comm_id), !from_fpga);
    call.operands[2] = Operand(recvbuf, elements_of_all_ranks(count, comm_id), !to_fpga);
    return start_call(call, run_async, waitfor, compress_dtype);
  }
  ACCLRequest* barrier(communicatorId comm_id = GLOBAL_COMM, std::vector<ACCLRequest*> waitfor = {}) {
    return start_call({operation::barrier, "barrier", 0, comm_id}, false, waitfor);
  }

  /// Starts a kernel of this rank that `thalweg accl run --kernels` has compiled. The arguments are its numbers and buffers in order, without streams.
  /// Buffers are not copied: call sync_to_device() before, and sync_from_device() after wait().
  template <typename... Arguments>
  ACCLRequest* start_kernel(const std::string& name, const Arguments&... arguments) {
    auto request = std::make_unique<ACCLRequest>();
    request->name = "kernel " + name;
    request->number = board_->connection.start(name, {argument(arguments)...});
    return add_request(std::move(request));
  }

  /// Waits for the end of a call. Throws call_error if it failed.
  void wait(ACCLRequest* request) { static_cast<void>(wait_ns(request, detail::Connection::kNoLimit)); }
  /// Waits at most for this virtual time; false if the call has not ended.
  bool wait(ACCLRequest* request, std::chrono::milliseconds timeout) {
    constexpr std::uint64_t kNs = 1'000'000;
    const auto limit = static_cast<std::uint64_t>(std::max<std::int64_t>(timeout.count(), 0));
    return wait_ns(request, limit < detail::Connection::kNoLimit / kNs ? limit * kNs : detail::Connection::kNoLimit);
  }
  /// True if the call has ended; otherwise, a microsecond of virtual time passes.
  bool test(ACCLRequest* request) { return wait_ns(request, 1'000); }
  /// Virtual time from the call to its end, in ns.
  std::uint64_t get_duration(ACCLRequest* request) { return checked(request).end.duration_ns; }
  /// Return code of the last call that has ended on this rank, or of one call.
  val_t get_retcode() { return board_->connection.read(CCLO_ADDR::RETCODE_OFFSET); }
  val_t get_retcode(ACCLRequest* request) { return checked(request).end.code; }
  /// Deletes a request whose call has ended.
  void free_request(ACCLRequest* request) {
    if (!checked(request).done) throw std::invalid_argument(prefix() + request->name + " has not ended");
    requests_.erase(request);
  }

  [[nodiscard]] bool is_simulated() const { return true; }
  val_t get_hwid() { return board_->connection.read(CCLO_ADDR::IDCODE_OFFSET); }
  std::vector<rank_t> get_comm_group(communicatorId comm_id) { return setup_.communicator(comm_id).ranks; }
  unsigned get_comm_rank(communicatorId comm_id) { return setup_.communicator(comm_id).rank; }
  /// Describes the communicators.
  std::string dump_communicator() {
    std::string text;
    for (const auto& communicator : setup_.communicators()) {
      text += "communicator at " + std::to_string(communicator.address) + ": rank " +
              std::to_string(communicator.rank) + " of " + std::to_string(communicator.ranks.size()) + '\n';
      for (const rank_t& rank : communicator.ranks)
        text +=
            "  " + rank.ip + ':' + std::to_string(rank.port) + ", session " + std::to_string(rank.session_id) + '\n';
    }
    return text;
  }
  addr_t get_communicator_addr(communicatorId comm_id = GLOBAL_COMM) { return setup_.communicator(comm_id).address; }
  addr_t get_arithmetic_config_addr(std::pair<dataType, dataType> id) { return setup_.arithmetic(id); }
  /// Makes a communicator of these ranks, in this order. All members must call this, in the same order as for their other communicators.
  communicatorId create_communicator(const std::vector<rank_t>& ranks, int local_rank) {
    return setup_.add_communicator(ranks, local_rank);
  }

  template <typename dtype>
  std::unique_ptr<Buffer<dtype>> create_buffer(std::size_t length, dataType type) {
    return create<dtype>(nullptr, length, type, false);
  }
  template <typename dtype>
  std::unique_ptr<Buffer<dtype>> create_buffer(dtype* host_buffer, std::size_t length, dataType type) {
    return create(host_buffer, length, type, false);
  }
  /// The memory bank is ignored: simulated boards have one.
  template <typename dtype>
  std::unique_ptr<Buffer<dtype>> create_buffer(std::size_t length, dataType type, unsigned /*mem_grp*/) {
    return create_buffer<dtype>(length, type);
  }
  template <typename dtype>
  std::unique_ptr<Buffer<dtype>> create_buffer(dtype* host_buffer, std::size_t length, dataType type,
                                               unsigned /*mem_grp*/) {
    return create_buffer(host_buffer, length, type);
  }
  int devicemem() { return 0; }
  template <typename dtype>
  std::unique_ptr<Buffer<dtype>> create_buffer_host(std::size_t length, dataType type) {
    return create<dtype>(nullptr, length, type, true);
  }
  template <typename dtype>
  std::unique_ptr<Buffer<dtype>> create_buffer_p2p(std::size_t length, dataType type) {
    return create<dtype>(nullptr, length, type, false);
  }

 private:
  static constexpr addr_t kMaxSize = std::numeric_limits<std::uint32_t>::max();
  static constexpr unsigned kMaxStreams = 247;
  using Call = detail::Call;
  using Operand = detail::Operand;

  void configure(cfgFunc function, unsigned count) {
    Call call{operation::config, "config", count, GLOBAL_COMM};
    call.function = static_cast<std::uint32_t>(function);
    free_request(start_call(call, false, {}));
  }
  // Calls.

  ACCLRequest* send(const Operand& source, unsigned count, unsigned dst, unsigned tag, communicatorId comm_id,
                    dataType compress, bool run_async, const std::vector<ACCLRequest*>& waitfor) {
    Call call{operation::send, "send", count, comm_id, dst, tag};
    call.operands[0] = source;
    return start_call(call, run_async, waitfor, compress);
  }
  ACCLRequest* put_to_stream(const Operand& source, unsigned count, unsigned dst, unsigned stream_id,
                             communicatorId comm_id, dataType compress, bool run_async,
                             const std::vector<ACCLRequest*>& waitfor) {
    if (stream_id >= kMaxStreams)
      throw std::invalid_argument(prefix() + "stream " + std::to_string(stream_id) + "; must be 0 to 246");
    Call call{operation::send, "stream_put", count, comm_id, dst, stream_id};
    call.operands[0] = source;
    call.operands[2] = Operand(source.type);
    return start_call(call, run_async, waitfor, compress);
  }
  ACCLRequest* recv(const Operand& result, unsigned count, unsigned src, unsigned tag, communicatorId comm_id,
                    dataType compress, bool run_async, const std::vector<ACCLRequest*>& waitfor) {
    Call call{operation::recv, "recv", count, comm_id, src, tag};
    call.operands[2] = result;
    return start_call(call, run_async, waitfor, compress);
  }
  ACCLRequest* copy(const Operand& source, const Operand& result, unsigned count, bool run_async,
                    const std::vector<ACCLRequest*>& waitfor) {
    Call call{operation::copy, "copy", count, GLOBAL_COMM};
    call.operands[0] = source;
    call.operands[2] = result;
    return start_call(call, run_async, waitfor);
  }
  ACCLRequest* reduce(const Operand& source, const Operand& result, unsigned count, unsigned root, reduceFunction func,
                      communicatorId comm_id, dataType compress, bool run_async,
                      const std::vector<ACCLRequest*>& waitfor) {
    Call call{operation::reduce, "reduce", count, comm_id, root};
    call.function = static_cast<std::uint32_t>(func);
    call.operands[0] = source;
    call.operands[2] = result;
    return start_call(call, run_async, waitfor, compress);
  }
  Operand at_root(BaseBuffer& buffer, unsigned count, unsigned root, communicatorId comm_id, bool to_fpga) {
    return {buffer, get_comm_rank(comm_id) == root ? count : 0, !to_fpga};
  }
  [[nodiscard]] std::size_t elements_of_all_ranks(unsigned count, communicatorId comm_id) {
    return std::size_t{count} * setup_.communicator(comm_id).ranks.size();
  }

  ACCLRequest* start_call(const Call& call, bool run_async, const std::vector<ACCLRequest*>& waitfor,
                          dataType compress = dataType::none) {
    const bool is_config = call.scenario == operation::config;
    if (!ready_ && !is_config) throw std::runtime_error(prefix() + call.name + " before initialize()");
    auto request = std::make_unique<ACCLRequest>();
    request->name = call.name;
    std::array<std::uint32_t, 15> words{
        static_cast<std::uint32_t>(call.scenario),
        call.count,
        is_config && setup_.communicators().empty()
            ? 0
            : static_cast<std::uint32_t>(setup_.communicator(call.communicator).address),
        call.root,
        call.function,
        call.tag};
    const auto [wide, narrow] = detail::types_of(call, compress, prefix());
    if (wide != dataType::none) words[6] = static_cast<std::uint32_t>(get_arithmetic_config_addr({wide, narrow}));
    if (wide != narrow && compress == narrow) words[7] = detail::kOnWire;
    for (std::size_t k = 0; k < call.operands.size(); ++k) {
      const Operand& operand = call.operands[k];
      if (wide != narrow && operand.type == narrow) words[7] |= 1U << k;
      if (operand.stream) words[8] |= k == 0 ? detail::kFromStream : detail::kToStream;
      if (!operand.buffer && operand.elements > 0)
        throw std::invalid_argument(prefix() + call.name + ": a buffer is missing");
      if (!operand.buffer) continue;
      use(*request, call, operand, k);
      words[8] |= static_cast<std::uint32_t>(operand.buffer->is_host_only()) << (detail::kHostShift + k);
      words[9 + 2 * k] = detail::low(operand.buffer->address());
      words[10 + 2 * k] = detail::high(operand.buffer->address());
    }
    if (call.operands[2].buffer) detail::check_overlap(call, get_comm_rank(call.communicator), prefix());
    std::vector<std::uint64_t> after;
    for (ACCLRequest* before : waitfor) {
      if (!checked(before).done)
        after.push_back(before->number);
      else
        check(*before);
    }
    request->number = board_->connection.call(words, after);
    ACCLRequest* started = add_request(std::move(request));
    if (started->result_bytes > 0) started->operands[2]->newer.insert(started->result());
    if (!run_async) wait(started);
    return started;
  }
  /// Copies an operand to the memory, except where results of calls that the program has not waited for are newer. Keeps the memory allocated until the
  /// call has ended.
  void use(ACCLRequest& request, const Call& call, const Operand& operand, std::size_t k) {
    BaseBuffer& buffer = *operand.buffer;
    const std::size_t bytes = operand.elements * detail::size_of(buffer.type());
    if (bytes > buffer.size())
      throw std::invalid_argument(prefix() + call.name + ": a buffer of " + std::to_string(buffer.size()) +
                                  " bytes; must have at least " + std::to_string(bytes));
    if (buffer.block().board != board_)
      throw std::invalid_argument(prefix() + call.name + ": the buffer belongs to another rank");
    request.operands[k] = buffer._block;
    if (k < 2 && operand.sync && bytes > 0) buffer.store_older(bytes);
    if (k == 2 && operand.sync) {
      request.result_offset = buffer._offset;
      request.result_bytes = bytes;
    }
  }
  [[nodiscard]] bool wait_ns(ACCLRequest* request, std::uint64_t limit) {
    ACCLRequest& pending = checked(request);
    if (!pending.done) {
      std::optional<detail::End> end;
      try {
        end = board_->connection.wait(pending.number, limit);
      } catch (const std::invalid_argument& error) {
        pending.refused = error.what();
        finish(pending);
        throw;
      }
      if (!end) return false;
      pending.end = *end;
      if (pending.end.code == 0 && pending.result_bytes > 0) {
        const detail::Block& block = *pending.operands[2];
        board_->connection.load(block.host, block.address + pending.result_offset,
                                static_cast<char*>(block.array) + pending.result_offset, pending.result_bytes);
      }
      finish(pending);
    }
    check(pending);
    return true;
  }
  /// Releases the memory that the call has used.
  static void finish(ACCLRequest& request) {
    request.done = true;
    if (request.result_bytes > 0) {
      auto& newer = request.operands[2]->newer;
      newer.erase(newer.find(request.result()));
    }
    for (auto& block : request.operands) block.reset();
  }
  void check(const ACCLRequest& request) const {
    if (!request.refused.empty()) throw std::invalid_argument(request.refused);
    if (request.end.code != 0) throw call_error(prefix() + request.name + ": " + request.end.reason, request.end.code);
  }
  [[nodiscard]] std::string prefix() const { return "rank " + std::to_string(rank_) + ": "; }

  ACCLRequest* add_request(std::unique_ptr<ACCLRequest> request) {
    ACCLRequest* const added = request.get();
    requests_[added] = std::move(request);
    return added;
  }
  ACCLRequest& checked(ACCLRequest* request) {
    if (requests_.count(request) == 0)
      throw std::invalid_argument(prefix() + "unknown request; it may have been freed");
    return *request;
  }

  static detail::KernelArgument argument(const std::unique_ptr<BaseBuffer>& buffer) { return argument(*buffer); }
  template <typename dtype>
  static detail::KernelArgument argument(const std::unique_ptr<Buffer<dtype>>& buffer) {
    return argument(*buffer);
  }
  static detail::KernelArgument argument(const BaseBuffer& buffer) {
    return {detail::ArgumentKind::memory, buffer.is_host_only(), static_cast<std::uint16_t>(buffer.type()),
            buffer.address(), buffer.size()};
  }
  template <typename number, typename = std::enable_if_t<std::is_arithmetic_v<number>>>
  static detail::KernelArgument argument(number value) {
    detail::KernelArgument result;
    if constexpr (std::is_floating_point_v<number>) {
      const auto real = static_cast<double>(value);
      result.kind = detail::ArgumentKind::real;
      std::memcpy(&result.value, &real, sizeof real);
    } else {
      if (std::is_unsigned_v<number>) result.kind = detail::ArgumentKind::unsigned_number;
      result.value = static_cast<std::uint64_t>(value);
    }
    return result;
  }

  template <typename dtype>
  std::unique_ptr<Buffer<dtype>> create(dtype* host_buffer, std::size_t length, dataType type, bool host) {
    if (detail::size_of(type) != sizeof(dtype))
      throw std::invalid_argument(prefix() + "a buffer of elements of " + std::to_string(sizeof(dtype)) +
                                  " bytes with a type of " + std::to_string(detail::size_of(type)) +
                                  " bytes; must be equal");
    if (length > std::numeric_limits<std::size_t>::max() / 2 / sizeof(dtype))
      throw std::invalid_argument(prefix() + "a buffer of " + std::to_string(length) + " elements is too large");
    auto block = std::make_shared<detail::Block>(board_, host, length * sizeof(dtype), host_buffer);
    return std::make_unique<Buffer<dtype>>(std::move(block), 0, length, type);
  }

  unsigned rank_;
  std::shared_ptr<detail::Board> board_;
  detail::Setup setup_;
  bool ready_ = false;
  std::map<const ACCLRequest*, std::unique_ptr<ACCLRequest>> requests_;
};

}  // namespace ACCL
