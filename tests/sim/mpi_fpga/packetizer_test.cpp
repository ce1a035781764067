// SPDX-License-Identifier: Apache-2.0
// How are elements laid out in packets, and does the DMA keep its rate?
#include "mpi_fpga/packetizer.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "mpi_fpga/depacketizer.hpp"
#include "mpi_fpga/pipe.hpp"

namespace thalweg::mpi_fpga {
namespace {

TEST(Packetizer, FullPackets) {
  EXPECT_EQ(Packetizer(8, 16).elements_per_packet(), 63u);  // 512 bytes minus the header's 8
  EXPECT_EQ(Packetizer(1, 16).elements_per_packet(), 504u);
  EXPECT_EQ(Packetizer(16, 16).elements_per_packet(), 31u);  // one in the first flit, two in each other one
  EXPECT_EQ(Packetizer(16, 1).elements_per_packet(), 1u);
  EXPECT_EQ(Packetizer(4, 1).elements_per_packet(), 6u);
}

TEST(Packetizer, APacketIsTheSmallestPowerOfTwoOfFlits) {
  const Packetizer doubles(8, 16);
  for (const auto& [elements, flits] : {std::pair{0u, 1u},
                                        {3u, 1u},
                                        {4u, 2u},
                                        {7u, 2u},
                                        {8u, 4u},
                                        {15u, 4u},
                                        {16u, 8u},
                                        {31u, 8u},
                                        {32u, 16u},
                                        {63u, 16u}})
    EXPECT_EQ(doubles.flits(elements), flits) << elements;
  EXPECT_EQ(doubles.packets(0), 1u);
  EXPECT_EQ(doubles.packets(63), 1u);
  EXPECT_EQ(doubles.packets(64), 2u);
  EXPECT_EQ(doubles.elements_in(1, 64), 1u);
}

TEST(Packetizer, FillsPacketsToThreeQuarters) {
  const Packetizer bytes(1, 64, 16);                     // n flits hold 32 n - 16 bytes
  for (const auto& [left, next] : {std::pair{16u, 16u},  // 1 flit
                                   {48u, 48u},           // 2
                                   {49u, 49u},           // 3 of 4
                                   {144u, 112u},         // 5 of 8: 4
                                   {145u, 145u},         // 6 of 8
                                   {1024u, 1008u},       // 33 of 64: 32
                                   {1488u, 1008u},       // 47 of 64
                                   {1489u, 1489u},       // 48 of 64
                                   {2032u, 2032u},       // 64
                                   {100'000u, 2032u}})
    EXPECT_EQ(bytes.filled(left), next) << left;
}

TEST(Packetizer, NoElementStraddlesAFlitOrTouchesTheHeader) {
  for (const auto& [header, size, flits] : [] {
         std::vector<std::tuple<unsigned, std::size_t, unsigned>> cases;
         for (const unsigned h : {8u, 16u})
           for (const std::size_t s : {1u, 2u, 4u, 8u, 16u})
             for (const unsigned f : {1u, 2u, 4u, 8u, 16u}) cases.emplace_back(h, s, f);
         return cases;
       }()) {
    const Packetizer layout(size, flits, header);
    std::set<std::size_t> taken;
    layout.pieces(layout.elements_per_packet(), [&](std::size_t at, std::uint64_t, std::uint64_t n) {
      for (std::uint64_t i = 0; i < n; ++i) {
        const std::size_t begin = at + i * size;
        EXPECT_GE(begin, header);
        EXPECT_LE(begin + size, flits * 32u);
        EXPECT_EQ(begin / 32, (begin + size - 1) / 32);
        EXPECT_TRUE(taken.insert(begin).second);
      }
    });
    EXPECT_EQ(taken.size(), layout.elements_per_packet());
  }
}

TEST(FlitPacketizer, WhatGoesInComesOutInPacketsThatFollowEachOther) {
  std::mt19937_64 random(20261121);
  for (const auto type : {spec::Datatype::byte, spec::Datatype::int16, spec::Datatype::float32, spec::Datatype::float64,
                          spec::Datatype::complex128})
    for (const std::uint64_t count : {0u, 1u, 3u, 24u, 63u, 64u, 1000u}) {
      const std::size_t bytes = count * spec::size_of(type);
      std::vector<std::uint64_t> memory((bytes + kFlitBytes) / 8), received;
      for (auto& word : memory) word = random();
      FlitPacketizer packetizer;
      FlitDepacketizer depacketizer;
      packetizer.start(spec::Descriptor{.type = type, .count = count}.pack(), 16);
      const Packetizer layout(spec::size_of(type), 16);
      std::uint64_t left = count, got = 0, elements = 0;
      bool data = false, last = false;
      for (std::size_t at = 0; !packetizer.idle();) {
        ASSERT_FALSE(last) << "flits after the last packet";
        FlitPacketizer::Word word{};
        if (packetizer.wants_word())
          std::copy_n(memory.begin() + static_cast<std::ptrdiff_t>(4 * at++), 4, word.begin());
        const auto flit = packetizer.next(word);
        if (flit.head) {
          const std::uint64_t header = flit.data[0];
          data = spec::network_header::kind(header) == spec::Kind::data;
          elements = data ? layout.elements_in(0, left) : 0;
          EXPECT_EQ(1u << spec::network_header::size(header), layout.flits(elements));
          EXPECT_EQ(spec::network_header::last(header), data && elements == left);
        }
        depacketizer.take(flit.data, flit.head, flit.tail, layout, elements);
        while (const auto part = depacketizer.next()) {
          for (unsigned i = 0; i < part->bytes; ++i)
            EXPECT_EQ(part->data[i / 8] >> i % 8 * 8 & 0xFF, memory[(got + i) / 8] >> (got + i) % 8 * 8 & 0xFF);
          got += part->bytes;
        }
        if (flit.tail) {
          left -= elements;
          last = data && left == 0;
        }
      }
      EXPECT_TRUE(last);
      EXPECT_EQ(got, bytes);
    }
}

TEST(Pipe, KeepsItsRateAcrossPackets) {
  Pipe pipe(51.95);
  Tick end = 0;
  for (int i = 0; i < 10'000; ++i) end = pipe.pass(0, 504);
  EXPECT_GE(end, Tick(10'000 * 504 / 51.95));
  EXPECT_LE(end, Tick(10'000 * 504 / 51.95 * 1.0001) + 1);
  EXPECT_EQ(pipe.pass(end + 1000, 52), end + 1002);  // unused capacity is not saved
}

TEST(Pipe, ZeroIsNoLimit) {
  EXPECT_EQ(Pipe(0).pass(17, 1'000'000), 17);
}

}  // namespace
}  // namespace thalweg::mpi_fpga
