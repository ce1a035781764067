// SPDX-License-Identifier: Apache-2.0
// The engine's ends of the streams between engine and kernels: commands and their status, data to the engine, and data
// from it by stream number. Each stream transfers a word per cycle.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "accl/call.hpp"
#include "core/clock.hpp"
#include "core/stream.hpp"

namespace thalweg::accl {

/// A stream word in the kernels' format (runtime/accl/include/ap_axi_sdata.h): data, then keep, strb, user, id and dest
/// with 8 bytes each, and a byte that is nonzero in a packet's last word.
using StreamWord = std::vector<std::byte>;
using Words = Stream<StreamWord>;

inline constexpr std::size_t kSideband = 41, kCommandBytes = 4, kDataBytes = 64;

[[nodiscard]] inline StreamWord stream_word(std::span<const std::byte> data, std::size_t bytes, unsigned destination,
                                            bool last) {
  StreamWord word(bytes + kSideband);
  std::copy_n(data.begin(), std::min(bytes, data.size()), word.begin());
  const std::uint64_t all = bytes < 64 ? (std::uint64_t{1} << bytes) - 1 : ~std::uint64_t{0};
  std::memcpy(word.data() + bytes, &all, sizeof all);
  std::memcpy(word.data() + bytes + 8, &all, sizeof all);
  word[bytes + 32] = static_cast<std::byte>(destination);
  word.back() = static_cast<std::byte>(last);
  return word;
}

class KernelStreams {
 public:
  /// `submit`: called with a call and the index of its pair of command and status streams.
  KernelStreams(std::string owner, Domain& domain, ComponentId component,
                std::function<void(std::size_t pair, const Call&)> submit)
      : owner_(std::move(owner)), domain_(domain), component_(component), submit_(std::move(submit)) {}

  /// Called between two advances, before kernels use the streams. The first request creates a stream with `depth`
  /// words.
  [[nodiscard]] Words& commands(std::size_t pair) { return *pair_of(pair).commands; }
  [[nodiscard]] Words& status(std::size_t pair) { return *pair_of(pair).status; }
  [[nodiscard]] Words& to_engine(std::size_t depth) {
    if (!in_) {
      in_ = std::make_unique<Words>("the data stream to " + owner_, depth);
      in_->reader.bind(owner_, domain_, component_);
    }
    return *in_;
  }
  [[nodiscard]] Words& from_engine(unsigned number, std::size_t depth) {
    Out& out = outs_[number];
    if (!out.stream) {
      out.stream = std::make_unique<Words>("stream " + std::to_string(number) + " from " + owner_, depth);
      out.stream->writer.bind(owner_, domain_, component_);
    }
    return *out.stream;
  }

  /// True if this stream number leads to a kernel.
  [[nodiscard]] bool has(unsigned number) const { return outs_.contains(number); }
  /// In the engine's step: words for a kernel, whose first and last are available in these cycles; `last`: they end a
  /// packet.
  void deliver(unsigned number, std::span<const std::byte> data, double first, double end, bool last) {
    Out& out = outs_.at(number);
    const std::size_t words = (data.size() + kDataBytes - 1) / kDataBytes;
    const double pace = words > 1 ? (end - first) / static_cast<double>(words - 1) : 0;
    for (std::size_t k = 0; k < words; ++k) {
      const auto at = words > 1 ? first + pace * static_cast<double>(k) : end;
      const auto part = data.subspan(k * kDataBytes, std::min(kDataBytes, data.size() - k * kDataBytes));
      out.words.push_back(
          {static_cast<Tick>(std::ceil(at)), stream_word(part, kDataBytes, number, last && k + 1 == words)});
    }
    again_ = true;
  }
  /// Sends the return code of a call of this pair.
  void end(std::size_t pair, std::uint32_t code) {
    pairs_[pair].codes.push_back(code);
    again_ = true;
  }
  /// The engine pops data from its kernels while it has fewer words than this.
  void want(std::size_t words) {
    again_ |= words > want_;
    want_ = words;
  }

  /// In the engine's step. `have`: words from kernels that the engine has; `give` passes it another one. Returns the
  /// next cycle with work, apart from wakes by streams.
  template <class Give>
  Tick step(Tick now, std::size_t have, const Give& give) {
    const Tick edge = domain_.clock.edge(now);
    Tick next = std::exchange(again_, false) ? now + 1 : kNever;
    for (std::size_t k = 0; k < pairs_.size(); ++k)
      if (step(k, edge)) next = now + 1;
    if (in_ && have < want_ && in_->can_pop(edge)) {
      const StreamWord word = in_->pop_at(edge);
      give(std::span(word).first(kDataBytes));
    }
    for (auto& [number, out] : outs_) {
      if (out.words.empty()) continue;
      const Tick at = out.words.front().first;
      if (at > now) {
        next = std::min(next, at);
      } else if (out.stream->can_push(edge)) {
        out.stream->push_at(edge, out.words.front().second);
        out.words.pop_front();
        if (!out.words.empty()) next = std::min(next, std::max(now + 1, out.words.front().first));
      }
    }
    return next;
  }
  /// True if a change in this step requires another step in the next cycle.
  [[nodiscard]] bool again() const { return again_; }

 private:
  struct Pair {
    std::unique_ptr<Words> commands, status;
    std::array<std::uint32_t, kCallWords> words{};
    unsigned have = 0;
    std::deque<std::uint32_t> codes;
  };
  struct Out {
    std::unique_ptr<Words> stream;
    std::deque<std::pair<Tick, StreamWord>> words;
  };
  static constexpr std::size_t kDepth = 16;  ///< words of a command or status stream; enough for a call

  Pair& pair_of(std::size_t pair) {
    while (pairs_.size() <= pair) {
      Pair& made = pairs_.emplace_back();
      const auto number = pairs_.size() > 1 ? " " + std::to_string(pairs_.size() - 1) : "";
      made.commands = std::make_unique<Words>("command stream" + number + " to " + owner_, kDepth);
      made.status = std::make_unique<Words>("status stream" + number + " from " + owner_, kDepth);
      made.commands->reader.bind(owner_, domain_, component_);
      made.status->writer.bind(owner_, domain_, component_);
      domain_.wake(component_, domain_.next());
    }
    return pairs_[pair];
  }
  /// Returns true if there is more work in the next cycle.
  bool step(std::size_t k, Tick edge) {
    Pair& pair = pairs_[k];
    if (pair.commands->can_pop(edge)) {
      const StreamWord word = pair.commands->pop_at(edge);
      std::memcpy(&pair.words[pair.have], word.data(), kCommandBytes);
      if (++pair.have == kCallWords) {
        pair.have = 0;
        submit_(k, Call::of(pair.words));
      }
    }
    if (!pair.codes.empty() && pair.status->can_push(edge)) {
      pair.status->push_at(edge, stream_word(std::as_bytes(std::span(&pair.codes.front(), 1)), kCommandBytes, 0, true));
      pair.codes.pop_front();
      return !pair.codes.empty();
    }
    return false;
  }

  std::string owner_;
  Domain& domain_;
  ComponentId component_;
  std::function<void(std::size_t, const Call&)> submit_;
  std::deque<Pair> pairs_;
  std::unique_ptr<Words> in_;
  std::map<unsigned, Out> outs_;
  std::size_t want_ = 0;
  bool again_ = false;
};

}  // namespace thalweg::accl
