// SPDX-License-Identifier: Apache-2.0
#include "mpi_fpga/rtl_unit.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "common/bits.hpp"
#include "switch/rtl_library.hpp"
#include "switch/rtl_router.hpp"

namespace thalweg::mpi_fpga {
namespace {

std::string text_of(const UnitModel::Data& data, bool last) {
  return thalweg::text_of(data) + (last ? ", last" : "");
}

std::string text_of(const UnitModel::Take& take) {
  return "process " + std::to_string(take.process) + " in unit " + std::to_string(take.unit) + ", " +
         std::to_string(take.flits) + " flits at " + std::to_string(take.pace);
}

std::string text_of(const UnitModel::HostResult& host_result) {
  return "process " + std::to_string(host_result.process) + ", step " + std::to_string(host_result.step) + ", round " +
         std::to_string(host_result.round) + ", stream " + std::to_string(host_result.stream) + ", " +
         std::to_string(host_result.elements) + " elements from " + std::to_string(host_result.first) +
         (host_result.descriptor ? ", descriptor" : "");
}

std::string text_of(const UnitModel::Announced& announced) {
  return "rank " + std::to_string(announced.source) + " in context " + std::to_string(announced.context) +
         ", operation " + std::to_string(announced.sequence);
}

std::string text_of(std::uint32_t number) {
  return std::to_string(number);
}

std::string text_of(bool value) {
  return value ? "1" : "0";
}

template <class Value>
std::string text_of(const std::optional<Value>& value) {
  return value ? text_of(*value) : "nothing";
}

UnitModel::Data flit_of(const Packet& packet, unsigned index) {
  UnitModel::Data data;
  std::copy_n(packet.words.begin() + std::ptrdiff_t{index} * 4, 4, data.begin());
  return data;
}

}  // namespace

UnitLibrary::UnitLibrary(const std::string& file, std::optional<Recording> recording)
    : make_(function_of<UnitModel*(unsigned)>(file, "thalweg_make_unit")), recording_(std::move(recording)) {}

RtlUnit::RtlUnit(const UnitLibrary& library, bool credits, const UnitModel::RelayRoutes& routes)
    : self_(routes.self),
      model_(library.make(routes.self)),
      recording_(library.recording(routes.self)),
      sizes_(model_->sizes()),
      credits_(credits),
      host_(sizes_.units),
      results_(sizes_.units),
      reads_(sizes_.units),
      received_(sizes_.ports) {
  model_->load(routes);
}

void RtlUnit::load(std::uint32_t id, const Row& row, const std::array<EdgePath, kMaxEdges>& paths, Tick from) {
  if (row.used >> (sizes_.edges - 1) > 1 || (row.rooted && row.ranks > sizes_.roots))
    throw RtlTooSmall("a communicator needs more than the " + std::to_string(sizes_.edges) + " edges and " +
                      std::to_string(sizes_.roots) + " roots that a row of the hardware's unit has, at node " +
                      std::to_string(self_));
  const Tick cycles = std::max<Tick>({1, std::popcount(row.used), row.rooted ? row.ranks : 0});
  loading_.push_back({id, row, paths, from, cycles});
}

void RtlUnit::result(unsigned unit, const UnitModel::HostResult& host_result, const Packet& packet, Tick ready) {
  Result& result = results_[unit].emplace_back(Result{ready, host_result, {}});
  for (unsigned f = 0; f < packet.flits; ++f) result.flits.push_back(flit_of(packet, f));
}

void RtlUnit::own(unsigned port, const Flit& flit) {
  in_.own |= 1u << port;
  in_.own_flit[port] = flit;
}

void RtlUnit::personal(unsigned port, const Packet& packet, Tick now) {
  for (unsigned f = 0; f < packet.flits; ++f)
    received_[port].push_back({now + 1 + f, flit_of(packet, f), f + 1 == packet.flits});
}

void RtlUnit::announces(unsigned link, const UnitModel::Announced& announced) {
  model_outputs_.announces |= 1u << link;
  announcing_[link] = announced;
}

void RtlUnit::arrived(unsigned link, const Flit& flit) {
  in_.links |= 1u << link;
  in_.arrived[link] = flit;
}

void RtlUnit::take(const UnitModel::Take& take, const Packet& packet, Tick now) {
  model_outputs_.take = take;
  for (unsigned f = 0; f < take.flits; ++f)
    host_[take.unit].push_back({now + 1 + Tick{f} * take.pace, flit_of(packet, f)});
}

void RtlUnit::sent(unsigned port, const Flit& flit) {
  model_outputs_.sends |= 1u << port;
  sending_flit_[port] = flit;
}

void RtlUnit::back(unsigned port, std::uint64_t events) {
  in_.back[port] = static_cast<std::uint16_t>(in_.back[port] ^ events);
}

void RtlUnit::clock(Tick now) {
  UnitModel::Inputs inputs = in_;  // inputs of this cycle alone, after the cycles that the simulator skipped
  const ModelOutputs outputs = std::exchange(model_outputs_, {});
  if (next_ < now) {
    in_.announce.reset();
    in_.settled.reset();
    in_.links = in_.own = 0;
    if (credits_)
      in_.back = {};
    else
      in_.back = back_;
    while (next_ < now && !idle(now)) cycle(next_++);
  }
  next_ = now;
  in_ = inputs;
  model_outputs_ = outputs;
  unloads_.insert(unloads_.end(), new_unloads_.begin(), new_unloads_.end());
  new_unloads_.clear();
  const bool has_outputs = model_outputs_.take || model_outputs_.ended || model_outputs_.own || model_outputs_.sends ||
                           model_outputs_.announces;
  if (in_.links || in_.own || in_.announce || in_.settled || has_outputs || !idle(now + 1)) cycle(next_);
  ++next_;
  in_.announce.reset();
  in_.settled.reset();
  in_.links = in_.own = 0;
  if (credits_) in_.back = {};
}

/// True if the previous cycle had no inputs and changed nothing in the hardware, and none are pending before `until`.
bool RtlUnit::idle(Tick until) const {
  const auto waits = [](const auto& of_unit) { return !of_unit.empty(); };
  const auto comes = [&](const auto& of_unit) { return !of_unit.empty() && of_unit.front().ready >= next_; };
  return quiet_ && model_->idle() && in_.back == back_ && in_.room == room_ && !sent_ && !announced_ &&
         loading_.empty() && (starts_.empty() || starts_.front().at >= until) && unloads_.empty() &&
         std::ranges::none_of(host_, waits) && std::ranges::none_of(reads_, waits) &&
         std::ranges::none_of(results_, comes) && std::ranges::none_of(received_, waits);
}

void RtlUnit::write(Tick now) {
  in_.write.reset();
  if (loading_.empty() || loading_.front().from > now) return;
  Loading& load = loading_.front();
  const auto index = static_cast<unsigned>(now - load.from);
  UnitModel::Write word{.row = load.id, .words = &load.row};
  unsigned i = 0;
  each_bit(load.row.used, [&](unsigned k) {
    if (i++ != index) return;
    word.edge = k;
    word.vc = load.paths[k].first;
    word.link = load.paths[k].second;
  });
  if (load.row.rooted && index < load.row.ranks) word.label = index;
  word.vertex = index + 1 == load.cycles;
  in_.write = word;
}

void RtlUnit::cycle(Tick now) {
  write(now);
  in_.start.reset();
  if (!starts_.empty() && starts_.front().at <= now) {
    in_.start = starts_.front().start;
    starts_.pop_front();
  }
  in_.unload.reset();
  if (!unloads_.empty()) {
    in_.unload = unloads_.front();
    unloads_.pop_front();
  }
  in_.host = in_.result_ready = 0;
  for (unsigned u = 0; u < sizes_.units; ++u) {
    if (!host_[u].empty() && host_[u].front().at == now) {
      in_.host |= 1u << u;
      in_.host_data[u] = host_[u].front().data;
      host_[u].pop_front();
    }
    if (!reads_[u].empty() && reads_[u].front().first <= now) in_.result_ready |= 1u << u;
  }
  if (recording_ && now >= recording_->from) model_->record(std::exchange(recording_, nullptr)->file);
  quiet_ = !(in_.write || in_.settled || in_.start || in_.unload || in_.announce || in_.host || in_.result_ready ||
             in_.links || in_.own) &&
           in_.room == room_ && (credits_ ? in_.back == decltype(in_.back){} : in_.back == back_);
  back_ = in_.back;
  room_ = in_.room;
  try {
    model_->clock(now, in_, out_);
  } catch (const std::logic_error& failed) {
    throw RtlDifference("collective_unit", self_, now, failed.what());
  }
  if (in_.write && in_.write->vertex) loading_.pop_front();

  const auto name = [](const char* port, unsigned index) {
    return std::string(port) + "[" + std::to_string(index) + "]";
  };
  for (unsigned p = 0; p < sizes_.ports; ++p) {
    const bool expected = sent_ >> p & 1, got = out_.sent >> p & 1;
    if (expected || got)
      compare(now, name("out_flit_o", p), expected ? text_of(sent_flit_[p]) : "nothing",
              got ? text_of(out_.flit[p]) : "nothing");
  }
  compare(now, "ready_o", text_of(true), text_of(out_.ready));
  if (in_.settled && !(in_.write && in_.write->edge))
    compare(now, "place_settled_o", text_of(model_outputs_.settled), text_of(out_.settled));
  compare(now, "take_o", text_of(model_outputs_.take), text_of(out_.take));
  compare(now, "ended_o", text_of(model_outputs_.ended), text_of(out_.ended));
  compare(now, "own_ready_o", text_of(model_outputs_.own), text_of(out_.own));
  for (unsigned p = 0; p < sizes_.ports; ++p) {
    const bool expected = !received_[p].empty() && received_[p].front().at == now, got = out_.received >> p & 1;
    if (!expected && !got) continue;
    compare(now, name("came_data_o", p),
            expected ? text_of(received_[p].front().data, received_[p].front().last) : "nothing",
            got ? text_of(out_.received_data[p], out_.received_lasts >> p & 1) : "nothing");
    received_[p].pop_front();
  }
  for (unsigned l = 0; l < sizes_.links; ++l) {
    const bool expected = announced_ >> l & 1, got = out_.announced >> l & 1;
    if (expected || got)
      compare(now, name("announced_o", l), expected ? text_of(announcement_[l]) : "nothing",
              got ? text_of(out_.announcement[l]) : "nothing");
  }
  for (unsigned u = 0; u < sizes_.units; ++u) {
    const bool expected = !results_[u].empty() && results_[u].front().ready <= now, got = out_.results >> u & 1;
    if (!expected && !got) continue;
    Result* result = expected ? &results_[u].front() : nullptr;
    compare(now, name("result_data_o", u), result ? text_of(result->flits[0], result->flits.size() == 1) : "nothing",
            got ? text_of(out_.result[u], out_.lasts >> u & 1) : "nothing");
    compare(now, name("result_tag_o", u), text_of(result->host_result), text_of(out_.host_result[u]));
    if (!(in_.result_ready >> u & 1)) continue;
    result->flits.pop_front();
    if (result->flits.empty()) results_[u].pop_front();
    if (reads_[u].front().last == now) reads_[u].pop_front();
  }
  sent_ = model_outputs_.sends;
  sent_flit_ = sending_flit_;
  announced_ = model_outputs_.announces;
  announcement_ = announcing_;
  model_outputs_ = {};
}

void RtlUnit::compare(Tick now, const std::string& port, const std::string& expected, const std::string& got) const {
  if (expected != got) throw RtlDifference("collective_unit", self_, now, port, expected, got);
}

}  // namespace thalweg::mpi_fpga
