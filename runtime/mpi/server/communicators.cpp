// SPDX-License-Identifier: Apache-2.0
#include "mpi/server/communicators.hpp"

#include <algorithm>

#include "thalweg_spec.hpp"

namespace thalweg::mpi {
namespace {

std::string describe(const Submission& part, const std::vector<std::string>& functions) {
  std::string text = functions[part.function];
  if (part.action == Action::meet) return text;
  text += " (" + std::to_string(part.bytes) + " bytes";
  if (part.operation.vector) return text.erase(text.find(" (")) + " (root " + std::to_string(part.operation.root) + ")";
  if (part.action == Action::collective && part.operation.op != spec::Operator::none)
    text += ", " + std::string(spec::name(part.operation.op)) + " of " + std::to_string(part.operation.count) + " " +
            std::string(spec::name(part.operation.type));
  return text + ", root " + std::to_string(part.operation.root) + ")";
}

bool agree(const Submission& a, const Submission& b, const std::vector<std::string>& functions) {
  const auto same = [&](auto field) { return a.operation.*field == b.operation.*field; };
  using Of = mpi_fpga::Operation;
  if (a.action != b.action || !same(&Of::collective) || a.pattern != b.pattern) return false;
  if (a.action == Action::collective) return same(&Of::op) && same(&Of::type) && same(&Of::root) && same(&Of::vector);
  return functions[a.function] == functions[b.function];
}

}  // namespace

std::uint32_t Communicator::rank_of(std::uint32_t world_rank) const {
  return static_cast<std::uint32_t>(std::ranges::find(members, world_rank) - members.begin());
}

Meeting& Communicator::enter(std::uint32_t rank, const Submission& part, const std::vector<std::string>& functions) {
  const std::uint64_t number = entered[rank]++;
  if (number - oldest == operations.size()) {
    Meeting& fresh = operations.emplace_back();
    fresh.number = number;
    fresh.first = part;
    fresh.first_rank = rank;
    fresh.ids.resize(members.size());
    fresh.lists.resize(members.size());
  }
  Meeting& found = operation(number);
  const auto difference = [&] {
    return "the ranks disagree on collective " + std::to_string(number + 1) + " of " + name + ": rank " +
           std::to_string(members[found.first_rank]) + " calls " + describe(found.first, functions) + ", rank " +
           std::to_string(members[rank]) + " calls " + describe(part, functions);
  };
  if (!agree(found.first, part, functions)) throw Disagreement{difference()};
  // In a v-form the engine compares the block sizes of each pair of ranks.
  if (part.operation.vector || part.action != Action::collective)
    found.first.bytes = std::max(found.first.bytes, part.bytes);
  else if (part.operation.count != found.first.operation.count && found.wrong.empty())
    found.wrong = difference();
  found.ids[rank] = part.id;
  if (rank == 0) found.site = part.site;
  found.entered += 1;
  found.first_entry = std::min(found.first_entry, part.at);
  found.last_entry = std::max(found.last_entry, part.at);
  found.entries += part.at;
  return found;
}

std::optional<Meeting> Communicator::leave(std::uint64_t number, Tick at) {
  Meeting& left = operation(number);
  left.last_done = std::max(left.last_done, at);
  if (++left.done < members.size()) return std::nullopt;
  Meeting finished = std::move(left);
  finished.done = static_cast<std::uint32_t>(members.size());
  left.done = finished.done;
  while (!operations.empty() && operations.front().done == members.size()) {
    operations.pop_front();
    ++oldest;
  }
  return finished;
}

std::optional<Creations::Creation> Creations::enter(std::uint32_t world_rank, std::vector<std::uint32_t> members,
                                                    const Submission& part) {
  Key key{part.communicator, part.apart, part.order, 0, std::move(members)};
  if (part.apart) key.turn = turns_[key][world_rank]++;
  Creation& creation = open_[key];
  if (creation.members.empty()) {
    creation.members = key.members;
    creation.name = part.detail;
  }
  creation.requests.push_back({world_rank, part.id, part.send});
  creation.last = std::max(creation.last, part.at);
  if (creation.requests.size() < creation.members.size()) return std::nullopt;
  return std::move(open_.extract(key).mapped());
}

std::vector<unsigned> Creations::missing(std::uint32_t world_rank, std::uint64_t id) const {
  const auto has = [](const Creation& creation, auto wanted) { return std::ranges::any_of(creation.requests, wanted); };
  std::vector<unsigned> found;
  for (const auto& [key, creation] : open_) {
    if (!has(creation, [&](const auto& member) { return member.rank == world_rank && member.id == id; })) continue;
    for (const std::uint32_t member : creation.members)
      if (!has(creation, [&](const auto& entered) { return entered.rank == member; })) found.push_back(member);
  }
  return found;
}

}  // namespace thalweg::mpi
