// SPDX-License-Identifier: Apache-2.0
// PTRANS: one kernel reads a board's blocks of A and sends them transposed, another adds received blocks to those of B. Names and arguments are those
// of HPCC FPGA's kernels, so that the same host program runs both.
#include "ap_axi_sdata.h"
#include "hls_stream.h"

#ifndef BLOCK_SIZE
#define BLOCK_SIZE 64  // rows of a block, a multiple of 16
#endif

using data_word = ap_axiu<512, 0, 0, 8>;

constexpr unsigned kLanes = 16;  // fp32 elements of a word
constexpr unsigned kWords = BLOCK_SIZE / kLanes;
static_assert(BLOCK_SIZE % kLanes == 0, "BLOCK_SIZE must be a multiple of 16");

// Reads blocks column by column, so that the transposed ones are sent row by row. A block is sent while the next one is read.
void transpose_read0(const float* A, unsigned offset_a, unsigned number_of_blocks, unsigned width_in_blocks,
                     unsigned height_in_blocks, hls::stream<data_word>& krnl2cclo) {
#pragma HLS INTERFACE m_axi port = A bundle = gmem0
  float tile[2][BLOCK_SIZE][BLOCK_SIZE];
#pragma HLS ARRAY_PARTITION variable = tile cyclic factor = 16 dim = 2
#pragma HLS ARRAY_PARTITION variable = tile cyclic factor = 16 dim = 3
  const unsigned stride = BLOCK_SIZE * height_in_blocks;
  for (unsigned step = 0; step < (number_of_blocks + 1) * BLOCK_SIZE * kWords; ++step) {
#pragma HLS PIPELINE II = 1
    const unsigned block = step / (BLOCK_SIZE * kWords);
    const unsigned line = step / kWords % BLOCK_SIZE;
    const unsigned first = step % kWords * kLanes;
    if (block > 0) {
      data_word word;
      for (unsigned i = 0; i < kLanes; ++i) {
        union {
          float value;
          unsigned bits;
        } element;
        element.value = tile[(block - 1) % 2][first + i][line];
        word.data.range(32 * i + 31, 32 * i) = element.bits;
      }
      word.keep = -1;
      word.dest = 9;
      word.last = 1;
      krnl2cclo.write(word);
    }
    if (block < number_of_blocks) {
      const unsigned row = (offset_a + block) % width_in_blocks;
      const unsigned column = (offset_a + block) / width_in_blocks;
      const unsigned at = (row * BLOCK_SIZE + line) * stride + column * BLOCK_SIZE + first;
      for (unsigned i = 0; i < kLanes; ++i) tile[block % 2][line][first + i] = A[at + i];
    }
  }
}

void transpose_write0(const float* B, float* A_out, unsigned offset_b, unsigned number_of_blocks,
                      unsigned width_in_blocks, unsigned height_in_blocks, hls::stream<data_word>& cclo2krnl) {
#pragma HLS INTERFACE m_axi port = B bundle = gmem0
#pragma HLS INTERFACE m_axi port = A_out bundle = gmem1
  const unsigned stride = BLOCK_SIZE * width_in_blocks;
  for (unsigned step = 0; step < number_of_blocks * BLOCK_SIZE * kWords; ++step) {
#pragma HLS PIPELINE II = 1
    const unsigned block = offset_b + step / (BLOCK_SIZE * kWords);
    const unsigned line = step / kWords % BLOCK_SIZE;
    const unsigned row = block / width_in_blocks, column = block % width_in_blocks;
    const unsigned at = (row * BLOCK_SIZE + line) * stride + column * BLOCK_SIZE + step % kWords * kLanes;
    const data_word word = cclo2krnl.read();
    for (unsigned i = 0; i < kLanes; ++i) {
      union {
        float value;
        unsigned bits;
      } element;
      element.bits = word.data.range(32 * i + 31, 32 * i);
      A_out[at + i] = element.value + B[at + i];
    }
  }
}
