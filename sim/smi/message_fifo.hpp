// SPDX-License-Identifier: Apache-2.0
// A FIFO of messages that outputs each message without gaps, C++ model of rtl/smi/tw_message_fifo.sv.
#pragma once

#include <cstddef>

#include "common/fifo.hpp"

namespace thalweg::smi {

/// A message becomes valid at the output when it is complete, or when the FIFO is full.
template <class T>
class MessageFifo {
 public:
  explicit MessageFifo(std::size_t depth) : words_(depth) {}

  [[nodiscard]] bool ready() const { return words_.ready(); }
  [[nodiscard]] bool valid() const { return words_.valid() && (whole_ > 0 || begun_ || !words_.ready()); }
  [[nodiscard]] const T& front() const { return words_.front().word; }

  /// One clock edge. push: offered word or nullptr, accepted if ready(). last: it ends its message. pop: the word at the head is taken.
  void step(const T* push, bool last, bool pop) {
    Entry entry;
    if (push) entry = {*push, last};
    pop = pop && valid();
    if (push && last && ready()) ++whole_;
    if (pop) {
      begun_ = !words_.front().last;
      if (!begun_) --whole_;
    }
    words_.step(push ? &entry : nullptr, pop);
  }

 private:
  struct Entry {
    T word{};
    bool last = true;
  };

  Fifo<Entry> words_;
  std::size_t whole_ = 0;  ///< messages whose last word is in the FIFO
  bool begun_ = false;     ///< words of the message at the head have been taken
};

}  // namespace thalweg::smi
