// SPDX-License-Identifier: Apache-2.0
#include "smi/channel.hpp"

namespace thalweg::smi {

std::string type_name(unsigned type) {
  constexpr const char* kNames[] = {"?", "SMI_INT", "SMI_FLOAT", "SMI_DOUBLE", "SMI_CHAR", "SMI_SHORT"};
  return type < std::size(kNames) ? kNames[type] : "type " + std::to_string(type);
}

std::string open_name(unsigned kind) {
  constexpr const char* kNames[] = {"send", "receive", "bcast", "scatter", "gather", "reduce"};
  return std::string("SMI_Open_") + kNames[kind] + "_channel";
}

spec::Datatype datatype(unsigned type) {
  switch (type) {
    case 2:
      return spec::Datatype::float32;
    case 3:
      return spec::Datatype::float64;
    case 4:
      return spec::Datatype::int8;
    case 5:
      return spec::Datatype::int16;
    default:
      return spec::Datatype::int32;
  }
}

unsigned size_of(unsigned type) {
  switch (type) {
    case 3:
      return 3;
    case 4:
      return 0;
    case 5:
      return 1;
    default:
      return 2;
  }
}

EndpointKind endpoint_kind(unsigned kind) {
  switch (kind) {
    case SMI__SEND:
      return EndpointKind::push;
    case SMI__RECEIVE:
      return EndpointKind::pop;
    case SMI__BCAST:
      return EndpointKind::broadcast;
    case SMI__SCATTER:
      return EndpointKind::scatter;
    case SMI__GATHER:
      return EndpointKind::gather;
    default:
      return EndpointKind::reduce;
  }
}

std::string kind_name(EndpointKind kind) {
  constexpr const char* kNames[] = {"push", "pop", "broadcast", "scatter", "gather", "reduce"};
  return kNames[static_cast<unsigned>(kind)];
}

namespace {

std::string describe(const Agreement::End& end) {
  return "rank " + std::to_string(end.rank) + ", kernel " + end.kernel + ", " + end.location.file + ":" +
         std::to_string(end.location.line);
}

std::string describe_degree(const Agreement::End& end) {
  return end.window == 0 ? "eager" : std::to_string(end.window * end.per_packet) + " elements";
}

void compare(const Agreement::End& a, const Agreement::End& b) {
  const auto differ = [&](const std::string& property, const std::string& value_a, const std::string& value_b) {
    throw Misuse("the ends of a channel disagree on " + property + ": " + value_a + " (" + describe(a) + ") and " +
                 value_b + " (" + describe(b) + ")");
  };
  if (a.type != b.type) differ("its type", type_name(a.type), type_name(b.type));
  if (a.count != b.count) differ("its count", std::to_string(a.count), std::to_string(b.count));
  if (a.root != b.root) differ("its root", std::to_string(a.root), std::to_string(b.root));
  if (a.op != b.op) differ("its operator", std::to_string(a.op), std::to_string(b.op));
  if (a.window != b.window || a.per_packet != b.per_packet)
    differ("how far the sender may be ahead, which follows from the asynchronicity degree", describe_degree(a),
           describe_degree(b));
  if (a.tile != b.tile)
    differ("how many elements are granted at once, which follows from the asynchronicity degree",
           std::to_string(a.tile), std::to_string(b.tile));
}

}  // namespace

void Agreement::point_to_point(unsigned from, unsigned to, unsigned port, bool sends, const End& end) {
  auto& ends = ends_[from | to << 8 | port << 16];
  auto& own = sends ? ends.sent : ends.received;
  auto& other = sends ? ends.received : ends.sent;
  if (other.empty()) {
    own.push_back(end);
    return;
  }
  const End first = other.front();
  other.pop_front();
  compare(first, end);
}

void Agreement::collective(const Channel& channel, unsigned port, const End& end) {
  auto& rounds = rounds_[{channel.kind, port, channel.first, channel.stride, channel.ranks}];
  if (rounds.next.empty()) rounds.next.resize(channel.ranks);
  const auto round = rounds.next[channel.own]++ - rounds.completed;
  if (round == rounds.open.size()) {
    rounds.open.emplace_back(end, 1);
  } else {
    compare(rounds.open[round].first, end);
    ++rounds.open[round].second;
  }
  while (!rounds.open.empty() && rounds.open.front().second == channel.ranks) {
    rounds.open.pop_front();
    ++rounds.completed;
  }
}

std::vector<unsigned> Agreement::missing(unsigned kind, unsigned port, unsigned rank) const {
  std::vector<unsigned> missing_ranks;
  for (const auto& [key, rounds] : rounds_) {
    const auto& [of_kind, of_port, first, stride, ranks] = key;
    if (of_kind != kind || of_port != port) continue;
    const auto cluster_rank = [&, f = first, s = stride](unsigned member) {
      return static_cast<unsigned>(static_cast<int>(f) + s * static_cast<int>(member));
    };
    for (unsigned own = 0; own < rounds.next.size(); ++own) {
      if (cluster_rank(own) != rank) continue;
      for (unsigned member = 0; member < rounds.next.size(); ++member)
        if (rounds.next[member] < rounds.next[own]) missing_ranks.push_back(cluster_rank(member));
    }
  }
  return missing_ranks;
}

}  // namespace thalweg::smi
