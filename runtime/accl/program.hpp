// SPDX-License-Identifier: Apache-2.0
// User HLS kernels on the boards of a cluster, beside the engines, in simulated time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "accl/axi_port.hpp"
#include "accl/include/thalweg_hls.hpp"
#include "accl/network.hpp"
#include "core/kernel.hpp"
#include "kernels/faults.hpp"
#include "kernels/loaded_library.hpp"
#include "kernels/loops.hpp"

namespace thalweg::accl {

/// A kernel has failed, such as by an invalid memory access; the message is one line.
class Misuse : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class KernelProgram {
 public:
  /// Stack of a kernel in bytes, which holds arrays that are on-chip memory in hardware.
  static constexpr std::size_t kStack = std::size_t{16} << 20;

  /// The network must outlive the program.
  explicit KernelProgram(Network& network);
  ~KernelProgram();
  KernelProgram(const KernelProgram&) = delete;
  KernelProgram& operator=(const KernelProgram&) = delete;

  /// A stream of a rank's kernels.
  struct Pipe {
    Words* words = nullptr;
    std::size_t bytes = 0;  ///< per word; 0: unknown before the first use
    unsigned rank = 0;
    std::unique_ptr<Words> own{};
  };
  /// A rank's command or status stream of a pair, data stream to the engine, numbered data stream from it, or stream between kernels. References stay
  /// valid.
  Pipe& commands(unsigned rank, std::size_t pair);
  Pipe& status(unsigned rank, std::size_t pair);
  Pipe& to_engine(unsigned rank, std::size_t depth);
  Pipe& from_engine(unsigned rank, unsigned number, std::size_t depth);
  Pipe& stream_between(unsigned rank, const std::string& name, std::size_t depth);

  /// Memory of an argument, and the name of its AXI port.
  struct Region {
    bool host = false;
    std::uint64_t address = 0, bytes = 0;
    std::string port{};
  };
  struct Argument {
    hls__argument value{};
    Pipe* pipe = nullptr;
    const Region* region = nullptr;
  };
  struct Options {
    bool serves = false;     ///< restarts at its end
    Tick limit = kNever;     ///< maximum cycles
    double patience_s = 60;  ///< maximum processor time without a use of a stream or memory; 0: no limit
  };
  /// Starts a kernel in the next cycle; its end is a completion of the network. Throws std::runtime_error if library or kernel do not exist.
  void start(Handle handle, unsigned rank, const std::string& library, const std::string& kernel,
             const std::vector<Argument>& arguments, const Options& options);

  [[nodiscard]] std::vector<Blocked> blocked() const { return kernels_.blocked(); }
  /// For Faults, while time advances.
  static Faults::RecoveryPoint* fault_of(void* running) {
    return running ? &static_cast<Running*>(running)->fault : nullptr;
  }

 private:
  friend struct KernelCalls;

  /// A started kernel, or a process of one.
  struct Running {
    KernelProgram* program = nullptr;
    unsigned rank = 0;
    std::string name{};
    const LoadedLibrary* library = nullptr;
    std::function<void()> call{};
    Options options{};
    Kernel* kernel = nullptr;
    Tick start_cycle = 0;
    Loops loops{};
    std::vector<std::pair<Region, std::shared_ptr<AxiPort>>> regions{};
    std::shared_ptr<AxiPort> default_port{};  ///< to memory that is not an argument
    std::unique_ptr<Words> end{};             ///< end of a process
    const void* thrown = nullptr;             ///< its last exception
    const void* thrown_from = nullptr;
    std::uint64_t iterations = 0;
    Faults::RecoveryPoint fault{};
  };

  Pipe& pipe(Words& words, std::size_t bytes, unsigned rank);
  const LoadedLibrary& library(unsigned rank, const std::string& file);
  [[nodiscard]] std::shared_ptr<AxiPort> port(unsigned rank, bool host);
  void call(Running& running) const;
  void body(Running& running, const std::function<void()>& at_end);
  void iterate(Running& running, kernel__loop& loop, const void* from);
  void memory(Running& running, std::uintptr_t address, std::size_t bytes, bool writes, const void* from);
  [[nodiscard]] std::string error_prefix(const Running& running, const void* code) const;

  Network& network_;
  std::map<std::pair<unsigned, std::string>, std::unique_ptr<LoadedLibrary>> libraries_;
  std::deque<Pipe> pipes_;
  std::deque<Running> running_;
  std::uint64_t uses_ = 0, checked_uses_ = 0;  ///< uses of streams and memory, now and at the last check
  std::clock_t checked_at_ = 0;
  Kernels kernels_;  // destroyed first: unwinds kernels
};

}  // namespace thalweg::accl
