// SPDX-License-Identifier: Apache-2.0
// LINPACK: the four kernels of a blocked LU factorization without pivoting. Names and arguments are those of HPCC FPGA's kernels, so that the same
// host program runs both.
//
// A = L U with a unit upper U. L is in the lower triangle, with -1 / L[k][k] on the diagonal; -U is in the upper one.
#include "hls_stream.h"

#ifndef BLOCK_SIZE
#define BLOCK_SIZE 64  // rows of a block, a multiple of 16
#endif

constexpr unsigned kLanes = 16;  // fp32 elements per word of memory
constexpr unsigned kTile = 8;    // rows and columns updated per iteration
static_assert(BLOCK_SIZE % kLanes == 0, "BLOCK_SIZE must be a multiple of 16");

using Block = float[BLOCK_SIZE][BLOCK_SIZE];

// Position of a block in a board's matrix; a buffer of one block has blocks_per_row 1.
struct BlockPosition {
  unsigned column, row, blocks_per_row;
  unsigned at(unsigned line) const {
    return (row * BLOCK_SIZE + line) * BLOCK_SIZE * blocks_per_row + column * BLOCK_SIZE;
  }
};

static void load(const float* from, BlockPosition position, Block& to) {
  for (unsigned word = 0; word < BLOCK_SIZE * BLOCK_SIZE / kLanes; ++word) {
#pragma HLS PIPELINE II = 1
    const unsigned line = word * kLanes / BLOCK_SIZE, first = word * kLanes % BLOCK_SIZE;
    for (unsigned i = 0; i < kLanes; ++i) to[line][first + i] = from[position.at(line) + first + i];
  }
}

static void store(const Block& from, bool transposed, BlockPosition position, float* to) {
  for (unsigned word = 0; word < BLOCK_SIZE * BLOCK_SIZE / kLanes; ++word) {
#pragma HLS PIPELINE II = 1
    const unsigned line = word * kLanes / BLOCK_SIZE, first = word * kLanes % BLOCK_SIZE;
    for (unsigned i = 0; i < kLanes; ++i)
      to[position.at(line) + first + i] = transposed ? from[first + i][line] : from[line][first + i];
  }
}

// Adds the product of a column and a row to the block from (first_row, first_column) on, a tile per iteration.
static void update(Block& block, const float* column, const float* row, unsigned first_row, unsigned first_column) {
  constexpr unsigned kTiles = BLOCK_SIZE / kTile;
  for (unsigned i = first_row / kTile; i < kTiles; ++i) {
    for (unsigned j = first_column / kTile; j < kTiles; ++j) {
#pragma HLS PIPELINE II = 1
      for (unsigned y = i * kTile; y < (i + 1) * kTile; ++y)
        for (unsigned x = j * kTile; x < (j + 1) * kTile; ++x)
          if (y >= first_row && x >= first_column) block[y][x] += column[y] * row[x];
    }
  }
}

extern "C" {

// Factorizes the block on the diagonal.
void lu(float* a, float* a_block_trans, float* a_block, unsigned block_col, unsigned block_row,
        unsigned blocks_per_row) {
#pragma HLS INTERFACE m_axi port = a bundle = gmem0
#pragma HLS INTERFACE m_axi port = a_block_trans bundle = gmem1
#pragma HLS INTERFACE m_axi port = a_block bundle = gmem2
  Block block;
  const BlockPosition position = {block_col, block_row, blocks_per_row};
  load(a, position, block);
  for (unsigned k = 0; k < BLOCK_SIZE; ++k) {
    float column[BLOCK_SIZE], row[BLOCK_SIZE];
    const float scale = -1.0f / block[k][k];
    block[k][k] = scale;
    for (unsigned i = k / kTile * kTile; i < BLOCK_SIZE; i += kTile) {
#pragma HLS PIPELINE II = 1
      for (unsigned x = i; x < i + kTile; ++x) {
        column[x] = block[x][k];
        if (x > k) block[k][x] *= scale;
        row[x] = block[k][x];
      }
    }
    update(block, column, row, k + 1, k + 1);
  }
  store(block, false, position, a);
  store(block, true, {0, 0, 1}, a_block_trans);
  store(block, false, {0, 0, 1}, a_block);
}

// Computes a block of -U, right of the diagonal.
void top_update(float* a, float* top_block, const float* lu_global_buffer_transposed, unsigned is_first_block,
                unsigned block_col, unsigned block_row, unsigned blocks_per_row) {
#pragma HLS INTERFACE m_axi port = a bundle = gmem0
#pragma HLS INTERFACE m_axi port = top_block bundle = gmem1
#pragma HLS INTERFACE m_axi port = lu_global_buffer_transposed bundle = gmem2
  Block block, diagonal;
  const BlockPosition position = {block_col, block_row, blocks_per_row};
  load(a, position, block);
  load(lu_global_buffer_transposed, {0, 0, 1}, diagonal);
  for (unsigned k = 0; k < BLOCK_SIZE; ++k) {
    float row[BLOCK_SIZE];
    for (unsigned i = 0; i < BLOCK_SIZE; i += kTile) {
#pragma HLS PIPELINE II = 1
      for (unsigned x = i; x < i + kTile; ++x) {
        block[k][x] *= diagonal[k][k];
        row[x] = block[k][x];
      }
    }
    update(block, diagonal[k], row, k + 1, 0);
  }
  store(block, false, position, a);
  store(block, false, {0, 0, 1}, top_block);
}

// Computes a block of L, below the diagonal, and stores it transposed for the broadcast.
void left_update(float* a, float* left_block, const float* lu_global_buffer, unsigned is_first_block,
                 unsigned block_col, unsigned block_row, unsigned blocks_per_row) {
#pragma HLS INTERFACE m_axi port = a bundle = gmem0
#pragma HLS INTERFACE m_axi port = left_block bundle = gmem1
#pragma HLS INTERFACE m_axi port = lu_global_buffer bundle = gmem2
  Block block, diagonal;
  const BlockPosition position = {block_col, block_row, blocks_per_row};
  load(a, position, block);
  load(lu_global_buffer, {0, 0, 1}, diagonal);
  for (unsigned k = 0; k < BLOCK_SIZE; ++k) {
    float column[BLOCK_SIZE];
    for (unsigned i = 0; i < BLOCK_SIZE; i += kTile) {
#pragma HLS PIPELINE II = 1
      for (unsigned y = i; y < i + kTile; ++y) column[y] = block[y][k];
    }
    update(block, column, diagonal[k], 0, k + 1);
  }
  store(block, false, position, a);
  store(block, true, {0, 0, 1}, left_block);
}

// Adds the product of a block of L and one of -U to another block.
void inner_update_mm0(float* a, const float* left_global_buffer, const float* top_global_buffer, unsigned block_col,
                      unsigned block_row, unsigned blocks_per_row) {
#pragma HLS INTERFACE m_axi port = a bundle = gmem0
#pragma HLS INTERFACE m_axi port = left_global_buffer bundle = gmem1
#pragma HLS INTERFACE m_axi port = top_global_buffer bundle = gmem2
  Block block, left, top;
  const BlockPosition position = {block_col, block_row, blocks_per_row};
  load(a, position, block);
  load(left_global_buffer, {0, 0, 1}, left);
  load(top_global_buffer, {0, 0, 1}, top);
  constexpr unsigned kTiles = BLOCK_SIZE / kTile;
  for (unsigned step = 0; step < kTiles * kTiles * kTiles; ++step) {
#pragma HLS PIPELINE II = 1
    const unsigned first = step / (kTiles * kTiles) * kTile;
    const unsigned row = step / kTiles % kTiles * kTile, column = step % kTiles * kTile;
    for (unsigned y = row; y < row + kTile; ++y) {
      for (unsigned x = column; x < column + kTile; ++x) {
        float sum = 0;
        for (unsigned k = first; k < first + kTile; ++k) sum += left[k][y] * top[k][x];
        block[y][x] += sum;
      }
    }
  }
  store(block, false, position, a);
}
}
