// SPDX-License-Identifier: Apache-2.0
// Clusters of relays, for Python: put together from a description, with the simulator's nodes or the hardware's.
#include <dlfcn.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <tuple>

#include "assembly.hpp"
#include "core/require.hpp"
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

class Relays {
 public:
  Relays(const nb::dict& description, const std::string& library)
      : assembly_(description_of(description), kinds(library)) {}

  void send(unsigned node, Tick cycle, unsigned hops, Word sum) {
    this->node(node).send(cycle, static_cast<Word>(hops) << kSumBits | sum);
    ++sent_;
  }

  /// When, where and with which sum each word came to its end. Throws where some have not within so many seconds.
  std::vector<std::tuple<Tick, unsigned, Word>> run(double seconds) {
    std::vector<std::tuple<Tick, unsigned, Word>> done;
    const Tick microsecond = ticks_per_second() / 1'000'000, most = std::llround(seconds * 1e6) * microsecond;
    for (Tick until = microsecond; done.size() < sent_; until += microsecond) {
      if (until > most) throw std::runtime_error(std::to_string(sent_ - done.size()) + " words did not arrive");
      assembly_.time().advance(until);
      done.clear();
      for (unsigned number = 0; number < assembly_.nodes(); ++number)
        for (const Node::Done& word : node(number).done()) done.emplace_back(word.at, number, word.sum);
    }
    std::ranges::sort(done);
    return done;
  }
  [[nodiscard]] Tick ticks_per_second() const { return assembly_.ticks_per_second(); }
  [[nodiscard]] nb::list link_use() const { return thalweg::link_use(assembly_); }

 private:
  Node& node(unsigned number) { return dynamic_cast<Node&>(assembly_.node(number)); }

  Assembly assembly_;
  std::size_t sent_ = 0;
};

}  // namespace
}  // namespace relay

NB_MODULE(_relay, module) {
  nb::class_<relay::Relays>(module, "Relays")
      .def(nb::init<const nb::dict&, const std::string&>())
      .def("send", &relay::Relays::send)
      .def("run", &relay::Relays::run)
      .def("link_use", &relay::Relays::link_use)
      .def_prop_ro("ticks_per_second", &relay::Relays::ticks_per_second);
}
