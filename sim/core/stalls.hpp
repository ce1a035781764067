// SPDX-License-Identifier: Apache-2.0
// Stalls of a kernel with their causes, for timelines, in a bounded number of spans.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "core/types.hpp"

namespace thalweg {

/// Cause of a stall: "push into" with a stream's name, which must outlive the kernel; or "memory" alone.
struct Cause {
  const char* what = "";
  const std::string* of = nullptr;

  [[nodiscard]] std::string text() const { return of ? std::string(what) + " " + *of : what; }
};

class Stalls {
 public:
  /// `stalled` ticks between `begin` and `end`. A span merges stalls that are close together.
  struct Span {
    Tick begin = 0, end = 0, stalled = 0;
  };
  struct Of {
    Cause cause;
    std::vector<Span> spans{};
    Tick gap = 0;  ///< maximum distance of stalls that are merged
  };

  /// Stalls of one cause are added in order of time.
  void add(Tick begin, Tick end, const Cause& cause) {
    const auto same = [&](const Of& one) { return one.cause.of == cause.of && one.cause.what == cause.what; };
    auto found = std::find_if(all_.begin(), all_.end(), same);
    if (found == all_.end()) found = all_.insert(all_.end(), {.cause = cause});
    append(*found, {begin, end, end - begin});
    while (found->spans.size() > kMost) {
      found->gap = std::max(found->gap * 2, end / kWindows);
      std::vector<Span> before;
      before.swap(found->spans);
      for (const auto& span : before) append(*found, span);
    }
  }
  [[nodiscard]] const std::vector<Of>& all() const { return all_; }

 private:
  static constexpr std::size_t kMost = 512;  ///< maximum spans per cause
  static constexpr Tick kWindows = 1024;     ///< minimum gap is the elapsed time divided by this, so that few merges
                                             ///< suffice

  static void append(Of& of, const Span& span) {
    if (of.spans.empty() || span.begin - of.spans.back().end > of.gap) {
      of.spans.push_back(span);
      return;
    }
    of.spans.back().end = span.end;
    of.spans.back().stalled += span.stalled;
  }

  std::vector<Of> all_;
};

}  // namespace thalweg
