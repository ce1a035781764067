// SPDX-License-Identifier: Apache-2.0
// Does the generated C++ agree with the shared vectors, bit for bit, for whole packets and for each field?
#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <tuple>
#include <type_traits>

#include "thalweg_mpi_fpga_spec.hpp"
#include "thalweg_spec.hpp"
#include "thalweg_spec_vectors.hpp"

namespace {
using namespace thalweg::mpi_fpga::spec;

TEST(Spec, EveryFormatAgreesWithItsVectors) {
  std::size_t formats = 0;
  thalweg::spec::each_format([&](const auto& vectors) {
    ++formats;
    for (const auto& [fields, words] : vectors) {
      using Format = std::remove_cvref_t<decltype(fields)>;
      if constexpr (std::tuple_size_v<std::remove_cvref_t<decltype(words)>> == 1) {
        EXPECT_EQ(fields.pack(), words[0]);
        EXPECT_EQ(Format::unpack(words[0]), fields);
      } else {
        EXPECT_EQ(fields.pack(), words);
        EXPECT_EQ(Format::unpack(words), fields);
      }
    }
  });
  EXPECT_GT(formats, 10u);
}

TEST(Spec, OwnFlitsAreDistinguished) {
  for (const auto& [fields, words] : thalweg::mpi_fpga::spec::vectors::descriptor) {
    EXPECT_TRUE(descriptor::matches(words));
    EXPECT_FALSE(credit::matches(words));
  }
  for (const auto& [fields, words] : thalweg::mpi_fpga::spec::vectors::credit) {
    EXPECT_TRUE(credit::matches(words));
    EXPECT_FALSE(descriptor::matches(words));
  }
}

TEST(Spec, AFieldOfNetworkOrderIsReadAlone) {
  for (const auto& [fields, words] : thalweg::spec::vectors::pcie_memory_write)
    EXPECT_EQ(pcie_memory_write::address(words), fields.address);  // across seven bytes and two bits
  for (const auto& [fields, words] : thalweg::spec::vectors::pcie_completion)
    EXPECT_EQ(pcie_completion::byte_count(words), fields.byte_count);
}

TEST(Spec, OneFieldIsReplacedAndTheOthersStay) {
  for (const auto& [fields, words] : thalweg::mpi_fpga::spec::vectors::network_header) {
    const std::uint64_t payload = std::uint64_t{0xABCD} << 48;
    const std::uint64_t word = network_header::with_edge(network_header::with_destination(words[0] | payload, 77), 9);
    NetworkHeader expected = fields;
    expected.destination = 77;
    expected.edge = 9;
    EXPECT_EQ(NetworkHeader::unpack(word), expected);
    EXPECT_EQ(word >> 48, payload >> 48);
  }
}

TEST(Spec, SizesAreThoseOfC) {
  struct DoubleInt {
    double value;
    int index;
  };
  struct LongInt {
    long value;
    int index;
  };
  struct ShortInt {
    short value;
    int index;
  };
  EXPECT_EQ(size_of(Datatype::pair_float64_int32), sizeof(DoubleInt));
  EXPECT_EQ(size_of(Datatype::pair_int64_int32), sizeof(LongInt));
  EXPECT_EQ(size_of(Datatype::pair_int16_int32), sizeof(ShortInt));
  EXPECT_EQ(size_of(Datatype::complex128), sizeof(std::complex<double>));
  EXPECT_EQ(size_of(Datatype::uint16), sizeof(std::uint16_t));
}

TEST(Spec, OperatorsOfTypes) {
  EXPECT_TRUE(supported(Operator::sum, Datatype::float16));
  EXPECT_FALSE(supported(Operator::band, Datatype::float64));
  EXPECT_FALSE(supported(Operator::prod, Datatype::complex64));
  EXPECT_TRUE(supported(Operator::minloc, Datatype::pair_float64_int32));
  EXPECT_FALSE(supported(Operator::sum, Datatype::pair_int32_int32));
  EXPECT_EQ(name(Operator::maxloc), "maxloc");
}

}  // namespace
