// SPDX-License-Identifier: Apache-2.0
// The shallow-water simulation on a board. `element` computes an element a cycle. What other boards need, `send_halo` packs into words of 512 bits for
// ACCL's engine. What comes from them, `receive_halo` unpacks. `schedule` gives the engine its commands.
#include <cmath>

#include "ap_axi_sdata.h"
#include "hls_stream.h"

using command_word = ap_axiu<32, 0, 0, 0>;
using data_word = ap_axiu<512, 0, 0, 8>;

constexpr int kElements = 8192, kHalo = 2048, kNeighbours = 64;
constexpr int kSteps = 16384;  // tides that are kept
constexpr int kLeft = 1 << 16, kLand = 1 << 17, kSea = 1 << 18, kPlace = kLeft - 1;
constexpr int kInAWord = 5;  // elements of three floats in 512 bits

// Cycles from an element's state to its next one. The longest way through the arithmetic is by the momentum of a land edge's mirror image, its speed, the
// flux, and the floor's friction: 12 additions, 9 multiplications, 3 divisions and a root. With 11, 8, 28 and 28 cycles, the defaults of AMD's
// Floating-Point Operator 7.1 (PG060) for single precision, that is 316; two reads of memory, a comparison, three selections and a write take another 12.
constexpr int kPipe = 328;

struct Element {
  float level, x, y;
};

struct Edge {
  float normal_x, normal_y, length, depth;
};

struct Flow {
  float mass, x, y;
};

// What leaves an element through an edge: Rusanov's flux, from the left element to the right one, less the own pressure.
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
  return {land ? 0.0F : sign * mass, sign * x, sign * y};
}

// Steps of all elements of a partition: of those at its boundary first, so that their values are on their way while the others are computed. At the end
// of a step the elements of other boards have to come. `state` has the partition's elements and then those; `stalls` gets the cycles that the
// pipeline has waited for them, in all and at most in a step.
void element(const float* geometry, const int* links, const float* tides, float* state, int* stalls, int elements,
             int boundary, int halo, int steps, float gravity, float coriolis, float friction,
             hls::stream<Element>& to_others, hls::stream<Element>& from_others) {
#pragma HLS INTERFACE m_axi port = geometry bundle = gmem0
#pragma HLS INTERFACE m_axi port = links bundle = gmem1
#pragma HLS INTERFACE m_axi port = tides bundle = gmem1
#pragma HLS INTERFACE m_axi port = state bundle = gmem2
#pragma HLS INTERFACE m_axi port = stalls bundle = gmem1
  Edge edges[kElements][3];
  float scales[kElements], depths[kElements];
  int others[kElements][3];
  float tide[kSteps];
  Element values[2][kElements + kHalo];  // a step's and the next one's
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
  for (int step = 0; step < steps; ++step) {
#pragma HLS PIPELINE II = 1
    tide[step] = tides[step];
  }

  int waited = 0, longest = 0;
  for (int step = 0; step < steps; ++step) {
    const Element* now = values[step & 1];
    Element* next = values[~step & 1];
    const float sea = tide[step];
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
      const float scale = scales[i];
      const float level = own.level - scale * (flows[0].mass + flows[1].mass + flows[2].mass);
      const float x = (own.x - scale * (flows[0].x + flows[1].x + flows[2].x)) + coriolis * own.y;
      const float y = (own.y - scale * (flows[0].y + flows[1].y + flows[2].y)) - coriolis * own.x;
      const float height = level + depths[i];
      const float slowed = 1.0F / (1.0F + friction * std::sqrt(x * x + y * y) / (height * height));
      const Element made = {level, x * slowed, y * slowed};
      next[i] = made;
      if (i < boundary) to_others.write(made);
    }
    int late = 0;
    for (int come = 0; come < halo;) {
#pragma HLS PIPELINE II = 1
      if (from_others.read_nb(next[elements + come]))
        ++come;
      else
        ++late;
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
  stalls[0] = waited;
  stalls[1] = longest;
}

// Packs what each neighbour needs into a message of its own. `sent`: places of elements, `counts` of them for each neighbour.
void send_halo(const int* sent, const int* counts, int neighbours, int boundary, int steps,
               hls::stream<Element>& elements, hls::stream<data_word>& data) {
#pragma HLS INTERFACE m_axi port = sent bundle = gmem3
#pragma HLS INTERFACE m_axi port = counts bundle = gmem3
  Element values[kHalo];
  int places[2 * kHalo], count[kNeighbours];
  int all = 0;
  for (int n = 0; n < neighbours; ++n) {
#pragma HLS PIPELINE II = 1
    count[n] = counts[n];
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

// A command to the engine: to send from the kernels' stream, or to move a message from the receive buffers to it.
static void command(hls::stream<command_word>& commands, int scenario, int words, int communicator, int rank,
                    int arithmetic, int streams) {
#pragma HLS INLINE
  const int fields[15] = {scenario, 16 * words, communicator, rank, 0, 9, arithmetic, 0, streams, 0, 0, 0, 0, 0, 0};
  for (int k = 0; k < 15; ++k) {
#pragma HLS PIPELINE II = 1
    command_word word;
    word.data = fields[k];
    word.last = k == 14;
    commands.write(word);
  }
}

// Of each step: a send to each neighbour, and a recv from each, in their order; then it waits for the ends of all of them. The engine
// has a step's first commands before there is anything to send, so that its processor works on them meanwhile.
void schedule(const int* ranks, const int* sent, const int* received, int neighbours, int steps, int communicator,
              int arithmetic, hls::stream<command_word>& commands, hls::stream<command_word>& status) {
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
      command(commands, kSend, to[n], communicator, rank[n], arithmetic, kFromStream);
    for (int n = 0; n < neighbours; ++n)
      command(commands, kRecv, from[n], communicator, rank[n], arithmetic, kToStream);
    for (int n = 0; n < 2 * neighbours; ++n) status.read();
  }
}

// Without ACCL: a step's halo goes by the hosts, which start these in each step.

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
