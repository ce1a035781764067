// SPDX-License-Identifier: Apache-2.0
// Executes the ranks' submissions on the engine.
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "mpi/server/server.hpp"
#include "mpi_fpga/collective_control.hpp"

namespace thalweg::mpi {

void Server::drain(unsigned rank) {
  Submission part;
  if (!has_threads(rank)) {
    while (memory_.slot(rank).submissions.take(part)) accept(rank, part);
    return;
  }
  std::vector<Submission> parts;
  while (memory_.slot(rank).submissions.take(part)) parts.push_back(part);
  order(rank, parts);
  for (const Submission& each : parts) accept(rank, each);
}

namespace {

enum class Kind : std::uint8_t { send, receive, together };

Kind kind_of(Action action) {
  switch (action) {
    case Action::send:
      return Kind::send;
    case Action::create:
    case Action::release:
    case Action::collective:
    case Action::meet:
    case Action::software:
      return Kind::together;
    default:
      return Kind::receive;
  }
}

/// True if two threads' operations may only take effect in the order in which they were posted, as that order may be the program's.
bool ordered(const Submission& one, const Submission& other) {
  if (one.thread == other.thread) return true;
  if (other.action == Action::cancel) return other.peer_id == one.id;
  const Kind kind = kind_of(one.action);
  if (kind != kind_of(other.action) || one.communicator != other.communicator) return false;
  const auto meet = [](std::int32_t a, std::int32_t b) { return a == b || a == kAny || b == kAny; };
  if (kind == Kind::send) return one.node == other.node && one.tag == other.tag;
  return kind == Kind::together || (meet(one.tag, other.tag) && meet(one.peer, other.peer));
}

}  // namespace

/// Orders what threads of a rank have posted by time and by their paths, not by arrival, as far as their operations are independent.
void Server::order(unsigned rank, std::vector<Submission>& parts) {
  Rank& owner = ranks_[rank];
  std::erase_if(owner.recent, [&](const Submission& part) { return part.at <= timeline_.now(); });
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (const Submission& earlier : owner.recent)
      if (ordered(earlier, parts[i])) parts[i].at = std::max(parts[i].at, earlier.at);
    if (parts[i].at > timeline_.now()) owner.recent.push_back(parts[i]);
  }
  const auto place = [&](const Submission& part) {
    return std::ranges::find(owner.clients, part.thread, &Client::life) - owner.clients.begin();
  };
  for (std::size_t next = 0; next < parts.size(); ++next) {
    std::size_t first = next;  // always free to go: nothing was posted before it
    for (std::size_t i = next + 1; i < parts.size(); ++i) {
      if (std::pair(parts[i].at, place(parts[i])) >= std::pair(parts[first].at, place(parts[first]))) continue;
      const auto waits_for = [&](const Submission& earlier) { return ordered(earlier, parts[i]); };
      const auto begin = parts.begin() + static_cast<std::ptrdiff_t>(next);
      if (std::none_of(begin, parts.begin() + static_cast<std::ptrdiff_t>(i), waits_for)) first = i;
    }
    const auto at = [&](std::size_t i) { return parts.begin() + static_cast<std::ptrdiff_t>(i); };
    std::rotate(at(next), at(first), at(first + 1));
  }
}

void Server::accept(unsigned rank, const Submission& part) {
  if (part.id != 0) session_.request(rank, part);
  switch (part.action) {
    case Action::create:
      return create(rank, part);
    case Action::release:
      return release(part);
    case Action::collective:
      return collective(rank, part);
    case Action::meet:
      return meet(rank, part);
    case Action::software:
      return software(rank, part);
    case Action::send:
      return send(rank, part);
    case Action::receive:
    case Action::probe:
    case Action::match:
    case Action::try_probe:
    case Action::try_match:
      return timeline_.at(part.at, [this, rank, part] { post(rank, part); });
    case Action::count_left:
      return timeline_.at(part.at, [this, rank, part] {
        complete(rank, {.id = part.id, .at = part.at, .bytes = ranks_[rank].mailbox.left(part.communicator)});
      });
    case Action::cancel:
      return timeline_.at(part.at, [this, rank, part] {
        if (ranks_[rank].mailbox.withdraw(part.peer_id))
          complete(rank, {.id = part.peer_id, .at = part.at, .cancelled = true});
      });
  }
}

/// Prefix that distinguishes the communicators of the run's programs.
std::string Server::program_of(std::uint32_t rank) const {
  if (options_.programs.empty()) return "";
  const auto next = std::ranges::upper_bound(options_.programs, rank);
  return "job " + std::to_string(next - options_.programs.begin() - 1) + ": ";
}

void Server::create(unsigned rank, const Submission& part) {
  const auto given = memory_.at<const std::uint32_t>(part.send, part.count);
  auto creation = creations_.enter(rank, {given.begin(), given.end()}, part);
  if (!creation) return;
  const std::uint32_t number = ++communicators_made_;
  Communicator& made = communicators_[number];
  made.number = number;
  made.name = name_of(*creation, part.communicator, number);
  made.members = creation->members;
  made.entered.resize(made.members.size());
  made.rank_map = rank_map_of(made.members);
  made.memory_free.resize(made.rank_map.hosts().size());

  const Tick at = timeline_.possible(creation->last);
  const bool wanted = part.reason == Reason::none;
  const auto& hosts = made.rank_map.hosts();
  // All get their replies at once: MPI's next step is collective.
  const auto answer = [this, number, requests = std::move(creation->requests)](bool granted, Tick when) {
    created_ = true;
    for (const auto& member : requests)
      complete(member.rank, {.id = member.id,
                             .at = when,
                             .bytes = number,
                             .payload = member.list,
                             .granted = granted,
                             .shared = communicators_.at(number).rank_map.shared(),
                             .collectives = granted ? collectives_of(number) : 0});
  };
  if (wanted && hosts.size() > 1) {
    // A node's row is loaded once for all its ranks in the communicator.
    const auto loading = std::make_shared<std::size_t>(hosts.size());
    std::vector<Handle> handles;
    for (std::size_t i = 0; i < hosts.size(); ++i)
      handles.push_back(timeline_.expect([answer, loading](const Completion& loaded) {
        if (--*loading == 0) answer(true, loaded.at);
      }));
    made.context = timeline_.engine().create_communicator(hosts, handles, at);
    if (made.context) return;
    for (const Handle handle : handles) timeline_.forget(handle);
  }
  const bool granted = wanted && made.rank_map.shared() && hosts.size() == 1;
  timeline_.at(at, [answer, granted, at] { answer(granted, at); });
}

/// Predefined communicators keep their names, others are named by the function that created them, and those of persistent
/// collectives by their parent.
std::string Server::name_of(const Creations::Creation& creation, std::uint32_t parent, std::uint32_t number) const {
  if (creation.name.empty()) return communicators_.at(parent).name;
  const bool own = creation.name.find("COMM_") != std::string::npos;
  return program_of(creation.members.front()) + creation.name + (own ? "" : " #" + std::to_string(number));
}

/// Bit mask of collectives that the network, or the memory of the only node, computes on a communicator.
std::uint32_t Server::collectives_of(std::uint32_t number) const {
  const Communicator& communicator = communicators_.at(number);
  std::uint32_t found = 0;
  for (unsigned c = 1; c < spec::collective_names.size(); ++c) {
    const auto kind = NodeCollective::of_nodes(static_cast<spec::Collective>(c), communicator.rank_map);
    if (kind && (!communicator.context || timeline_.engine().computes(*communicator.context, *kind))) found |= 1u << c;
  }
  return found;
}

void Server::release(const Submission& part) {
  if (const auto found = communicators_.find(part.communicator); found != communicators_.end()) {
    found->second.released += 1;
    free_if_unused(part.communicator);
  }
}

void Server::free_if_unused(std::uint32_t number) {
  const auto found = communicators_.find(number);
  const Communicator& communicator = found->second;
  if (communicator.released < communicator.members.size() || !communicator.operations.empty()) return;
  if (communicator.context) timeline_.engine().free_communicator(*communicator.context);
  communicators_.erase(found);
}

/// Chooses the algorithm from values that all ranks know. Sizes of a v-form differ by rank, so its choice is that of the
/// longest blocks.
spec::Algorithm Server::algorithm_of(const Communicator& communicator, const CollectiveRequest& part,
                                     std::uint64_t bytes) {
  const spec::Collective kind = part.collective;
  if (part.vector) bytes = std::numeric_limits<std::uint64_t>::max();
  const std::uint32_t known = timeline_.engine().algorithms(*communicator.context, kind, part.vector);
  const auto ranks = static_cast<std::uint32_t>(communicator.rank_map.hosts().size());
  return options_.choice.of(kind, ranks, bytes, known).value_or(static_cast<spec::Algorithm>(std::countr_zero(known)));
}

namespace {

/// Bytes that a member sends and receives if all blocks have `bytes`.
std::pair<std::uint64_t, std::uint64_t> given_and_taken(const Communicator& communicator, std::uint32_t member,
                                                        const Submission& part, std::uint64_t bytes) {
  const auto kind = part.operation.collective;
  const bool at_root = member == part.operation.root;
  const auto in_all = [&](Holding holding) {
    return holding == Holding::block_per_rank ? communicator.members.size() * bytes
           : holding == Holding::block        ? bytes
                                              : 0;
  };
  return {in_all(send_holding(kind, at_root)), in_all(receive_holding(kind, member, at_root))};
}

/// If all blocks are equal, a rank's send and receive sizes follow from the block size. Returns a description of the
/// mismatch, or an empty string.
std::string disagreement_with_itself(const Communicator& communicator, std::uint32_t member, const Submission& part,
                                     const std::string& function) {
  const auto [given, taken] = given_and_taken(communicator, member, part, part.bytes);
  if (part.send_bytes == given && part.receive_bytes == taken) return "";
  return "rank " + std::to_string(communicator.members[member]) + " calls " + function + " on " + communicator.name +
         " with " + std::to_string(part.send_bytes) + " bytes to send and " + std::to_string(part.receive_bytes) +
         " to receive; for " + std::to_string(communicator.members.size()) + " ranks and blocks of " +
         std::to_string(part.bytes) + " they would be " + std::to_string(given) + " and " + std::to_string(taken);
}

}  // namespace

void Server::collective(unsigned rank, const Submission& part) {
  Communicator& communicator = communicators_.at(part.communicator);
  const std::uint32_t member = communicator.rank_of(rank);
  Meeting& operation = communicator.enter(member, part, options_.functions);
  CollectiveRequest request{part.operation};
  request.rank = member;
  request.send = memory_.at<const std::byte>(part.send, part.send_bytes);
  request.receive = memory_.at<std::byte>(part.receive, part.receive_bytes);
  const auto blocks = [&](std::uint64_t list) {
    return memory_.at<const Block>(list, list == 0 ? 0 : communicator.members.size());
  };
  request.send_blocks = blocks(part.send_blocks);
  request.receive_blocks = blocks(part.receive_blocks);
  if (!request.vector) fit(communicator, operation, part, request);
  if (communicator.rank_map.shared()) return enter_node(communicator, operation, request, part.at);
  const std::uint64_t bytes = request.vector ? part.bytes : operation.first.bytes;
  submit(communicator, operation, request, bytes, part.at, [this, rank, part, number = operation.number](Tick at) {
    end_part(part.communicator, number, rank, part.id, at);
  });
}

/// Gives a part whose size differs from the first part's substitute buffers of that size: the network cannot abort an
/// operation, and the communicator must remain usable. The result is discarded.
void Server::fit(const Communicator& communicator, Meeting& operation, const Submission& part,
                 CollectiveRequest& request) {
  if (operation.wrong.empty())
    operation.wrong = disagreement_with_itself(communicator, request.rank, part, options_.functions[part.function]);
  const Submission& first = operation.first;
  const auto [given, taken] = given_and_taken(communicator, request.rank, part, first.bytes);
  if (part.operation.count == first.operation.count && part.send_bytes == given && part.receive_bytes == taken) return;
  request.count = first.operation.count;
  request.send = operation.stand_ins.emplace_back(given);
  request.receive = operation.stand_ins.emplace_back(taken);
}

/// Submits a node's part, with blocks of `bytes`, to the engine.
void Server::submit(const Communicator& communicator, Meeting& operation, CollectiveRequest request,
                    std::uint64_t bytes, Tick at, std::function<void(Tick)> done) {
  request.handle = timeline_.expect([done = std::move(done)](const Completion& ended) { done(ended.at); });
  request.context = *communicator.context;
  request.algorithm = operation.algorithm = algorithm_of(communicator, request, bytes);
  timeline_.engine().submit(request, timeline_.possible(at));
}

void Server::meet(unsigned rank, const Submission& part) {
  Communicator& communicator = communicators_.at(part.communicator);
  const Meeting& operation = communicator.enter(communicator.rank_of(rank), part, options_.functions);
  if (operation.entered < communicator.members.size()) return;
  timeline_.at(operation.last_entry, [this, number = operation.number, part, ids = operation.ids,
                                      members = communicator.members, at = operation.last_entry] {
    for (std::size_t i = 0; i < members.size(); ++i) end_part(part.communicator, number, members[i], *ids[i], at);
  });
}

void Server::software(unsigned rank, const Submission& part) {
  Communicator& communicator = communicators_.at(part.communicator);
  const std::uint32_t member = communicator.rank_of(rank);
  Meeting& operation = communicator.enter(member, part, options_.functions);
  if (part.send != 0) {
    const auto list = memory_.at<const ListEntry>(part.send, part.count);
    operation.lists[member].assign(list.begin(), list.end());
  }
  books_.fallbacks[{part.reason, options_.functions[part.function], part.detail}] += 1;
  if (operation.entered == communicator.members.size()) start_software(communicator, operation);
}

void Server::start_software(const Communicator& communicator, Meeting& operation) {
  const auto n = static_cast<std::uint32_t>(communicator.members.size());
  const SoftwareCall call{operation.first.pattern, n, operation.first.operation.root, operation.first.bytes,
                          std::move(operation.lists)};
  SoftwareRun::start(timeline_, software_rounds(call), communicator.rank_map.nodes(), options_.message_overhead,
                     operation.last_entry,
                     [this, communicator = communicator.number, number = operation.number, ids = operation.ids,
                      members = communicator.members](std::uint32_t rank, Tick at) {
                       end_part(communicator, number, members[rank], *ids[rank], at);
                     });
}

void Server::end_part(std::uint32_t number, std::uint64_t operation, unsigned rank, std::uint64_t id, Tick at) {
  Communicator& communicator = communicators_.at(number);
  const std::string& wrong = communicator.operation(operation).wrong;
  if (!wrong.empty()) ranks_[rank].disagreement = wrong;
  complete(rank, {.id = id, .at = at, .disagrees = !wrong.empty()});
  const auto finished = communicator.leave(operation, at);
  if (!finished) return;
  const Submission& first = finished->first;
  if (!finished->wrong.empty() && books_.failed_collectives++ == 0) books_.first_failure = finished->wrong;
  if (first.action != Action::meet) {
    const bool offloaded = first.action == Action::collective;
    CollectiveUse& use = books_.collectives[{
        communicator.name, communicator.rank_map.nodes(), options_.functions[first.function], first.bytes,
        first.operation.vector,
        static_cast<std::uint8_t>(offloaded ? first.operation.collective : spec::Collective::point_to_point), offloaded,
        finished->algorithm, first.operation.root, finished->site}];
    const auto n = static_cast<Tick>(communicator.members.size());
    use.calls += communicator.members.size();
    use.operations += 1;
    use.fabric += finished->last_done - finished->last_entry;
    use.waiting += n * finished->last_entry - finished->entries;
    use.skew += finished->last_entry - finished->first_entry;
    if (books_.history)
      books_.history->collectives.push_back({communicator.name, options_.functions[first.function],
                                             offloaded ? std::string(spec::name(finished->algorithm)) : "software",
                                             first.bytes, finished->first_entry, finished->last_entry,
                                             finished->last_done});
    if (finished->on_nodes)
      use.memory += finished->on_nodes->outside_network(finished->last_entry, finished->last_done);
  }
  free_if_unused(number);
}

void Server::send(unsigned rank, const Submission& part) {
  const Message message{
      part.id,    part.communicator, part.peer,       part.tag, rank, static_cast<std::uint32_t>(part.node),
      part.bytes, part.send,         part.synchronous};
  books_.messages += 1;
  books_.unreceived += 1;
  books_.message_bytes += part.bytes;
  auto entry = std::make_shared<Channel::Entry>(message, part.thread);
  channels_[std::uint64_t{rank} << 32 | message.receiver].sent.push_back(entry);
  transfer(rank, message.receiver, part.bytes, part.at, [this, entry, sent = part.at](const Completion& moved) {
    const Message& arrived = entry->message;
    if (!moved.last) {
      if (!arrived.synchronous) complete(arrived.sender, {.id = arrived.id, .at = moved.at});
      return;
    }
    if (books_.history)
      books_.history->messages.push_back(
          {arrived.sender, arrived.receiver, arrived.tag, arrived.bytes, sent, moved.at});
    entry->arrived = true;
    deliver_arrived(arrived.sender, arrived.receiver, moved.at);
  });
}

/// Delivers the messages that have arrived and that no earlier one holds up.
void Server::deliver_arrived(unsigned sender, unsigned receiver, Tick at) {
  auto& sent = channels_[std::uint64_t{sender} << 32 | receiver].sent;
  while (!sent.empty() && sent.front()->arrived) {
    const Message message = sent.front()->message;
    sent.pop_front();
    deliver(message, at);
  }
  if (!has_threads(sender)) return;
  std::vector<std::shared_ptr<Channel::Entry>> free;
  for (auto entry = sent.begin(); entry != sent.end(); ++entry) {
    const auto holds_up = [&](const auto& earlier) {
      return earlier->thread == (*entry)->thread || (earlier->message.communicator == (*entry)->message.communicator &&
                                                     earlier->message.tag == (*entry)->message.tag);
    };
    if ((*entry)->arrived && std::none_of(sent.begin(), entry, holds_up)) free.push_back(*entry);
  }
  for (const auto& entry : free) {
    std::erase(sent, entry);
    deliver(entry->message, at);
  }
}

/// A rank's message to itself takes no time.
void Server::transfer(unsigned from, unsigned to, std::uint64_t bytes, Tick at, Timeline::Done done) {
  if (from != to) return timeline_.send(options_.nodes[from], options_.nodes[to], bytes, at, std::move(done));
  timeline_.at(at, [at, done = std::move(done)] {
    done({.at = at, .last = false});
    done({.at = at});
  });
}

void Server::deliver(Message message, Tick at) {
  message.arrived = at;
  note_event(message.receiver, at);
  ranks_[message.receiver].mailbox.arrive(
      message, [this](const Post& post, const Message& served) { serve(served.receiver, post, served); });
}

void Server::post(unsigned rank, const Submission& part) {
  const bool takes = part.action != Action::probe && part.action != Action::try_probe;
  const Post post{part.id, part.communicator, part.peer, part.tag, takes, part.at};
  const auto served = [this, rank](const Post& by, const Message& message) { serve(rank, by, message); };
  Mailbox& mailbox = ranks_[rank].mailbox;
  if (part.action != Action::try_probe && part.action != Action::try_match) return mailbox.post(post, served);
  if (!mailbox.try_post(post, served)) complete(rank, {.id = part.id, .at = part.at, .bytes = kNothing});
}

void Server::serve(unsigned rank, const Post& post, const Message& message) {
  const Tick at = std::max(post.at, message.arrived);
  if (post.takes) books_.unreceived -= 1;
  complete(rank, {post.id, at, message.bytes, message.payload, message.source, message.tag});
  if (post.takes && message.synchronous)
    transfer(rank, message.sender, 0, at, [this, message](const Completion& moved) {
      if (moved.last) complete(message.sender, {.id = message.id, .at = moved.at});
    });
}

}  // namespace thalweg::mpi
