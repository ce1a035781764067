// SPDX-License-Identifier: Apache-2.0
// Binds the simulated fabric as an engine, which takes operations on buffers and returns completions.
#include "mpi_fpga/driver/fabric.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "../engine.hpp"
#include "../running.hpp"
#include "common/bits.hpp"
#include "mpi_fpga/driver/shared_fabric.hpp"

namespace nb = nanobind;
namespace codes = thalweg::mpi_fpga::spec;
using namespace thalweg;
using namespace thalweg::mpi_fpga;

namespace {

/// The memory of a Python object, held until destruction.
class Buffer {
 public:
  Buffer() = default;
  Buffer(nb::handle object, bool writable) {
    if (object.is_none()) return;
    if (PyObject_GetBuffer(object.ptr(), &view_, writable ? PyBUF_WRITABLE : PyBUF_SIMPLE) != 0)
      nb::raise_python_error();
  }
  Buffer(Buffer&& other) noexcept : view_(std::exchange(other.view_, {})) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(view_, other.view_);
    return *this;
  }
  ~Buffer() {
    if (view_.obj) PyBuffer_Release(&view_);
  }

  [[nodiscard]] std::span<std::byte> bytes() const {
    return {static_cast<std::byte*>(view_.buf), static_cast<std::size_t>(view_.len)};
  }

 private:
  Py_buffer view_{};
};

/// Converts a number to a value of one of the specification's enumerations.
template <class Enum, std::size_t N>
Enum named(unsigned value, const std::array<std::string_view, N>&) {
  if (value >= N) throw std::invalid_argument(std::to_string(value) + " is not a value of the enumeration");
  return static_cast<Enum>(value);
}

using Blocks = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

std::vector<Block> blocks_of(const std::optional<Blocks>& given) {
  std::vector<Block> blocks;
  if (given)
    for (const auto& [first, count] : *given) blocks.push_back({first, count});
  return blocks;
}

/// An engine that keeps the buffers of its operations alive.
template <class Simulated>
class PythonFabric {
 public:
  template <class... Arguments>
  explicit PythonFabric(const Arguments&... arguments) : fabric_(arguments...) {}
  PythonFabric(const PythonFabric&) = delete;
  PythonFabric& operator=(const PythonFabric&) = delete;

  std::optional<ContextId> create_communicator(const std::vector<NodeId>& members, const std::vector<Handle>& handles,
                                               Tick at) {
    for (const Handle handle : handles) check_free(handle);
    const auto made = fabric_.create_communicator(members, handles, at);
    if (made)
      for (const Handle handle : handles) held_.try_emplace(handle);
    return made;
  }

  void submit(Handle handle, ContextId context, std::uint32_t rank, unsigned collective, unsigned algorithm,
              unsigned op, unsigned type, std::uint32_t root, std::uint64_t count, nb::handle send, nb::handle receive,
              bool vector, const std::optional<Blocks>& send_blocks, const std::optional<Blocks>& receive_blocks,
              std::optional<Tick> at) {
    Held held{Buffer(send, false), Buffer(receive, true), blocks_of(send_blocks), blocks_of(receive_blocks)};
    check_free(handle);
    fabric_.submit({{.collective = named<codes::Collective>(collective, codes::collective_names),
                     .algorithm = named<codes::Algorithm>(algorithm, codes::algorithm_names),
                     .op = named<codes::Operator>(op, codes::operator_names),
                     .type = named<codes::Datatype>(type, codes::datatype_names),
                     .vector = vector,
                     .root = root,
                     .count = count},
                    handle,
                    context,
                    rank,
                    held.send.bytes(),
                    held.receive.bytes(),
                    held.send_blocks,
                    held.receive_blocks},
                   at.value_or(fabric_.now()));
    held_.emplace(handle, std::move(held));
  }

  void submit_all(const std::vector<Handle>& handles, ContextId context, unsigned collective, unsigned algorithm,
                  unsigned op, unsigned type, std::uint32_t root, std::uint64_t count, const nb::list& send,
                  const nb::list& receive, std::optional<Tick> at) {
    if (send.size() != handles.size() || receive.size() != handles.size())
      throw std::invalid_argument("a handle, a send buffer and a receive buffer belong to each rank");
    for (std::uint32_t rank = 0; rank < handles.size(); ++rank)
      submit(handles[rank], context, rank, collective, algorithm, op, type, root, count, send[rank], receive[rank],
             false, std::nullopt, std::nullopt, at);
  }

  void send(Handle handle, NodeId source, NodeId destination, std::uint64_t bytes, std::optional<Tick> at) {
    check_free(handle);
    fabric_.send({handle, source, destination, bytes}, at.value_or(fabric_.now()));
    held_.try_emplace(handle);
  }

  std::vector<Completion> advance(Tick until) {
    std::vector<Completion> completed;
    {
      const Running running(&fabric_);
      fabric_.advance(until, completed);
    }
    for (const Completion& completion : completed)
      if (completion.last) held_.erase(completion.handle);
    return completed;
  }

  Simulated& fabric() { return fabric_; }

 private:
  struct Held {
    Buffer send, receive;
    std::vector<Block> send_blocks, receive_blocks;
  };

  void check_free(Handle handle) const {
    if (held_.contains(handle)) throw std::invalid_argument("the handle is in use");
  }

  std::unordered_map<Handle, Held> held_;  ///< buffers by handle; outlive the fabric, which refers to them
  Simulated fabric_;
};

/// Binds the common methods of all fabrics.
template <class Simulated>
nb::class_<PythonFabric<Simulated>> bind_fabric(nb::module_& module, const char* name, const char* what) {
  using Bound = PythonFabric<Simulated>;
  nb::class_<Bound> bound(module, name, what);
  bind_engine_of(bound, [](Bound& self) -> Engine& { return self.fabric(); });
  bound
      .def_prop_ro(
          "mismatch",
          [](Bound& self) {
            const auto found = self.fabric().mismatch();
            return found ? std::optional(found->line()) : std::nullopt;
          },
          "First inconsistency between the ranks' parts of one operation, or None.")
      .def_prop_ro(
          "recoveries", [](Bound& self) { return self.fabric().recoveries(); },
          "Failed links, and the restarts of the fabric that followed.")
      .def_prop_ro("flit_hops", [](Bound& self) { return self.fabric().flit_hops(); })
      .def("create_communicator", &Bound::create_communicator, nb::arg("members"), nb::arg("handles"), nb::arg("at"),
           "Allocates a communicator; node members[i] is rank i. For each member, handles[i] completes when its row is "
           "loaded. Returns None if no row is free.")
      .def(
          "computes",
          [](Bound& self, ContextId context, unsigned collective) {
            return self.fabric().computes(context, named<codes::Collective>(collective, codes::collective_names));
          },
          nb::arg("context"), nb::arg("collective"),
          "Returns whether the network computes this collective on this communicator.")
      .def(
          "algorithms",
          [](Bound& self, ContextId context, unsigned collective) {
            return self.fabric().algorithms(context, named<codes::Collective>(collective, codes::collective_names));
          },
          nb::arg("context"), nb::arg("collective"),
          "Returns the algorithms of a communicator for a collective: bit i stands for code i of "
          "thalweg.spec.Algorithm.")
      .def(
          "free_communicator", [](Bound& self, ContextId context) { self.fabric().free_communicator(context); },
          nb::arg("context"))
      .def(
          "group", [](Bound& self, ContextId context) { return self.fabric().group(context); }, nb::arg("context"),
          "Returns the vertices and edges of a communicator.")
      .def(
          "parts",
          [](Bound& self, ContextId context, unsigned algorithm) {
            return self.fabric().parts(context, named<codes::Algorithm>(algorithm, codes::algorithm_names));
          },
          nb::arg("context"), nb::arg("algorithm"),
          "Returns the groups over which an algorithm splits an operation, or the single one.")
      .def("submit", &Bound::submit, nb::kw_only(), nb::arg("handle"), nb::arg("context"), nb::arg("rank"),
           nb::arg("collective"), nb::arg("algorithm") = 0, nb::arg("op") = 0, nb::arg("type") = 0, nb::arg("root") = 0,
           nb::arg("count") = 0, nb::arg("send") = nb::none(), nb::arg("receive") = nb::none(),
           nb::arg("vector") = false, nb::arg("send_blocks") = nb::none(), nb::arg("receive_blocks") = nb::none(),
           nb::arg("at") = nb::none(),
           "Submits one rank's part of a collective. thalweg.spec has the enumerations; `count` is in elements of one "
           "block. With `vector` (a v-form), the lists give the block of each rank as (first element, elements). "
           "Buffers must be contiguous; they are held until the completion.\n\nRaises ValueError if the network cannot "
           "execute it.")
      .def("submit_all", &Bound::submit_all, nb::kw_only(), nb::arg("handles"), nb::arg("context"),
           nb::arg("collective"), nb::arg("algorithm"), nb::arg("op"), nb::arg("type"), nb::arg("root"),
           nb::arg("count"), nb::arg("send"), nb::arg("receive"), nb::arg("at") = nb::none(),
           "Submits the parts of all ranks of a collective, each with its handle and buffers; see submit.")
      .def("send", &Bound::send, nb::kw_only(), nb::arg("handle"), nb::arg("source"), nb::arg("destination"),
           nb::arg("bytes"), nb::arg("at") = nb::none(),
           "Sends a message between two nodes; only its time is simulated, without payload.")
      .def("advance", &Bound::advance, nb::arg("until"),
           "Runs until a tick or the end of the first tick with a completion; NEVER: until idle.")
      .def(
          "link_use", [](Bound& self) { return self.fabric().link_use(); },
          "Returns the flits sent by each link port.");
  return bound;
}

}  // namespace

void bind_fabrics(nb::module_& module) {
  nb::enum_<Endpoint>(module, "Endpoint", "Endpoint of operations.")
      .value("host", Endpoint::host, "host memory, behind PCIe")
      .value("kernel", Endpoint::kernel, "the node's own port");

  nb::class_<Recovery>(module, "Recovery", "Recovery from a link that was given up or lost flits; times are ticks.")
      .def_ro("link", &Recovery::link)
      .def_ro("reset", &Recovery::reset, "one end alone was reset: the link is used again")
      .def_ro("silent_since", &Recovery::silent_since, "time of the last good frame, or of that reset")
      .def_ro("given_up", &Recovery::given_up, "time at which the fabric was stopped")
      .def_ro("resumed", &Recovery::resumed, "restart without the link; operations in flight began again");

  nb::class_<LinkUse>(module, "LinkUse")
      .def_ro("node", &LinkUse::node)
      .def_ro("port", &LinkUse::port)
      .def_ro("flits", &LinkUse::flits);

  nb::class_<Row::Edge>(module, "RowEdge")
      .def_ro("neighbour", &Row::Edge::neighbour, "node at the other end")
      .def_ro("there", &Row::Edge::there, "index of this edge at the neighbour")
      .def_ro("first", &Row::Edge::first, "for a down edge: the first label behind it")
      .def_ro("behind", &Row::Edge::behind, "for a down edge: number of labels behind it");
  nb::class_<Row::Stage>(module, "RowStage")
      .def_ro("peers", &Row::Stage::peers, "edges to the other ranks of the group, as bits")
      .def_ro("place", &Row::Stage::place, "index of this rank in the group");
  nb::class_<Row>(module, "Row",
                  "A communicator at one vertex of its tree: a row of a node's table. Edge sets are bit masks.")
      .def_prop_ro("has_rank", &Row::has_rank)
      .def_ro("ranks", &Row::ranks)
      .def_ro("rank", &Row::rank)
      .def_ro("label", &Row::label)
      .def_ro("below", &Row::below, "number of labels of this vertex and its subtree")
      .def_ro("used", &Row::used)
      .def_ro("up", &Row::up)
      .def_ro("down", &Row::down)
      .def_prop_ro("edges", [](const Row& self) { return std::vector(self.edges.begin(), self.edges.end()); })
      .def_prop_ro(
          "stages",
          [](const Row& self) { return std::vector(self.stages.begin(), self.stages.begin() + self.stage_count); })
      .def_prop_ro("doubling", [](const Row& self) { return std::vector(self.doubling.begin(), self.doubling.end()); })
      .def_ro("fold", &Row::fold)
      .def_ro("beyond", &Row::beyond);

  nb::class_<Group>(module, "Group",
                    "The vertices of a communicator, those with ranks first, and the edges between them.")
      .def(
          "__init__",
          [](Group* self, const FabricConfig& config, const std::vector<NodeId>& members) {
            auto group = Group::make(config, Graph(config), members, [](NodeId) { return true; }, 0);
            if (!group) throw std::invalid_argument("no row holds the edges of this communicator at one of its nodes");
            new (self) Group(std::move(*group));
          },
          nb::arg("config"), nb::arg("members"),
          "Builds the group of ranks on these nodes, with all table rows free.\n\nRaises ValueError if no row can hold "
          "its edges at one of the nodes.")
      .def_prop_ro(
          "tree",
          [](const Group& self) {
            std::vector<std::vector<std::pair<std::uint32_t, bool>>> result;
            for (const Group::Vertex& vertex : self.vertices()) {
              auto& edges = result.emplace_back();
              each_bit(vertex.row.tree(),
                       [&](unsigned k) { edges.emplace_back(vertex.peer[k], vertex.row.up >> k & 1); });
            }
            return result;
          },
          "For each vertex, its tree edges in ascending order: the vertex at the other end, and whether it is the "
          "parent.")
      .def(
          "tree_of",
          [](const Group& self, std::uint32_t root) {
            std::vector<std::vector<std::uint32_t>> result;
            for (const Group::Vertex& vertex : self.vertices()) {
              const std::uint32_t label = self.label(root);
              auto& edges = result.emplace_back();
              each_bit(vertex.row.towards(label) | vertex.row.away_from(label),
                       [&](unsigned k) { edges.push_back(vertex.peer[k]); });
            }
            return result;
          },
          nb::arg("root"),
          "Returns, for each vertex, its neighbours on the tree with root `root`, in ascending order of edges.")
      .def_prop_ro(
          "rows",
          [](const Group& self) {
            std::vector<std::pair<NodeId, Row>> result;
            for (const Group::Vertex& vertex : self.vertices()) result.emplace_back(vertex.node, vertex.row);
            return result;
          },
          "For each vertex, its node and its row of the node's table.")
      .def_prop_ro("by_dimensions", &Group::by_dimensions,
                   "True if the exchange proceeds by dimensions, False if it is recursive doubling over rank numbers.")
      .def_prop_ro("doubles", &Group::doubles, "True if edges exist between ranks whose numbers differ in one bit.")
      .def_prop_ro(
          "exchange",
          [](const Group& self) {
            std::vector<std::vector<std::vector<std::uint32_t>>> result;
            for (const Group::Vertex& vertex : self.vertices().first(self.ranks())) {
              auto& stages = result.emplace_back();
              for (unsigned k = 0; k < vertex.row.stage_count; ++k) {
                auto& peers = stages.emplace_back();
                each_bit(vertex.row.stages[k].peers, [&](unsigned edge) { peers.push_back(vertex.peer[edge]); });
                const auto own = peers.begin() + vertex.row.stages[k].place;
                peers.insert(own, static_cast<std::uint32_t>(result.size() - 1));
              }
            }
            return result;
          },
          "For each rank, its group in each stage: the ranks in the order in which their contributions are combined. "
          "Empty for a rank that is folded in before the exchange.");

  module.def(
      "relay_ways",
      [](const FabricConfig& config, NodeId node) {
        std::vector<std::pair<unsigned, unsigned>> result;
        for (const RouteEntry& entry : Relay::routes_of(config, Graph(config), node))
          result.emplace_back(entry.port, entry.route_class);
        return result;
      },
      nb::arg("config"), nb::arg("node"),
      "Returns the link port and route class (KEEP_CLASS: unchanged) by which a node's relay sends packets to each "
      "node; NO_ROUTE to itself.");

  module.def("unit_channel", &CollectiveUnit::channel, nb::arg("config"), nb::arg("source"), nb::arg("destination"),
             "Returns the virtual channel on which a node injects collective packets to another node.");
  module.def(
      "unit_last_link",
      [](const FabricConfig& config, NodeId from, NodeId to) {
        return CollectiveUnit::last_link(config, Graph(config), from, to);
      },
      nb::arg("config"), nb::arg("source"), nb::arg("destination"),
      "Returns the destination's link over which collective packets from another node arrive.");

  bind_fabric<Fabric>(module, "Fabric",
                      "A simulated cluster. Times are in ticks; ranks are numbered within a communicator.")
      .def(nb::init<const FabricConfig&, Endpoint>(), nb::arg("config"), nb::arg("endpoint") = Endpoint::host,
           "Raises ValueError if the configuration is invalid.");

  bind_fabric<SharedFabric>(module, "SharedFabric",
                            "A cluster shared by several jobs, each of which owns some of its nodes.")
      .def(nb::init<const FabricConfig&, const Sharing&, Endpoint>(), nb::arg("config"), nb::arg("sharing"),
           nb::arg("endpoint") = Endpoint::host,
           "Raises ValueError if the configuration is invalid or cannot be shared this way.")
      .def(
          "job_link_use",
          [](PythonFabric<SharedFabric>& self, std::uint32_t job) { return self.fabric().part(job).link_use(); },
          nb::arg("job"), "Returns the flits of a job sent by each link port.");
}
