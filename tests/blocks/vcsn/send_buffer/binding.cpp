// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <optional>
#include <utility>

#include "bisim/bisim.hpp"
#include "blocks/clocks.hpp"
#include "blocks/random_port.hpp"
#include "blocks/vcsn/words.hpp"
#include "vcsn/send_buffer.hpp"

namespace {

using bisim::Clocks, bisim::Instant, blocks::clock, blocks::cycle;
using top::Inputs, top::Outputs, top::Parameters;

constexpr unsigned kShell = 0, kMac = 1;

struct Twin {
  thalweg::vcsn::SendBuffer buffer;
  std::optional<blocks::WordData> read;  ///< in the cycle before
  std::uint64_t oldest = 0, shown = 0;   ///< numbers of frames
  bool selected = true;                  ///< none was released since `shown` was
  unsigned next = 0;                     ///< index of its next word

  explicit Twin(const Clocks& clocks)
      : buffer(clock(clocks, kShell), clock(clocks, kMac), Parameters::Words, Parameters::FrameWords,
               Parameters::Frames) {
    buffer.whole = [](thalweg::Tick) {};
  }

  void outputs(const Inputs&, const Instant& now, Outputs& out) const {
    out.shell_ready_o.set(buffer.accepts() <= cycle(now, kShell));
    std::size_t whole = 0;
    while (whole < buffer.frames() && buffer.frame(whole).whole <= cycle(now, kMac)) ++whole;
    out.mac_frames_o.set(whole);
    out.mac_frame_valid_o.set(whole > 0 && selected);
    out.mac_word_valid_o.set(read.has_value());
    if (read) out.mac_word_data_o.set(*read);
    if (!out.mac_frame_valid_o.get()) return;
    const auto& frame = buffer.frame(shown - oldest);
    out.mac_frame_words_o.set(frame.words);
    out.mac_frame_single_o.set(frame.words == 1);
    out.mac_frame_first_o.set(frame.first);
    out.mac_frame_last_o.set(frame.last);
    out.mac_frame_channel_o.set(frame.channel);
  }
  void step(const Inputs& in, const Instant& now) {
    if (const auto at = cycle(now, kShell); now.edge(kShell) && in.shell_valid_i.get() && buffer.accepts() <= at)
      buffer.put(at, blocks::word_of(in.shell_data_i.get(), in.shell_first_i.get(), in.shell_last_i.get(),
                                     in.shell_channel_i.get()));
    if (!now.edge(kMac)) return;
    const auto at = cycle(now, kMac);
    read.reset();
    if (in.mac_read_i.get())
      read = blocks::data_of(in.mac_keep_i.get() ? buffer.word(buffer.frame(shown - oldest).begin + next++)
                                                 : buffer.read(at));
    if (in.mac_pop_i.get()) {
      buffer.pop(at);
      shown = ++oldest;
    }
    if (in.mac_release_i.get()) {
      buffer.release(at);
      ++oldest;
      selected = false;
    }
    if (in.mac_select_i.get()) {
      shown = oldest + in.mac_offset_i.get();
      selected = true;
      next = 0;
    }
  }
};

/// A writer repeats its word until it is accepted; a reader pops a frame with its last word, or some time after that.
/// For some time it keeps frames: it selects, reads, and releases any.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 2;

  explicit Stimulus(bisim::Dice run)
      : load_(run.pick(1000, 900, 500, 100)),
        ends_(run.pick(0, 10, 100, 500, 1000)),
        reads_(run.pick(1000, 900, 500, 50)),
        begins_(run.pick(1000, 100, 10)),
        late_(run.pick(0, 300)),
        turns_(run.pick(0, 2, 20)),
        releases_(run.pick(20, 100, 500)) {}

  void drive(const Outputs& seen, const Instant& now, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice writer = draws.lane(kShell), reader = draws.lane(kMac);
    if (now.edge(kShell)) {
      if (!waiting_ && writer.chance(load_)) {
        waiting_ = true;
        blocks::fill(next.shell_data_i, writer);
        if (first_) channel_ = writer.below(256);
        last_ = writer.chance(ends_);
        next.shell_first_i.set(first_);
        next.shell_last_i.set(last_);
        next.shell_channel_i.set(channel_);
        first_ = last_;
      }
      next.shell_valid_i.set(waiting_);
      if (seen.shell_ready_o.get()) waiting_ = false;
    }
    if (!now.edge(kMac)) return;
    next.mac_read_i.set(false);
    next.mac_pop_i.set(false);
    next.mac_select_i.set(false);
    next.mac_release_i.set(false);
    if (next.mac_keep_i.get() ? falls_ && --falls_ == 0 : !reading_ && reader.chance(turns_))
      next.mac_keep_i.set(!next.mac_keep_i.get());
    if (next.mac_keep_i.get()) {
      if (falls_ == 0) keep(seen, reader, next);
      return;
    }
    if (!reading_ && seen.mac_frame_valid_o.get() && reader.chance(begins_)) {
      reading_ = true;
      left_ = static_cast<unsigned>(seen.mac_frame_words_o.get());
    }
    if (!reading_) return;
    if (left_ > 0 && reader.chance(reads_)) {
      next.mac_read_i.set(true);
      --left_;
    }
    if (left_ > 0 || reader.chance(late_)) return;
    next.mac_pop_i.set(true);
    reading_ = false;
  }

 private:
  void keep(const Outputs& seen, bisim::Dice& reader, Inputs& next) {
    if (std::exchange(selects_, false)) {
      left_ = static_cast<unsigned>(seen.mac_frame_words_o.get());
      return;
    }
    if (left_ > 0 && !reader.chance(10)) {
      next.mac_read_i.set(reader.chance(reads_));
      if (next.mac_read_i.get()) --left_;
      return;
    }
    left_ = 0;
    const auto frames = static_cast<unsigned>(seen.mac_frames_o.get());
    if (reader.chance(turns_)) {
      falls_ = 2;
      next.mac_offset_i.set(0);
      next.mac_select_i.set(true);
    } else if (frames > 0 && reader.chance(releases_)) {
      next.mac_release_i.set(true);
    } else if (frames > 0 && reader.chance(begins_)) {
      selects_ = true;
      next.mac_offset_i.set(reader.below(frames));
      next.mac_select_i.set(true);
    }
  }

  unsigned load_, ends_, reads_, begins_, late_, turns_, releases_;
  bool waiting_ = false, first_ = true, last_ = false;
  unsigned channel_ = 0;
  bool reading_ = false, selects_ = false;  ///< a frame was selected in the cycle before
  unsigned left_ = 0;                       ///< remaining words of the frame that is read
  unsigned falls_ = 0;                      ///< cycles until frames are no longer kept
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
