// SPDX-License-Identifier: Apache-2.0
// Endpoints without a network, for tests of programs: kernels that implement each endpoint's contract.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "smi/program.hpp"

namespace thalweg::smi {

class Ideal {
 public:
  /// `endpoints` of each of the ranks. Sums are of 32-bit integers.
  Ideal(Domains& time, Domain& clock, unsigned ranks, const std::vector<EndpointOf>& endpoints)
      : kernels_(time), clock_(clock) {
    for (unsigned rank = 0; rank < ranks; ++rank) {
      auto& ports = ports_.emplace_back();
      for (const auto& endpoint : endpoints) {
        auto& end = ends_.emplace_back(rank, endpoint);
        ports.push_back({.endpoint = endpoint, .open = &end.open, .in = &end.in, .out = &end.out, .waits = {}});
        kernels_.add(end.name, clock_, [this, &end] { serve(end); }, {.serves = true});
      }
    }
  }

  [[nodiscard]] const std::vector<std::vector<Program::Port>>& ports() const { return ports_; }
  /// All opened channels: rank, and arguments.
  std::vector<std::pair<unsigned, Open>> opened;

 private:
  struct End {
    End(unsigned of_rank, const EndpointOf& what)
        : rank(of_rank),
          kind(what.kind),
          port(what.port),
          name("port " + std::to_string(port) + " of rank " + std::to_string(rank)),
          open(name),
          in(name),
          out(name) {}
    unsigned rank;
    EndpointKind kind;
    unsigned port;
    std::string name;
    Stream<Open> open;
    Stream<Element> in, out;
  };
  using Way = Stream<std::uint64_t>;

  /// From an endpoint to the same port of another endpoint's rank.
  Way& way(unsigned from, unsigned to, const End& end) {
    const bool point_to_point = end.kind == EndpointKind::push || end.kind == EndpointKind::pop;
    const auto key = std::tuple{from, to, end.port, point_to_point ? 0 : 1};
    return ways_.try_emplace(key, "way", 64).first->second;
  }

  void serve(End& end) {
    while (true) {
      const auto open = end.open.pop();
      opened.emplace_back(end.rank, open);
      const auto rank = [&](unsigned member) { return open.first + open.stride * member; };
      const bool root = open.own == open.root;
      for (std::uint32_t i = 0; i < open.count && end.kind != EndpointKind::scatter && end.kind != EndpointKind::gather;
           ++i)
        switch (end.kind) {
          case EndpointKind::push:
            way(end.rank, open.peer, end).push(end.in.pop().data);
            break;
          case EndpointKind::pop:
            end.out.push({way(open.peer, end.rank, end).pop(), false, open.peer});
            break;
          case EndpointKind::broadcast:
            if (root) {
              const auto data = end.in.pop().data;
              for (unsigned m = 0; m < open.ranks; ++m)
                if (m != open.own) way(end.rank, rank(m), end).push(data);
            } else {
              end.out.push({way(rank(open.root), end.rank, end).pop(), false});
            }
            break;
          default: {
            auto sum = static_cast<std::uint32_t>(end.in.pop().data);
            for (unsigned m = 0; m < open.ranks && root; ++m)
              if (m != open.own) sum += static_cast<std::uint32_t>(way(rank(m), end.rank, end).pop());
            if (root)
              end.out.push({sum, false});
            else
              way(end.rank, rank(open.root), end).push(sum);
          }
        }
      if (end.kind == EndpointKind::scatter || end.kind == EndpointKind::gather) parts(end, open);
    }
  }
  void parts(End& end, const Open& open) {
    const bool scatters = end.kind == EndpointKind::scatter, root = open.own == open.root;
    const auto rank = [&](unsigned member) { return open.first + open.stride * member; };
    for (unsigned m = 0; m < open.ranks; ++m)
      for (std::uint32_t i = 0; i < open.count; ++i) {
        if (root && m == open.own)
          end.out.push({end.in.pop().data, false});
        else if (root && scatters)
          way(end.rank, rank(m), end).push(end.in.pop().data);
        else if (root)
          end.out.push({way(rank(m), end.rank, end).pop(), false});
        else if (m == open.own && scatters)
          end.out.push({way(rank(open.root), end.rank, end).pop(), false});
        else if (m == open.own)
          way(end.rank, rank(open.root), end).push(end.in.pop().data);
      }
  }

  std::deque<End> ends_;
  std::map<std::tuple<unsigned, unsigned, unsigned, int>, Way> ways_;
  std::vector<std::vector<Program::Port>> ports_;
  Kernels kernels_;
  Domain& clock_;
};

}  // namespace thalweg::smi
