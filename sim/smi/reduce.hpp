// SPDX-License-Identifier: Apache-2.0
// Endpoint of a reduction, C++ model of rtl/smi/tw_reduce.sv.
#pragma once

#include <bit>
#include <optional>
#include <stdexcept>
#include <vector>

#include "common/ram_fifo.hpp"
#include "common/skid.hpp"
#include "reduce/lane.hpp"
#include "smi/endpoint.hpp"
#include "smi/packer.hpp"
#include "smi/synchs.hpp"
#include "smi/tree_neighbours.hpp"
#include "smi/unpacker.hpp"

namespace thalweg::smi {

/// Every kernel writes `count` elements; the root's reads as many results, each as soon as all ranks have contributed. Children get a
/// grant for a tile of elements when there is buffer space for it, initially for two tiles. Their elements are buffered, and one lane
/// combines them: the first child's element with the second's, and so on, finally with the kernel's own. With any_order, all but the
/// first child's are combined in order of arrival. The kernel's element has priority for the lane, as its call waits for the result;
/// the other children are served round-robin.
class Reduce : public Endpoint {
 public:
  explicit Reduce(const Config& config)
      : config_(config),
        depth_(2 * std::bit_ceil(config.tile)),
        base_(depth_),
        kernels_(depth_),
        sums_(depth_),
        others_(std::size_t{config.children} * depth_),
        done_(depth_),
        entered_(depth_),
        sources_(config.children),
        lane_(config.latency),
        results_(depth_) {}

  [[nodiscard]] bool open_ready() const override { return state_ == State::closed; }
  [[nodiscard]] bool element_ready() const override {
    return state_ == State::run && left_ > 0 && outstanding_ < depth_;
  }
  [[nodiscard]] bool data_ready() const override { return packets_.ready(); }
  [[nodiscard]] const Element* element() const override {
    return root_ && results_.valid() ? &results_.front() : nullptr;
  }
  [[nodiscard]] const Packet* packet() const override { return out_.valid() ? &out_.front() : nullptr; }
  [[nodiscard]] bool idle() const override { return !moved_ && (!searching_ || idle_steps_ > tree_.children()); }
  void skip(Tick cycles) override {
    if (!searching_) return;
    source_ = static_cast<unsigned>((source_ + static_cast<std::uint64_t>(cycles)) % own());
    next_ = sources_[source_].entered;
  }
  [[nodiscard]] std::string waits() const override {
    if (state_ == State::closed) return "";
    if (state_ != State::run) return "its position in the tree";
    if (!out_.ready()) return "the network";
    if (element()) return "its kernel to take elements";
    if (!root_ && packer_.part() && !granted_) return "synch of rank " + std::to_string(tree_.parent());
    if (left_ > 0 && open_.count - left_ == finished_) return "its kernel's elements";
    Member child = tree_.child();
    for (unsigned i = 0; i < tree_.children(); ++i, child = child.next(open_))
      if ((i == 0 ? base_arrived_ : sources_[i - 1].arrived) == finished_)
        return "data of rank " + std::to_string(child.rank);
    return "its lane";
  }

  void step(const Inputs& in) override {
    const Open* opens = open_ready() && in.open && in.open->count > 0 ? in.open : nullptr;
    const bool runs = state_ == State::run, accept = in.element && element_ready();
    const bool leaf = tree_.children() == 0, out_ready = out_.ready();
    const Element own_element{accept ? in.element->data & element_bits(open_.size) : 0};
    searching_ = false;
    moved_ = accepts(in) || (state_ != State::closed && !runs) || in_lane_ > 0 || unpacker_.valid() ||
             packets_.valid() || (!results_.valid() && !results_.empty());

    // Output packets: grants for the children, or results.
    Packet packet;
    const bool grants = runs && !leaf && to_grant_ > 0 && room_ > 0;
    const Packer::Part* part = packer_.part();
    const bool sends = runs && part && granted_ && !grants && out_ready;
    const bool uses = runs && part && !granted_ && synchs_.available();
    if (grants) {
      packet.set_header(config_.rank, child_.rank, config_.port, Operation::synch, 1);
      packet.set_grant(1);
    } else if (part) {
      packet = part->packet;
      packet.set_header(config_.rank, tree_.parent(), config_.port, Operation::reduce, packet.count());
    }
    const bool tile_granted = grants && out_ready && next_child();
    if (tile_granted) to_grant_ -= std::min(to_grant_, open_.tile);
    granted_ = (granted_ || uses) && !(sends && part->last);

    // A result is delivered to the kernel or packed.
    const bool pops = results_.valid() && (root_ ? in.element_taken : packer_.ready(sends));
    const bool ends_tile = tile_left_ == 1 || results_left_ == 1;
    const std::uint64_t result = pops ? results_.front().data : 0;
    const bool tile_popped = pops && ends_tile;

    // The lane's result and its next operands.
    const FlitLane::Result* combined = lane_.result();
    const std::optional<FlitPair> enters = runs && !leaf ? choose() : std::nullopt;
    const bool lane_moves = in_lane_ > 0;
    Element finished;
    bool finishes = false;
    if (combined) {
      const Tag tag = tag_of(combined->tag);
      finishes = tag.last;
      finished.data = combined->data[0];
      if (!tag.last) sums_[tag.slot] = combined->data[0];
      done_[tag.slot] = static_cast<std::uint8_t>(tag.step);
      if (tag.first) ++first_done_;
      --in_lane_;
    }
    if (leaf && accept) finishes = true, finished = own_element;
    if (lane_moves) lane_.step(operands_ ? &*operands_ : nullptr);
    operands_ = read_;
    read_ = enters;
    if (enters) ++in_lane_;

    // Input elements of children and of the kernel.
    if (unpacker_.valid()) store(unpacker_.element());
    const bool loads = packets_.valid() && unpacker_.ready(true);
    if (loads) from_ = child_of_[packets_.front().source()];
    if (accept && !leaf) {
      kernels_[own_arrived_ % depth_] = own_element.data;
    }

    switch (state_) {
      case State::closed:
        break;
      case State::tree:
        if (!tree_.valid()) break;
        child_ = tree_.child();
        at_ = 0;
        state_ = leaf ? State::run : State::children;
        break;
      case State::children:
        child_of_[child_.rank] = static_cast<std::uint8_t>(at_);
        sources_.at(at_) = {};
        if (next_child()) state_ = State::run;
        break;
      case State::run:
        if (results_left_ == 0 && packer_.empty()) {
          moved_ = true;
          state_ = State::closed;
        }
        break;
    }

    if (accept) --left_, ++own_arrived_;
    if (finishes) ++finished_;
    outstanding_ = outstanding_ + accept - pops;
    room_ = room_ + tile_popped - tile_granted;
    if (pops) {
      --results_left_;
      tile_left_ = ends_tile ? open_.tile : tile_left_ - 1;
    }
    if (opens) open(*opens);
    moved_ |= pops || sends || uses || tile_granted || (grants && out_ready) || enters.has_value();

    unpacker_.step(loads ? &packets_.front() : nullptr, open_.size, true);
    packets_.step(in.data, loads);
    results_.step(finishes ? &finished : nullptr, pops);
    packer_.step(pops && !root_ ? &result : nullptr, open_.size, open_.per_packet, ends_tile, sends);
    out_.step(grants || sends ? &packet : nullptr, in.packet_taken);
    tree_.step(opens);
    synchs_.step(in.control, tree_.parent(), uses);
    moved_ |= !synchs_.settled();
    idle_steps_ = moved_ ? 0 : std::min(idle_steps_, tree_.children()) + 1;
  }

 private:
  enum class State { closed, tree, children, run };
  /// A child other than the first, indexed by its number less 1.
  struct Source {
    std::uint32_t arrived = 0, entered = 0;  ///< total elements arrived, and entered into the lane
  };
  struct Tag {
    unsigned slot, step;
    bool first, last;
  };

  void open(const Open& open) {
    if (open.tile == 0 || open.tile > config_.tile)
      throw std::invalid_argument("a tile larger than the endpoint's buffer");
    open_ = open;
    state_ = State::tree;
    root_ = open_.own == open_.root;
    granted_ = false;
    left_ = to_grant_ = results_left_ = open_.count;
    tile_left_ = open_.tile;
    room_ = 2;
    outstanding_ = 0;
    base_arrived_ = own_arrived_ = own_next_ = opened_ = first_done_ = finished_ = 0;
    source_ = 0;
    next_ = 0;
  }
  bool next_child() {
    if (++at_ < tree_.children()) {
      child_ = child_.next(open_);
      return false;
    }
    child_ = tree_.child();
    at_ = 0;
    return true;
  }
  void store(std::uint64_t element) {
    if (from_ == 0) {
      base_[base_arrived_++ % depth_] = element;
      return;
    }
    auto& arrived = sources_[from_ - 1].arrived;
    others_[(from_ - 1) * depth_ + arrived++ % depth_] = element;
    ++waiting_;
  }
  /// Index of the kernel as a source, after the children.
  [[nodiscard]] unsigned own() const { return tree_.children() - 1; }
  /// True if element `next` of a source may enter the lane once it has arrived.
  [[nodiscard]] bool may_enter(unsigned source, std::uint32_t next) const {
    if (next == opened_) return base_arrived_ != opened_ && (open_.any_order || source == 0);
    const std::size_t slot = next % depth_;
    return next < first_done_ && done_[slot] == (open_.any_order ? entered_[slot] : source);
  }
  /// Selects the kernel's element if possible, otherwise one of the current child. If that has none, the next child becomes current.
  std::optional<FlitPair> choose() {
    const bool kernel_enters = own_next_ != own_arrived_ && may_enter(own(), own_next_);
    const bool child_enters = own() != 0 && next_ != sources_[source_].arrived && may_enter(source_, next_);
    const auto element = kernel_enters  ? enter(kernels_[own_next_ % depth_], own_next_)
                         : child_enters ? enter(others_[source_ * depth_ + next_ % depth_], next_)
                                        : std::optional<FlitPair>();
    if (kernel_enters) {
      ++own_next_;
    } else if (child_enters) {
      sources_[source_].entered = ++next_;
      --waiting_;
    }
    if (!child_enters && waiting_ != 0 && own() > 1) {
      searching_ = true;
      source_ = source_ + 1 == own() ? 0 : source_ + 1;
      next_ = sources_[source_].entered;
    }
    return element;
  }
  FlitPair enter(std::uint64_t element, std::uint32_t number) {
    const std::size_t slot = number % depth_;
    const bool first = number == opened_;
    const unsigned step = first ? 1 : done_[slot] + 1u;
    const bool last = step == tree_.children();
    if (first) ++opened_;
    entered_[slot] = static_cast<std::uint8_t>(step);
    return FlitPair{.op = open_.op,
                    .type = open_.type,
                    .head = false,
                    .bytes = 1U << open_.size,
                    .a = {first ? base_[slot] : sums_[slot]},
                    .b = {element},
                    .tag = slot << 10 | step << 2 | (first ? 2u : 0u) | (last ? 1u : 0u)};
  }
  [[nodiscard]] static Tag tag_of(std::uint64_t tag) {
    return {static_cast<unsigned>(tag >> 10), static_cast<unsigned>(tag >> 2 & 0xFF), (tag & 2) != 0, (tag & 1) != 0};
  }

  Config config_;
  unsigned depth_;  ///< buffer size per source: two tiles
  State state_ = State::closed;
  Open open_;
  bool root_ = false;
  std::uint32_t left_ = 0;          ///< remaining elements of the kernel
  unsigned outstanding_ = 0;        ///< elements taken from the kernel whose results have not left
  std::uint32_t results_left_ = 0;  ///< results that have not left
  unsigned tile_left_ = 0;          ///< remaining results of the tile
  std::uint32_t to_grant_ = 0;      ///< elements not granted yet
  unsigned room_ = 0;               ///< free buffer space, in tiles
  bool granted_ = false;            ///< the parent has granted the current tile
  Member child_;                    ///< current child
  unsigned at_ = 0;

  Skid<Packet> packets_;
  Unpacker unpacker_;
  std::array<std::uint8_t, kMaxRanks> child_of_{};  ///< by rank
  unsigned from_ = 0;                               ///< child whose elements are unpacked, from 0

  std::vector<std::uint64_t> base_, kernels_, sums_,
      others_;                                ///< first child's, kernel's, partial results, other children's
  std::vector<std::uint8_t> done_, entered_;  ///< by element: combinations completed, and started
  std::vector<Source> sources_;
  std::uint32_t base_arrived_ = 0, own_arrived_ = 0, own_next_ = 0;
  std::uint32_t opened_ = 0, first_done_ = 0;  ///< elements whose first combination has entered, has left the lane
  std::uint32_t finished_ = 0;                 ///< results; for reports only
  unsigned source_ = 0;                        ///< current child for the lane
  std::uint32_t next_ = 0;                     ///< its next element
  unsigned waiting_ = 0;                       ///< buffered elements of these children that have not entered the lane
  unsigned in_lane_ = 0;                       ///< combinations in the lane's pipeline
  std::optional<FlitPair> read_, operands_;
  FlitLane lane_;

  RamFifo<Element> results_;
  Packer packer_;
  Skid<Packet> out_;
  TreeNeighbours tree_;
  Synchs synchs_;
  bool searching_ = false;   ///< searches for a child with an element for the lane
  unsigned idle_steps_ = 0;  ///< consecutive steps in which nothing else moved
  bool moved_ = false;
};

}  // namespace thalweg::smi
