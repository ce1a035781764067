// SPDX-License-Identifier: Apache-2.0
#include "mpi_fpga/planners/hamiltonian_rings.hpp"

#include <array>
#include <random>

namespace thalweg::mpi_fpga {
namespace {

/// Every link belongs to a family, and every vertex has two links of each family, so a family consists of rings.
class Search {
 public:
  explicit Search(const PortGraph& graph) : graph_(graph), family_(graph.peers.size(), kNone) {}

  [[nodiscard]] std::vector<RingPath> run() {
    if (graph_.vertices > kMaxVertices || !by_dimensions()) return {};
    std::vector<RingPath> rings;
    std::minstd_rand random;
    for (std::size_t tries = kTries * graph_.vertices; tries > 0 && rings_ > families_; --tries) {
      const auto vertex = static_cast<std::uint32_t>(random() % graph_.vertices);
      const auto link = [&] { return links(vertex, static_cast<std::uint8_t>(random() % families_))[random() % 2]; };
      const Exit one = link();
      exchange(one, link());
    }
    if (rings_ > families_) return {};
    for (std::uint8_t family = 0; family < families_; ++family) {
      RingPath& ring = rings.emplace_back();
      follow(links(0, family)[0], [&](Exit exit) {
        ring.vertices.push_back(exit.vertex);
        ring.ports.push_back(static_cast<std::uint8_t>(exit.port));
      });
    }
    return rings;
  }

 private:
  using Exit = PortGraph::End;  ///< a directed link, by the port where it leaves a vertex
  static constexpr std::uint8_t kNone = 0xFF;
  static constexpr std::size_t kTries = 1000;  ///< per vertex
  static constexpr std::uint32_t kMaxVertices = 4096;

  /// Initial families: the rings of each dimension, whose links leave by one port and arrive at another.
  [[nodiscard]] bool by_dimensions() {
    for (unsigned port = 0; port < graph_.ports; ++port) {
      const Exit there = graph_.peer(0, port);
      if (there.vertex == PortGraph::kNone || port > there.port) continue;
      if (there.port == port) return false;
      for (std::uint32_t vertex = 0; vertex < graph_.vertices; ++vertex) {
        const Exit end = graph_.peer(vertex, port);
        if (end.vertex == PortGraph::kNone || end.port != there.port) return false;
        assign({vertex, port}, families_);
      }
      std::vector<bool> seen(graph_.vertices);
      for (std::uint32_t vertex = 0; vertex < graph_.vertices; ++vertex) {
        rings_ += !seen[vertex];
        follow({vertex, port}, [&](Exit exit) { seen[exit.vertex] = true; });
      }
      ++families_;
    }
    return families_ > 0;
  }

  [[nodiscard]] std::uint8_t& family(Exit exit) { return family_[exit.vertex * graph_.ports + exit.port]; }
  /// A vertex's two links of a family.
  [[nodiscard]] std::array<Exit, 2> links(std::uint32_t vertex, std::uint8_t wanted) {
    std::array<Exit, 2> found;
    std::size_t count = 0;
    for (unsigned port = 0; count < 2; ++port)
      if (family({vertex, port}) == wanted) found[count++] = {vertex, port};
    return found;
  }
  /// The family's other link at the vertex to which a link leads.
  [[nodiscard]] Exit next(Exit exit) {
    const Exit end = graph_.peer(exit.vertex, exit.port);
    const auto both = links(end.vertex, family(exit));
    return both[both[0].port == end.port];
  }
  /// Visits the ring of a link once.
  template <class Visit>
  void follow(Exit first, Visit&& visit) {
    Exit exit = first;
    do {
      visit(exit);
      exit = next(exit);
    } while (exit.vertex != first.vertex || exit.port != first.port);
  }

  /// Change in the number of rings if two links of a family are replaced by links that join their tails and their
  /// heads.
  [[nodiscard]] int more(Exit a, Exit b) {
    const Exit back = graph_.peer(b.vertex, b.port);
    int result = -1;
    follow(a, [&](Exit exit) {
      if (exit.vertex == b.vertex && exit.port == b.port) result = 0;
      if (exit.vertex == back.vertex && exit.port == back.port) result = 1;
    });
    return result;
  }

  /// If two links of the same families complete a square with these two sides of a vertex, the families exchange the
  /// sides.
  void exchange(Exit uv, Exit uz) {
    const std::uint32_t v = graph_.peer(uv.vertex, uv.port).vertex, z = graph_.peer(uz.vertex, uz.port).vertex;
    const std::uint8_t one = family(uv), other = family(uz);
    if (v == z || one == other) return;
    const auto close = [&](Exit zw, Exit vw) {
      const std::uint32_t w = graph_.peer(zw.vertex, zw.port).vertex;
      if (w == uv.vertex || w != graph_.peer(vw.vertex, vw.port).vertex) return false;
      const int change = more(uv, zw) + more(uz, vw);
      if (change > 0) return false;
      rings_ = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(rings_) + change);
      for (const Exit side : {uv, zw}) assign(side, other);
      for (const Exit side : {uz, vw}) assign(side, one);
      return true;
    };
    for (const Exit zw : links(z, one))
      for (const Exit vw : links(v, other))
        if (close(zw, vw)) return;
  }
  void assign(Exit exit, std::uint8_t to) { family(exit) = family(graph_.peer(exit.vertex, exit.port)) = to; }

  const PortGraph& graph_;
  std::uint8_t families_ = 0;
  std::vector<std::uint8_t> family_;  ///< per vertex and port
  std::size_t rings_ = 0;             ///< over all families
};

}  // namespace

std::vector<RingPath> hamiltonian_rings(const PortGraph& graph) {
  return Search(graph).run();
}

}  // namespace thalweg::mpi_fpga
