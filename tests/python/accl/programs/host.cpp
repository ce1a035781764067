// SPDX-License-Identifier: Apache-2.0
// A program for test_host_programs.py: `host WHAT`. Each rank checks its results, and prints nothing if all are right.
#include <sys/wait.h>
#include <unistd.h>

#include <accl.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <thread>

namespace {

using ACCL::BaseBuffer;
using ACCL::dataType;
using ACCL::reduceFunction;
using Request = ACCL::ACCLRequest*;

unsigned rank, ranks;

void require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "rank %u: %s\n", rank, what.c_str());
  std::exit(3);
}

/// The text of the exception that a call throws.
std::string thrown(const std::function<void()>& call) {
  try {
    call();
  } catch (const ACCL::call_error& error) {
    return std::string("call_error ") + error.what();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing";
}

template <typename T>
class Vector {
 public:
  Vector(ACCL::ACCL& accl, std::size_t length, dataType type, bool host = false)
      : buffer_(host ? accl.create_buffer_host<T>(length, type) : accl.create_buffer<T>(length, type)) {}
  Vector& fill(const std::function<double(std::size_t)>& of) {
    for (std::size_t i = 0; i < buffer_->length(); ++i) (*buffer_)[i] = static_cast<T>(of(i));
    return *this;
  }
  void is(const std::string& what, const std::function<double(std::size_t)>& of) const {
    for (std::size_t i = 0; i < buffer_->length(); ++i)
      require((*buffer_)[i] == static_cast<T>(of(i)),
              what + " has " + std::to_string((*buffer_)[i]) + " at " + std::to_string(i));
  }
  operator ACCL::Buffer<T>&() { return *buffer_; }
  ACCL::Buffer<T>& operator*() { return *buffer_; }

 private:
  std::unique_ptr<ACCL::Buffer<T>> buffer_;
};

constexpr unsigned kCount = 70;

/// Element i of block `block` of rank `of`.
double value(unsigned of, std::size_t block, std::size_t i) {
  return static_cast<double>(of * 3 + block * 5 + i % 7 + 1);
}

template <typename T>
void operations(ACCL::ACCL& accl, dataType type, bool host) {
  const unsigned root = ranks - 1, next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
  const std::size_t all = std::size_t{kCount} * ranks;
  const auto mine = [](std::size_t i) { return value(rank, i / kCount, i % kCount); };
  Vector<T> one(accl, kCount, type, host), block(accl, kCount, type, host), wide(accl, all, type, host),
      result(accl, all, type, host);
  one.fill(mine);
  wide.fill(mine);

  accl.copy(*one, *block, kCount);
  block.is("copy", mine);
  accl.combine(kCount, reduceFunction::PROD, *one, *one, *block);
  block.is("combine", [&](std::size_t i) { return mine(i) * mine(i); });
  Request sent = accl.send(*one, kCount, next, 7, ACCL::GLOBAL_COMM, false, dataType::none, true);
  accl.recv(*block, kCount, previous, 7);
  accl.wait(sent);
  block.is("recv", [&](std::size_t i) { return value(previous, 0, i); });
  block.fill(mine);
  accl.bcast(*block, kCount, root);
  block.is("bcast", [&](std::size_t i) { return value(root, 0, i); });
  accl.scatter(*wide, *block, kCount, root);
  block.is("scatter", [&](std::size_t i) { return value(root, rank, i); });
  result.fill([](std::size_t) { return 0; });
  accl.gather(*one, *result, kCount, root);
  result.is("gather",
            [&](std::size_t i) { return rank == root ? value(static_cast<unsigned>(i / kCount), 0, i % kCount) : 0; });
  accl.allgather(*one, *result, kCount);
  result.is("allgather", [](std::size_t i) { return value(static_cast<unsigned>(i / kCount), 0, i % kCount); });
  const auto sum = [&](std::size_t block_of, std::size_t i) {
    double total = 0;
    for (unsigned r = 0; r < ranks; ++r) total += value(r, block_of, i);
    return total;
  };
  block.fill([](std::size_t) { return 0; });
  accl.reduce(*one, *block, kCount, root, reduceFunction::SUM);
  block.is("reduce", [&](std::size_t i) { return rank == root ? sum(0, i) : 0; });
  accl.allreduce(*one, *block, kCount, reduceFunction::SUM);
  block.is("allreduce", [&](std::size_t i) { return sum(0, i); });
  accl.allreduce(*one, *block, kCount, reduceFunction::MAX);
  block.is("maximum", [&](std::size_t i) { return value(ranks - 1, 0, i); });
  accl.reduce_scatter(*wide, *block, kCount, reduceFunction::SUM);
  block.is("reduce_scatter", [&](std::size_t i) { return sum(rank, i); });
  accl.alltoall(*wide, *result, kCount);
  result.is("alltoall", [](std::size_t i) { return value(static_cast<unsigned>(i / kCount), rank, i % kCount); });
  accl.barrier();
  require(accl.nop() != nullptr, "nop");

  // Streams, looped back: data sent to a kernel return from it.
  accl.copy_to_stream(*one, kCount);
  accl.copy_from_stream(*block, kCount);
  block.is("copy by the stream", mine);
  accl.stream_put(*one, kCount, next, 9);
  accl.copy_from_stream(*block, kCount);
  block.is("stream_put", [&](std::size_t i) { return value(previous, 0, i); });
  accl.barrier();
  accl.copy_to_stream(*one, kCount);
  accl.send(type, kCount, next);
  accl.recv(type, kCount, previous);
  accl.copy_from_stream(*block, kCount);
  block.is("a message from stream to stream", [&](std::size_t i) { return value(previous, 0, i); });
  accl.barrier();
}

void places(ACCL::ACCL& accl) {
  // Half of the ranks, in the opposite order, together with all of them.
  std::vector<ACCL::rank_t> group;
  const auto world = ACCL::world();
  int own = -1;
  for (unsigned r = ranks; r-- > 0;)
    if (r % 2 == rank % 2) {
      if (r == rank) own = static_cast<int>(group.size());
      group.push_back(world[r]);
    }
  const auto half = accl.create_communicator(group, own);
  require(accl.get_comm_rank(half) == static_cast<unsigned>(own) && accl.get_comm_group(half).size() == group.size(),
          "the communicator");
  Vector<float> one(accl, 4, dataType::float32), sum(accl, 4, dataType::float32);
  one.fill([](std::size_t i) { return static_cast<double>(rank + i); });
  accl.allreduce(*one, *sum, 4, reduceFunction::SUM, half);
  double total = 0;
  for (const auto& member : group) total += member.session_id;
  sum.is("half of the ranks", [&](std::size_t i) { return total + static_cast<double>(i * group.size()); });

  // float16 on the wire: 1 + 2^-12 is rounded to 1.
  one.fill([](std::size_t) { return 1 + 1.0 / 4096; });
  Request sent = accl.send(*one, 4, (rank + 1) % ranks, 1, ACCL::GLOBAL_COMM, false, dataType::float16, true);
  accl.recv(*sum, 4, (rank + ranks - 1) % ranks, 1, ACCL::GLOBAL_COMM, false, dataType::float16);
  accl.wait(sent);
  sum.is("float16 on the wire", [](std::size_t) { return 1; });

  // Slices, arrays of the program's own, and results that stay on the board.
  double array[6] = {0, 1, 2, 3, 4, 5};
  auto given = accl.create_buffer(array, 6, dataType::float64);
  auto middle = given->slice(2, 4), end = given->slice(4, 6);
  accl.copy(*middle, *end, 2);
  require(array[4] == 2 && array[5] == 3 && array[3] == 3, "a slice");
  array[2] = 7;
  accl.copy(*middle, *end, 2, true);
  require(array[4] == 2, "an operand that is on the board");
  accl.copy(*middle, *end, 2, false, true);
  require(array[4] == 2, "a result that stays on the board");
  end->sync_from_device();
  require(array[4] == 7, "a result that was fetched");
}

/// Like programs of ACCL's driver, a rank passes no buffer if it needs none.
void no_buffers(ACCL::ACCL& accl) {
  Vector<float> one(accl, 4, dataType::float32), all(accl, 4 * std::size_t{ranks}, dataType::float32);
  std::unique_ptr<ACCL::Buffer<float>> none;
  one.fill([](std::size_t i) { return value(rank, 0, i); });
  accl.gather(*one, rank == 0 ? *all : *none, 4, 0);
  accl.reduce(*one, rank == 0 ? *all : *none, 4, 0, reduceFunction::SUM);
  accl.scatter(rank == 0 ? *all : *none, *one, 4, 0);
  if (rank == 0) require(thrown([&] { accl.copy(*one, *none, 4); }) == "rank 0: copy: a buffer is missing", "none");
}

/// Several outstanding requests: each rank sends to all before it receives, chained, and tests before it waits.
void requests(ACCL::ACCL& accl) {
  constexpr unsigned kLarge = 20'000;
  std::vector<std::unique_ptr<Vector<std::int32_t>>> from, to;
  std::vector<Request> open;
  for (unsigned peer = 0; peer < ranks; ++peer) {
    if (peer == rank) continue;
    from.push_back(std::make_unique<Vector<std::int32_t>>(accl, kLarge, dataType::int32));
    to.push_back(std::make_unique<Vector<std::int32_t>>(accl, kLarge, dataType::int32));
    from.back()->fill([&](std::size_t i) { return static_cast<double>(i * 10 + rank); });
    open.push_back(accl.send(**from.back(), kLarge, peer, rank, 0, false, dataType::none, true));
    open.push_back(accl.recv(**to.back(), kLarge, peer, peer, 0, false, dataType::none, true));
  }
  require(accl.test(open[1]) == false, "a large message arrives in a microsecond");
  require(!accl.wait(open[1], std::chrono::milliseconds(0)), "a wait that does not wait");
  Vector<std::int32_t> twice(accl, kLarge, dataType::int32);
  Request combined =
      accl.combine(kLarge, reduceFunction::SUM, **to[0], **to[0], *twice, true, true, false, true, {open[0], open[1]});
  while (!accl.test(combined)) {
  }
  const unsigned first = rank == 0 ? 1 : 0;
  twice.is("a chain", [&](std::size_t i) { return static_cast<double>(2 * (i * 10 + first)); });
  require(accl.get_duration(combined) > accl.get_duration(open[1]), "the time of a chain");
  // The last message has arrived after a millisecond; as no one has waited for it, its memory is newer than its array.
  Vector<std::int32_t> one(accl, 1, dataType::int32), copied(accl, kLarge, dataType::int32);
  Request none = accl.recv(*one, 1, first, 99, 0, false, dataType::none, true);
  for (unsigned k = 0; k < 1000; ++k) require(!accl.test(none), "a message that nobody has sent");
  const unsigned last = rank == ranks - 1 ? ranks - 2 : ranks - 1;
  accl.copy(**to.back(), *copied, kLarge);
  copied.is("a copy of a message", [&](std::size_t i) { return static_cast<double>(i * 10 + last); });
  for (unsigned peer = 0; peer < ranks; ++peer)
    if (peer != rank && (peer == 0 ? 1U : 0U) == rank) accl.send(*copied, 1, peer, 99);
  accl.wait(none);
  for (Request request : open) accl.wait(request);
  for (Request request : open) accl.free_request(request);
  std::size_t k = 0;
  for (unsigned peer = 0; peer < ranks; ++peer)
    if (peer != rank) to[k++]->is("a message", [&](std::size_t i) { return static_cast<double>(i * 10 + peer); });
  require(accl.wait(combined, std::chrono::milliseconds(1)), "a request that has ended");
  accl.barrier();
}

/// Messages and collectives before and after the ranks reset their engines; rank 0's engine has outstanding calls.
void resets(ACCL::ACCL& accl) {
  for (unsigned turn = 0; turn < 3; ++turn) {
    const unsigned next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    Vector<std::int32_t> mine(accl, 3000, dataType::int32), theirs(accl, 3000, dataType::int32),
        sums(accl, 3000, dataType::int32), lost(accl, 3000, dataType::int32);
    mine.fill([](std::size_t i) { return static_cast<double>(i * 10 + rank); });
    for (unsigned k = 0; k <= turn; ++k) {
      Request sent = accl.send(*mine, 3000, next, k, 0, false, dataType::none, true);
      accl.recv(*theirs, 3000, before, k);
      accl.wait(sent);
      theirs.is("a message", [&](std::size_t i) { return static_cast<double>(i * 10 + before); });
    }
    accl.allreduce(*mine, *sums, 3000, reduceFunction::SUM);
    sums.is("a sum", [&](std::size_t i) { return static_cast<double>(i * 10 * ranks + ranks * (ranks - 1) / 2); });
    Request open = nullptr;
    if (rank == 0 && turn == 1) {
      open = accl.recv(*lost, 3000, 1, 99, 0, false, dataType::none, true);
      accl.recv(*lost, 10, 2, 98, 0, false, dataType::none, true);
    }
    accl.initialize(ACCL::world(), static_cast<int>(rank), 64, 4096, 4096);
    if (open) std::puts(thrown([&] { accl.wait(open); }).c_str());
  }
}

/// A call that the engine refuses once the earlier calls have ended, the calls behind it, and each of them again. Then
/// a valid call.
void refused(ACCL::ACCL& accl) {
  Vector<float> few(accl, 4, dataType::float32), sum(accl, 4, dataType::float32);
  Request first = accl.nop(true);
  Request wrong = accl.send(*few, 4, 9, 0, 0, false, dataType::none, true, {first});
  Request behind = accl.copy(*few, *sum, 4, false, false, true, {wrong});
  for (unsigned turn = 0; turn < 2; ++turn)
    for (Request request : {wrong, behind}) std::puts(thrown([&] { accl.wait(request); }).c_str());
  std::puts(thrown([&] { accl.nop(false, {first, wrong}); }).c_str());
  few.fill([](std::size_t) { return 2; });
  accl.allreduce(*few, *sum, 4, reduceFunction::SUM);
  sum.is("a sum after them", [](std::size_t) { return 2.0 * ranks; });
}

/// Errors are thrown; rank 0 prints them.
void wrong(ACCL::ACCL& accl) {
  Vector<float> few(accl, 4, dataType::float32), result(accl, 4, dataType::float32);
  Vector<double> others(accl, 4, dataType::float64);
  accl.set_timeout(500);
  std::string said;
  const auto says = [&](const std::function<void()>& call) { said += thrown(call) + '\n'; };
  Request open = nullptr, behind = nullptr;
  says([&] { accl.recv(*few, 4, 1, 5); });
  says([&] {
    open = accl.recv(*few, 4, 1, 5, 0, false, dataType::none, true);
    behind = accl.copy(*few, *result, 4, true, false, true, {open});
    accl.wait(behind);
  });
  says([&] { accl.wait(open); });
  says([&] { accl.copy(*few, *result, 4, true, false, true, {open}); });
  require(accl.get_retcode(open) == 1 << 11, "the return code");
  says([&] { accl.send(*few, 5, 1); });
  says([&] { accl.send(*few, 4, 9); });
  says([&] { accl.copy(*few, *others, 4); });
  says([&] { accl.bcast(*few, 4, 0, 3); });
  says([&] { accl.stream_put(*few, 4, 1, 247); });
  const auto later = (*few).slice(1, 4);
  says([&] { accl.copy(*few, *later, 3); });
  says([&] { accl.allreduce(*few, *later, 3, reduceFunction::SUM); });
  accl.copy(*few, *few, 4);
  const auto world = ACCL::world();
  says([&] { accl.create_communicator({world[0], world[1], world[0]}, static_cast<int>(rank)); });
  says([&] { static_cast<void>(accl.create_buffer<float>(4, dataType::float64)); });
  says([&] { static_cast<void>(accl.create_buffer<float>(std::size_t{1} << 40, dataType::float32)); });
  says([&] { static_cast<void>(accl.create_buffer<float>((std::size_t{1} << 62) + 1, dataType::float32)); });
  for (const std::int64_t ms : {std::numeric_limits<std::int64_t>::max(), std::int64_t{1} << 44})
    require(accl.wait(accl.nop(true), std::chrono::milliseconds(ms)), "a wait without an end");
  open = accl.recv(*few, 4, 1, 6, 0, false, dataType::none, true);
  accl.soft_reset();
  says([&] { accl.wait(open); });
  accl.initialize(ACCL::world(), static_cast<int>(rank));
  says([&] { accl.start_kernel("increment", 4, *few); });
  says([&] {
    (*few).free_buffer();
    accl.send(*few, 4, 1);
  });
  says([&] { accl.initialize(ACCL::world(), static_cast<int>(rank), 400); });
  says([&] { accl.nop(); });
  says([&] { ACCL::ACCL another; });
  says([&] { accl.initialize(ACCL::world(), 7); });
  if (rank == 0) std::fputs(said.c_str(), stdout);
}

/// A call by a thread while another thread waits for a message of rank 1, which arrives later.
void threads(ACCL::ACCL& accl) {
  Vector<float> one(accl, 4, dataType::float32);
  if (rank == 1) {
    usleep(600'000);
    accl.send(*one, 4, 0);
    return;
  }
  std::thread other([&] {
    usleep(200'000);
    std::puts(thrown([&] { accl.nop(); }).c_str());
  });
  accl.recv(*one, 4, 1);
  other.join();
}

/// A forked process makes a call and ends, which does not affect the rank; another one outlives it.
void forks(ACCL::ACCL& accl) {
  Vector<float> one(accl, 4, dataType::float32);
  Request open = accl.recv(*one, 4, 1 - rank, 5, 0, false, dataType::none, true);
  if (const pid_t child = fork(); child == 0) {
    const std::string said = thrown([&] { accl.nop(); });
    accl.~ACCL();
    _exit(said == "rank " + std::to_string(rank) +
                      ": a call from a forked process; only the process that has made the ACCL is the rank"
              ? 0
              : 1);
  } else {
    int status = 0;
    waitpid(child, &status, 0);
    require(status == 0, "a call of a forked process");
  }
  one.fill([](std::size_t i) { return value(rank, 0, i); });
  accl.send(*one, 4, 1 - rank, 5);
  accl.wait(open);
  one.is("a message after a fork", [](std::size_t i) { return value(1 - rank, 0, i); });
  if (rank == 1 && fork() == 0) {
    std::fclose(stdout);
    std::fclose(stderr);
    usleep(3'000'000);
    _exit(0);
  }
  if (rank == 0) require(thrown([&] { accl.recv(*one, 4, 1); }).find("receive time-out") != std::string::npos, "end");
}

}  // namespace

int main(int count, char** words) {
  const std::string what = count > 1 ? words[1] : "";
  rank = ACCL::local_rank();
  ranks = ACCL::world_size();
  if (what == "absent" && rank == 1) return 0;
  if (what == "fails" && rank == 1) return 7;
  if (what == "rank") {  // before this process has an ACCL
    std::puts(thrown([] { ACCL::ACCL(5500, ranks); }).c_str());
    return 0;
  }
  if (what == "again") {  // rank 0 recreates its ACCL while the others wait for it
    for (unsigned turn = 0; turn < 2; ++turn) {
      if (rank == 0 && turn == 1) usleep(300'000);
      ACCL::ACCL accl;
      accl.initialize(ACCL::world(), static_cast<int>(rank));
      Vector<float> one(accl, 4, dataType::float32), sum(accl, 4, dataType::float32);
      one.fill([](std::size_t) { return 1; });
      accl.allreduce(*one, *sum, 4, reduceFunction::SUM);
      sum.is("a sum", [](std::size_t) { return ranks; });
    }
    return 0;
  }
  try {
    ACCL::ACCL accl;
    const bool large = what == "requests";
    accl.initialize(ACCL::world(), static_cast<int>(rank), large ? 64 : 16, large ? 4096 : 1024, large ? 4096 : 1024);
    if (what == "operations") {
      operations<float>(accl, dataType::float32, false);
      operations<double>(accl, dataType::float64, false);
      operations<std::int32_t>(accl, dataType::int32, true);
      operations<std::int64_t>(accl, dataType::int64, false);
      operations<std::int8_t>(accl, dataType::int8, false);
      places(accl);
      no_buffers(accl);
    } else if (what == "requests") {
      requests(accl);
    } else if (what == "resets") {
      resets(accl);
    } else if (what == "wrong") {
      wrong(accl);
    } else if (what == "refused") {
      refused(accl);
    } else if (what == "times") {
      // A rank's computation takes no virtual time.
      Vector<float> one(accl, 100, dataType::float32), sum(accl, 100, dataType::float32);
      for (unsigned k = 0; k < 5; ++k) {
        usleep((rank * 7 + k * 3) % 5 * 10'000);
        Request of = accl.allreduce(*one, *sum, 100, reduceFunction::SUM);
        if (rank == k % ranks) std::printf("%u %llu\n", k, static_cast<unsigned long long>(accl.get_duration(of)));
        std::fflush(stdout);
        accl.barrier();
      }
    } else if (what == "stuck") {
      accl.set_timeout(0);
      Vector<float> one(accl, 4, dataType::float32);
      accl.recv(*one, 4, (rank + 1) % ranks, 3);
    } else if (what == "large") {
      Vector<float> one(accl, 5000, dataType::float32);
      if (rank == 0)
        accl.send(*one, 5000, 1);
      else
        accl.recv(*one, 5000, 0);
    } else if (what == "threads") {
      threads(accl);
    } else if (what == "forks") {
      forks(accl);
    } else if (what == "killed") {
      if (rank == 1) std::raise(SIGKILL);
      accl.barrier();
    } else if (what == "absent") {
      accl.barrier();
    } else if (what == "fails") {
      usleep(60'000'000);  // until it is ended
    } else if (what == "leaves") {
      Vector<float> one(accl, 4, dataType::float32);
      accl.recv(*one, 4, (rank + 1) % ranks, 3, 0, false, dataType::none, true);
    } else if (what == "slow") {
      if (rank == 0) usleep(1'000'000);
      accl.barrier();
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
