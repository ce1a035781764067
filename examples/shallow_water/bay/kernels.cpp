// SPDX-License-Identifier: Apache-2.0
// The shallow-water simulation on a board. `element` computes one element per cycle. `send_halo` packs the elements that other boards need into words of
// 512 bits for ACCL's engine. `receive_halo` unpacks those of other boards in the order of the neighbours, `reorder_halo` in any order. `schedule` sends
// commands to the engine. `reduce_step` computes the next time step over all boards.
#include <cmath>

#include "ap_axi_sdata.h"
#include "hls_stream.h"

using command_word = ap_axiu<32, 0, 0, 0>;
using data_word = ap_axiu<512, 0, 0, 8>;

constexpr int kElements = 8192, kHalo = 2048, kNeighbours = 64;
constexpr int kSteps = 16384;  // levels of the tide
constexpr int kLeft = 1 << 16, kLand = 1 << 17, kSea = 1 << 18, kPlace = kLeft - 1;
constexpr int kInAWord = 5;      // elements of three floats in 512 bits
constexpr int kLabel = 15 * 32;  // first bit of a word's label, after its elements
constexpr int kWritten = 64;     // cycles until a write has reached the memory

// Cycles from an element's state to its next one. The longest path through the arithmetic is the momentum of a land edge's mirror image, its speed, the
// flux, and the floor's friction: 12 additions, 9 multiplications, 3 divisions and a root. Additions take 11 cycles, multiplications 8, divisions 28: the
// most of AMD's Floating-Point Operator in single precision, as listed in Clash (clash-cores, Clash.Cores.Xilinx.Floating: AddDefDelay, MulDefDelay,
// DivDefDelay). The root counts as a division. This is 316; two reads of memory, a comparison, three selections and a write take another 12.
constexpr int kPipe = 328;

struct Element {
  float level, x, y;
};

struct Edge {
  float normal_x, normal_y, length, depth;
};

struct Flow {
  float mass, x, y;
  float wave;  // its fastest wave
};

// Adapts a value per nominal time step to a step of `ratio` nominal ones.
static float adapted(float value, float ratio) {
  return ratio * value;
}

// Distance of waves in a nominal step relative to the triangle's size; the stable step is inversely proportional.
static float pace(const Edge (&edges)[3], const Flow (&flows)[3], float scale) {
  return (edges[0].length * flows[0].wave + edges[1].length * flows[1].wave + edges[2].length * flows[2].wave) * scale;
}

// Level of the tide at a time in nominal steps; `tides` begins at step `first`.
static float level_at(const float* tides, float time, int first) {
  const int step = static_cast<int>(time);
  const float before = tides[step - first];
  return before + (time - static_cast<float>(step)) * (tides[step - first + 1] - before);
}

// Outflow of an element through an edge: Rusanov's flux from the left element to the right one, without the element's own pressure.
static Flow flow(const Edge& edge, int link, const Element& own, Element other, float tide, float gravity) {
#pragma HLS INLINE
  const bool left = link & kLeft, land = link & kLand, sea = link & kSea;
  const float into = own.x * edge.normal_x + own.y * edge.normal_y;
  const float twice = into + into;
  if (land) {
    other.x = own.x - twice * edge.normal_x;
    other.y = own.y - twice * edge.normal_y;
  }
  if (sea) other.level = tide;
  const Element a = left ? own : other, b = left ? other : own;
  const float height_a = a.level + edge.depth, height_b = b.level + edge.depth;
  const float flow_a = a.x * edge.normal_x + a.y * edge.normal_y, flow_b = b.x * edge.normal_x + b.y * edge.normal_y;
  const float speed_a = flow_a / height_a, speed_b = flow_b / height_b;
  const float pressure_a = gravity * (a.level * (0.5F * a.level + edge.depth));
  const float pressure_b = gravity * (b.level * (0.5F * b.level + edge.depth));
  const float wave_a = std::fabs(speed_a) + std::sqrt(gravity * height_a);
  const float wave_b = std::fabs(speed_b) + std::sqrt(gravity * height_b);
  const float wave = wave_a < wave_b ? wave_b : wave_a;
  const float half = 0.5F * edge.length;
  const float pressure = (pressure_a + pressure_b) - (left ? pressure_a + pressure_a : pressure_b + pressure_b);
  const float mass = half * ((flow_a + flow_b) - wave * (b.level - a.level));
  const float x = half * ((a.x * speed_a + b.x * speed_b) + pressure * edge.normal_x - wave * (b.x - a.x));
  const float y = half * ((a.y * speed_a + b.y * speed_b) + pressure * edge.normal_y - wave * (b.y - a.y));
  const float sign = left ? 1.0F : -1.0F;
  return {land ? 0.0F : sign * mass, sign * x, sign * y, wave};
}

// Computes steps of all elements of a partition, boundary elements first, so that their values are in transit while the others are computed. A step ends
// when the elements of other boards have arrived. `state` has the partition's elements, then those of other boards; `stalls` receives the stalled cycles of
// the pipeline, total and maximum per step. `clock` is the time and the time step, in nominal steps. If `adaptive`, the next time step is received after
// the pace of this step's elements has been sent.
void element(const float* geometry, const int* links, const float* tides, float* state, float* clock, int* stalls,
             int elements, int boundary, int halo, int steps, int levels, int adaptive, float gravity, float coriolis,
             float friction, hls::stream<Element>& to_others, hls::stream<Element>& from_others,
             hls::stream<float>& to_all, hls::stream<float>& from_all) {
#pragma HLS INTERFACE m_axi port = geometry bundle = gmem0
#pragma HLS INTERFACE m_axi port = links bundle = gmem1
#pragma HLS INTERFACE m_axi port = tides bundle = gmem1
#pragma HLS INTERFACE m_axi port = state bundle = gmem2
#pragma HLS INTERFACE m_axi port = stalls bundle = gmem1
#pragma HLS INTERFACE m_axi port = clock bundle = gmem1
  Edge edges[kElements][3];
  float scales[kElements], depths[kElements];
  int others[kElements][3];
  float tide[kSteps];
  Element values[2][kElements + kHalo];  // of a step and of the next one
#pragma HLS BIND_STORAGE variable = edges type = ram_2p impl = uram
#pragma HLS ARRAY_PARTITION variable = values dim = 1 complete
  for (int i = 0; i < elements; ++i) {
#pragma HLS PIPELINE II = 1
    for (int k = 0; k < 3; ++k) {
      const float* from = geometry + 16 * i + 4 * k;
      edges[i][k] = {from[0], from[1], from[2], from[3]};
      others[i][k] = links[4 * i + k];
    }
    scales[i] = geometry[16 * i + 12];
    depths[i] = geometry[16 * i + 13];
  }
  for (int i = 0; i < elements + halo; ++i) {
#pragma HLS PIPELINE II = 1
    values[0][i] = {state[3 * i], state[3 * i + 1], state[3 * i + 2]};
  }
  for (int k = 0; k < levels; ++k) {
#pragma HLS PIPELINE II = 1
    tide[k] = tides[k];
  }
  float time = clock[0], ratio = clock[1];
  const int first = static_cast<int>(time);

  int waited = 0, longest = 0;
  for (int step = 0; step < steps; ++step) {
    const Element* now = values[step & 1];
    Element* next = values[~step & 1];
    const float sea = level_at(tide, time, first);
    const float turned = adapted(coriolis, ratio), braked = adapted(friction, ratio);
    float fastest = 0.0F;
    for (int i = 0; i < elements; ++i) {
#pragma HLS PIPELINE II = 1
#pragma HLS LATENCY min = kPipe
#pragma HLS DEPENDENCE variable = values inter false
      const Element own = now[i];
      Flow flows[3];
      for (int k = 0; k < 3; ++k) {
        const int link = others[i][k];
        flows[k] = flow(edges[i][k], link, own, now[link & kPlace], sea, gravity);
      }
      const float scale = adapted(scales[i], ratio);
      const float level = own.level - scale * (flows[0].mass + flows[1].mass + flows[2].mass);
      const float x = (own.x - scale * (flows[0].x + flows[1].x + flows[2].x)) + turned * own.y;
      const float y = (own.y - scale * (flows[0].y + flows[1].y + flows[2].y)) - turned * own.x;
      const float height = level + depths[i];
      const float slowed = 1.0F / (1.0F + braked * std::sqrt(x * x + y * y) / (height * height));
      const Element made = {level, x * slowed, y * slowed};
      fastest = std::fmax(fastest, pace(edges[i], flows, scales[i]));
      next[i] = made;
      if (i < boundary) to_others.write(made);
    }
    time += ratio;
    int late = 0;
    if (adaptive) to_all.write(fastest);
    for (int come = 0; come < halo;) {
#pragma HLS PIPELINE II = 1
      if (from_others.read_nb(next[elements + come]))
        ++come;
      else
        ++late;
    }
    for (bool come = !adaptive; !come;) {
#pragma HLS PIPELINE II = 1
      come = from_all.read_nb(ratio);
      if (!come) ++late;
    }
    waited += late;
    longest = late > longest ? late : longest;
  }

  for (int i = 0; i < elements + halo; ++i) {
#pragma HLS PIPELINE II = 1
    const Element& last = values[steps & 1][i];
    state[3 * i] = last.level;
    state[3 * i + 1] = last.x;
    state[3 * i + 2] = last.y;
  }
  clock[0] = time;
  clock[1] = ratio;
  stalls[0] = waited;
  stalls[1] = longest;
}

// Packs the halo elements of each neighbour into one message per neighbour. `sent` has indices of elements, `counts` their number for each neighbour. The
// label of a word holds the index of its first element in the neighbour's halo (which begins at `firsts`), the number of its elements, and the step's parity.
void send_halo(const int* sent, const int* counts, const int* firsts, int neighbours, int boundary, int steps,
               hls::stream<Element>& elements, hls::stream<data_word>& data) {
#pragma HLS INTERFACE m_axi port = sent bundle = gmem3
#pragma HLS INTERFACE m_axi port = counts bundle = gmem3
#pragma HLS INTERFACE m_axi port = firsts bundle = gmem3
  Element values[kHalo];
  int places[2 * kHalo], count[kNeighbours], first[kNeighbours];
  int all = 0;
  for (int n = 0; n < neighbours; ++n) {
#pragma HLS PIPELINE II = 1
    count[n] = counts[n];
    first[n] = firsts[n];
    all += counts[n];
  }
  for (int k = 0; k < all; ++k) {
#pragma HLS PIPELINE II = 1
    places[k] = sent[k];
  }
  for (int step = 0; step < steps; ++step) {
    for (int i = 0; i < boundary; ++i) {
#pragma HLS PIPELINE II = 1
      values[i] = elements.read();
    }
    int at = 0;
    for (int n = 0; n < neighbours; ++n) {
      data_word word;
      for (int k = 0; k < count[n]; ++k) {
#pragma HLS PIPELINE II = 1
        const int slot = k % kInAWord;
        if (slot == 0) word.data = 0;
        const Element value = values[places[at++]];
        const float parts[3] = {value.level, value.x, value.y};
        for (int p = 0; p < 3; ++p) {
          unsigned bits;
          std::memcpy(&bits, &parts[p], 4);
          word.data.range(96 * slot + 32 * p + 31, 96 * slot + 32 * p) = bits;
        }
        if (slot == kInAWord - 1 || k == count[n] - 1) {
          word.data.range(kLabel + 31, kLabel) = (first[n] + k - slot) | (slot + 1) << 16 | (step & 1) << 24;
          word.keep = -1;
          word.last = k == count[n] - 1;
          data.write(word);
        }
      }
    }
  }
}

void receive_halo(const int* counts, int neighbours, int steps, hls::stream<data_word>& data,
                  hls::stream<Element>& elements) {
#pragma HLS INTERFACE m_axi port = counts bundle = gmem4
  int count[kNeighbours];
  for (int n = 0; n < neighbours; ++n) {
#pragma HLS PIPELINE II = 1
    count[n] = counts[n];
  }
  for (int step = 0; step < steps; ++step)
    for (int n = 0; n < neighbours; ++n) {
      data_word word;
      for (int k = 0; k < count[n]; ++k) {
#pragma HLS PIPELINE II = 1
        const int slot = k % kInAWord;
        if (slot == 0) word = data.read();
        float parts[3];
        for (int p = 0; p < 3; ++p) {
          const unsigned bits = word.data.range(96 * slot + 32 * p + 31, 96 * slot + 32 * p);
          std::memcpy(&parts[p], &bits, 4);
        }
        elements.write({parts[0], parts[1], parts[2]});
      }
    }
}

// Unpacks elements in order of arrival into local memory, and forwards those of a step in order. A neighbour may be a step ahead.
void reorder_halo(int halo, int steps, hls::stream<data_word>& data, hls::stream<Element>& elements) {
  Element values[2][kHalo];
  bool there[2][kHalo];
#pragma HLS ARRAY_PARTITION variable = values dim = 2 cyclic factor = 5
#pragma HLS ARRAY_PARTITION variable = there dim = 2 cyclic factor = 5
  for (int k = 0; k < halo; ++k) {
#pragma HLS PIPELINE II = 1
    there[0][k] = there[1][k] = false;
  }
  for (int step = 0; step < steps; ++step) {
    const int now = step & 1;
    for (int next = 0; next < halo;) {
#pragma HLS PIPELINE II = 1
      data_word word;
      if (data.read_nb(word)) {
        const unsigned label = word.data.range(kLabel + 31, kLabel);
        const int first = label & 0xffff, count = label >> 16 & 0xff, of = label >> 24;
        for (int k = 0; k < kInAWord; ++k) {
          float parts[3];
          for (int p = 0; p < 3; ++p) {
            const unsigned bits = word.data.range(96 * k + 32 * p + 31, 96 * k + 32 * p);
            std::memcpy(&parts[p], &bits, 4);
          }
          if (k < count) {
            values[of][first + k] = {parts[0], parts[1], parts[2]};
            there[of][first + k] = true;
          }
        }
      }
      if (there[now][next] && elements.write_nb(values[now][next])) there[now][next++] = false;
    }
  }
}

// Sends a command to the engine.
static void command(hls::stream<command_word>& commands, int scenario, int count, int communicator, int rank,
                    int function, int arithmetic, int streams, unsigned long operand = 0, unsigned long result = 0) {
#pragma HLS INLINE
  const int fields[15] = {scenario,
                          count,
                          communicator,
                          rank,
                          function,
                          9,
                          arithmetic,
                          0,
                          streams,
                          static_cast<int>(operand),
                          static_cast<int>(operand >> 32),
                          0,
                          0,
                          static_cast<int>(result),
                          static_cast<int>(result >> 32)};
  for (int k = 0; k < 15; ++k) {
#pragma HLS PIPELINE II = 1
    command_word word;
    word.data = fields[k];
    word.last = k == 14;
    commands.write(word);
  }
}

// For each step, sends to each neighbour from the kernels' stream, receives from each neighbour, which moves its message from the receive buffers to the
// stream in order, and waits for the ends of all calls. If `streamed`, sends go to the neighbours' streams, without receives. The engine gets the commands
// of a step before the data, so that its processor executes them meanwhile.
void schedule(const int* ranks, const int* sent, const int* received, int neighbours, int steps, int streamed,
              int communicator, int arithmetic, hls::stream<command_word>& commands,
              hls::stream<command_word>& status) {
#pragma HLS INTERFACE m_axi port = ranks bundle = gmem5
#pragma HLS INTERFACE m_axi port = sent bundle = gmem5
#pragma HLS INTERFACE m_axi port = received bundle = gmem5
  constexpr int kSend = 3, kRecv = 4, kFromStream = 1, kToStream = 2;
  int rank[kNeighbours], to[kNeighbours], from[kNeighbours];
  for (int n = 0; n < neighbours; ++n) {
#pragma HLS PIPELINE II = 1
    rank[n] = ranks[n];
    to[n] = (sent[n] + kInAWord - 1) / kInAWord;
    from[n] = (received[n] + kInAWord - 1) / kInAWord;
  }
  for (int step = 0; step < steps; ++step) {
    for (int n = 0; n < neighbours; ++n)
      command(commands, kSend, 16 * to[n], communicator, rank[n], 0, arithmetic,
              streamed ? kFromStream | kToStream : kFromStream);
    for (int n = 0; n < (streamed ? 0 : neighbours); ++n)
      command(commands, kRecv, 16 * from[n], communicator, rank[n], 0, arithmetic, kToStream);
    for (int n = 0; n < (streamed ? neighbours : 2 * neighbours); ++n) status.read();
  }
}

// Reduces the fastest pace over all boards to the next time step, in nominal steps. `mine` and `all` are memory of the engine, with two alternating buffers.
void reduce_step(float* mine, float* all, int steps, float courant, float most, int communicator, int arithmetic,
                 hls::stream<float>& fastest, hls::stream<float>& ratio, hls::stream<command_word>& commands,
                 hls::stream<command_word>& status) {
#pragma HLS INTERFACE m_axi port = mine bundle = gmem6
#pragma HLS INTERFACE m_axi port = all bundle = gmem6
  constexpr int kAllreduce = 10, kMax = 1, kApart = 1024;
  for (int step = 0; step < steps; ++step) {
    const int at = kApart * (step & 1);
    mine[at] = fastest.read();
    for (int cycle = 0; cycle < kWritten; ++cycle) {
#pragma HLS PIPELINE II = 1
    }
    command(commands, kAllreduce, 1, communicator, 0, kMax, arithmetic, 0, reinterpret_cast<unsigned long>(mine + at),
            reinterpret_cast<unsigned long>(all + at));
    status.read();
    ratio.write(std::fmin(most, courant / all[at]));
  }
}

// Without ACCL: kernels that the hosts start in each step to exchange the halo.

void write_halo(const int* sent, int all, int boundary, float* message, hls::stream<Element>& elements) {
#pragma HLS INTERFACE m_axi port = sent bundle = gmem3
#pragma HLS INTERFACE m_axi port = message bundle = gmem4
  Element values[kHalo];
  for (int i = 0; i < boundary; ++i) {
#pragma HLS PIPELINE II = 1
    values[i] = elements.read();
  }
  for (int k = 0; k < all; ++k) {
#pragma HLS PIPELINE II = 1
    const Element& value = values[sent[k]];
    message[3 * k] = value.level;
    message[3 * k + 1] = value.x;
    message[3 * k + 2] = value.y;
  }
}

void read_halo(const float* message, int halo, hls::stream<Element>& elements) {
#pragma HLS INTERFACE m_axi port = message bundle = gmem4
  for (int k = 0; k < halo; ++k) {
#pragma HLS PIPELINE II = 1
    elements.write({message[3 * k], message[3 * k + 1], message[3 * k + 2]});
  }
}
