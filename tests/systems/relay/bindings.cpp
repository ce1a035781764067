// SPDX-License-Identifier: Apache-2.0
// Clusters of relays, for Python: assembled from a description, with the simulator's nodes or the hardware's.
#include <dlfcn.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <tuple>

#include "assembly.hpp"
#include "core/require.hpp"
#include "engine.hpp"
#include "relay/node.hpp"

namespace nb = nanobind;
using namespace thalweg;

namespace relay {
namespace {

struct Cable final : AssembledLink {
  /// `from` is its second port if `is_turned`.
  Cable(const Values& values, Node::Port& from, Node::Port& to, bool is_turned)
      : turned(is_turned),
        period(from.domain.clock.period),
        lane({.latency = values.get<Tick>("latency"),
              .rate = RateLimit(1, values.get<unsigned>("interval")),
              .buffer = values.get<unsigned>("depth")}) {
    require(&from.domain == &to.domain, values.of() + ": both ends have the same clock");
    from.lane = to.lane = &lane;
    lane.bind_writer(from.domain, from.node.at_net());
    lane.bind_reader(to.domain, to.node.at_net());
  }
  [[nodiscard]] std::array<Carried, 2> carried() const override {
    std::array<Carried, 2> both{};
    both[turned] = {&lane.usage(), period};
    return both;
  }

  bool turned;
  Tick period;
  Lane lane;
};

Kinds kinds(const std::string& library) {
  using Make = NodeModel*(unsigned);
  Make* make = nullptr;
  if (!library.empty()) {
    void* loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    make = loaded ? reinterpret_cast<Make*>(dlsym(loaded, "relay_make_node")) : nullptr;
    if (!make) throw std::invalid_argument(dlerror());
  }
  Kinds known;
  known.nodes["relay"] = [make](const Values& values, unsigned number,
                                const Clocks& clocks) -> std::unique_ptr<AssembledNode> {
    Domain &net = *clocks.at(values.get<std::string>("clock")),
           &core = *clocks.at(values.get<std::string>("core_clock"));
    if (make) return std::make_unique<RtlNode>(number, net, core, std::unique_ptr<NodeModel>(make(number)));
    return std::make_unique<SimNode>(number, net, core, values.get<std::size_t>("depth"));
  };
  known.links["cable"] = [](const Values& values, LinkPort& a, LinkPort& b, const Clocks&) {
    auto &one = dynamic_cast<Node::Port&>(a), &other = dynamic_cast<Node::Port&>(b);
    return one.output ? std::make_unique<Cable>(values, one, other, false)
                      : std::make_unique<Cable>(values, other, one, true);
  };
  return known;
}

class Relays final : public Engine {
 public:
  Relays(const nb::dict& description, const std::string& library)
      : assembly_(description_of(description), kinds(library)) {
    const auto links = description_of(description).links;
    for (unsigned n = 0; n < assembly_.nodes(); ++n)
      node(n).done = [this, n](Tick at, Word word) {
        const Handle handle = word >> kHandleShift;
        done_.emplace_back(at, n, word & ((Word{1} << kHandleShift) - 1));
        ended_.push_back({handle, at});
        assembly_.time().interrupt();
      };
    for (const auto& link : links) {
      const bool turned = link.port_a != 0;
      node(turned ? link.node_b : link.node_a).next = turned ? link.node_a : link.node_b;
    }
  }

  /// Sends a word. At most 2^16 words in all, with final sums below 2^40.
  Handle send(unsigned node, Tick cycle, unsigned hops, Word sum) {
    const Handle handle = sent_++;
    this->node(node).send(cycle, static_cast<Word>(hops) << kSumBits | handle << kHandleShift | sum);
    return handle;
  }

  [[nodiscard]] Tick now() const override { return assembly_.time().now(); }
  [[nodiscard]] std::int64_t ticks_per_second() const override { return assembly_.ticks_per_second(); }
  void advance(Tick until, std::vector<Completion>& completed) override {
    while (ended_.empty() && !idle() && now() < until)
      assembly_.time().advance(std::min(until, now() + ticks_per_second() / 1'000'000));
    completed.insert(completed.end(), ended_.begin(), ended_.end());
    ended_.clear();
  }
  /// Hardware is always awake: it counts as idle if no word was done for a millisecond.
  [[nodiscard]] bool idle() const override {
    const Tick last = done_.empty() ? 0 : std::get<0>(done_.back());
    return ended_.empty() && (done_.size() == sent_ || assembly_.time().next_due() == kNever ||
                              now() - last > ticks_per_second() / 1'000);
  }
  [[nodiscard]] std::vector<Blocked> blocked() const override {
    std::vector<Blocked> all;
    for (unsigned n = 0; n < assembly_.nodes(); ++n)
      if (auto waits = dynamic_cast<const Node&>(assembly_.node(n)).blocked()) all.push_back(std::move(*waits));
    return all;
  }
  /// Credits guarantee a free entry for every word.
  [[nodiscard]] std::vector<Lost> lost() const override { return {}; }

  /// Runs until idle. Returns tick, node and sum of each finished word.
  std::vector<std::tuple<Tick, unsigned, Word>> run() {
    std::vector<Completion> completed;
    while (!idle()) advance(kNever, completed);
    auto done = done_;
    std::ranges::sort(done);
    return done;
  }
  [[nodiscard]] std::size_t unfinished() const { return sent_ - done_.size(); }
  [[nodiscard]] nb::list link_use() const { return thalweg::link_use(assembly_); }

 private:
  Node& node(unsigned number) { return dynamic_cast<Node&>(assembly_.node(number)); }

  Assembly assembly_;
  std::size_t sent_ = 0;
  std::vector<std::tuple<Tick, unsigned, Word>> done_;
  std::vector<Completion> ended_;
};

}  // namespace
}  // namespace relay

NB_MODULE(_relay, module) {
  nb::class_<relay::Relays> relays(module, "Relays");
  bind_engine_of(relays, [](relay::Relays& of) -> Engine& { return of; });
  relays.def(nb::init<const nb::dict&, const std::string&>())
      .def("send", &relay::Relays::send)
      .def("run", &relay::Relays::run)
      .def_prop_ro("unfinished", &relay::Relays::unfinished)
      .def("link_use", &relay::Relays::link_use);
}
