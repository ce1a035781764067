// SPDX-License-Identifier: Apache-2.0
// A library in which two RTL ends of a link are reset under traffic and faults: see tests/sim/link/restarted_link.hpp.
#include <memory>

#include "bisim/runtime.hpp"
#include "sim/link/restarted_link.hpp"
#include "top.hpp"

namespace {

using top::Inputs, top::Outputs, top::Parameters;
using namespace thalweg;

constexpr FlowControl kFlow = Parameters::Credits ? FlowControl::credits : FlowControl::margin;
static_assert(restart_format(kFlow).frame_bits() == Parameters::FrameBits && Port::kVcs == Parameters::Vcs);
static_assert(kRestartWindow == Parameters::Window && kRestartDown == Parameters::DownCycles);

/// A tw_link_end with the interface of LinkEnd. Registers start with random values, as in an FPGA configured without
/// initial values.
class RtlEnd {
 public:
  explicit RtlEnd(std::uint64_t seed) : hardware_(std::make_unique<Hardware>(seed)) { reset(); }

  [[nodiscard]] bool ready() const { return seen_.ready_o.get(); }
  [[nodiscard]] const LinkWord* received() const { return received_ ? &*received_ : nullptr; }
  [[nodiscard]] std::uint32_t back() const { return static_cast<std::uint32_t>(seen_.back_o.get()); }
  [[nodiscard]] const WireFrame* wire() const { return wire_ ? &*wire_ : nullptr; }
  [[nodiscard]] bool up() const { return seen_.up_o.get(); }
  [[nodiscard]] bool lost() const { return seen_.lost_o.get(); }

  void reset() { edge(Inputs{}, true); }
  /// The wire takes every frame.
  void step(const LinkWord* word, std::uint32_t back, bool taken, const WireFrame* arrived, bool hold) {
    Inputs in;
    if (word) {
      in.flit_valid_i.set(true);
      in.flit_i.set({.data = {(*word)[0], (*word)[1], (*word)[2], (*word)[3]}});
    }
    in.back_i.set(back);
    in.frame_ready_i.set(taken);
    if (arrived) {
      in.frame_valid_i.set(true);
      for (unsigned i = 0; i < std::size(in.frame_i.words); ++i)
        in.frame_i.words[i] = static_cast<std::uint32_t>((*arrived)[i / 2] >> (32 * (i % 2)));
    }
    // As in the exported node, from the cycle of the loss on.
    in.hold_i.set(hold);
    edge(in, false);
  }

 private:
  struct Hardware {
    explicit Hardware(std::uint64_t seed) {
      context.randReset(2);
      context.randSeed(static_cast<int>(seed & 0x7FFFFFFF) | 1);
      model.emplace(&context);
    }

    VerilatedContext context;
    std::optional<Vtop> model;
  };

  void edge(const Inputs& in, bool reset) {
    Vtop& model = *hardware_->model;
    top::load(model, in);
    top::set_resets(model, reset);
    for (const unsigned edges : {0U, 1U}) {
      top::set_clocks(model, edges);
      model.eval();
    }
    check(bisim::assertion_failure().empty(), bisim::assertion_failure());
    top::store(model, seen_);
    received_.reset();
    wire_.reset();
    if (seen_.flit_valid_o.get()) {
      const auto flit = seen_.flit_o.get();
      received_ = LinkWord{flit.data[0], flit.data[1], flit.data[2], flit.data[3]};
    }
    if (seen_.frame_valid_o.get()) {
      wire_.emplace();
      for (unsigned i = 0; i < std::size(seen_.frame_o.words); ++i)
        (*wire_)[i / 2] |= std::uint64_t{seen_.frame_o.words[i]} << (32 * (i % 2));
    }
  }

  std::unique_ptr<Hardware> hardware_;
  Outputs seen_;
  std::optional<LinkWord> received_;
  std::optional<WireFrame> wire_;
};

}  // namespace

/// Like restart_links. Returns null, or the error; `seen` receives the fields of Restarts in their order.
extern "C" const char* restarts(std::uint64_t seed, unsigned resets, int both, std::uint64_t (&seen)[6]) {
  static std::string wrong;
  bisim::assertion_failure().clear();
  std::mt19937_64 random(seed);
  try {
    const Restarts all =
        restart_links<RtlEnd>(resets, kFlow, both != 0, random, [](std::uint64_t of_end) { return RtlEnd(of_end); });
    const std::uint64_t figures[] = {all.resets, all.together, all.power, all.words, all.cut, all.reported};
    std::copy(std::begin(figures), std::end(figures), seen);
    return nullptr;
  } catch (const std::exception& exception) {
    wrong = exception.what();
    return wrong.c_str();
  }
}
