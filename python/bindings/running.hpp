// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <set>

#include "core/require.hpp"

/// Releases the interpreter's lock while a method runs `of`, which no other thread may use meanwhile.
class Running {
 public:
  explicit Running(const void* of) : entry_(of) {}
  /// Throws std::invalid_argument while a thread runs `of`.
  static void check(const void* of) {
    thalweg::require(!all().contains(of), "another thread runs this simulation; use it when that has ended");
  }

 private:
  struct Entry {
    explicit Entry(const void* entered) : of(entered) {
      check(of);
      all().insert(of);
    }
    ~Entry() { all().erase(of); }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    const void* of;
  };
  static std::set<const void*>& all() {
    static std::set<const void*> running;  // guarded by the interpreter's lock
    return running;
  }

  Entry entry_;
  nanobind::gil_scoped_release released_;  // destroyed first
};
