// SPDX-License-Identifier: Apache-2.0
// Frames of UDP, ARP and ICMP, compared with bytes that Linux sent and received (captured on an interface of its own),
// and with every byte changed.
#include "ethernet/udp.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "ethernet/answers.hpp"

namespace thalweg::ethernet {
namespace {

std::vector<std::byte> bytes_of(std::string_view hex) {
  std::vector<std::byte> made;
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  for (std::size_t k = 0; k + 1 < hex.size(); k += 2)
    made.push_back(static_cast<std::byte>(digit(hex[k]) << 4 | digit(hex[k + 1])));
  return made;
}
std::vector<std::byte> bytes_of(const Frame& frame) {
  return {frame.bytes().begin(), frame.bytes().end()};
}

// A datagram of Linux from 10.77.0.1, port 40000, to 10.77.0.2, port 5500, without a UDP checksum: "thalweg".
constexpr std::string_view kDatagram =
    "020000000002020000000001080045000023000040004011262e0a4d00010a4d00029c40157c000f00007468616c776567";

const UdpEnd kOne{0x0200'0000'0001, 0x0A4D'0001, 40'000}, kTwo{0x0200'0000'0002, 0x0A4D'0002, 5'500};

TEST(Udp, IsWhatLinuxSends) {
  Frames frames;
  const auto made = make_udp(frames, kOne, kTwo, 7, [](std::span<std::byte> payload) {
    for (std::size_t k = 0; k < 7; ++k) payload[k] = static_cast<std::byte>("thalweg"[k]);
  });
  EXPECT_EQ(bytes_of(*made), bytes_of(kDatagram));
  const auto read = udp_of(*made);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->from.port, 40'000);
  EXPECT_EQ(read->to.ip, 0x0A4D'0002U);
  EXPECT_EQ(read->payload.size(), 7U);
}

TEST(Udp, TakesNoHeaderWithAChangedByte) {
  Frames frames;
  auto bytes = bytes_of(kDatagram);
  for (std::size_t at = kHeader; at < kHeader + kIpv4Header; ++at)
    for (const unsigned change : {1, 0x80}) {
      bytes[at] ^= static_cast<std::byte>(change);
      EXPECT_FALSE(udp_of(*frames.copy(bytes)).has_value()) << at;
      bytes[at] ^= static_cast<std::byte>(change);
    }
  for (std::size_t size = kHeader; size < bytes.size(); ++size)
    EXPECT_FALSE(udp_of(*frames.copy(std::span(bytes).first(size))).has_value()) << size;
}

// A request for 10.77.0.1 from 10.77.0.2, and the answer of Linux.
constexpr std::string_view kAsked =
    "ffffffffffff020000000002080600010800060400010200000000020a4d00020000000000000a4d0001";
constexpr std::string_view kReported =
    "020000000002020000000001080600010800060400020200000000010a4d00010200000000020a4d0002";

TEST(Arp, AnswersAsLinuxDoes) {
  Frames frames;
  const auto reply = answer(frames, kOne, *frames.copy(bytes_of(kAsked)));
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(bytes_of(**reply), bytes_of(kReported));
  EXPECT_FALSE(answer(frames, kTwo, *frames.copy(bytes_of(kAsked))).has_value());
}

// An echo request of Linux's ping with nine bytes, which 10.77.0.2 answers.
constexpr std::string_view kEcho =
    "0200000000020200000000010800450000256d1140004001b92a0a4d00010a4d00020800e02e03c00001000102030405060708";

TEST(Icmp, AnswersAnEchoRequest) {
  Frames frames;
  auto bytes = bytes_of(kEcho);
  const auto icmp = std::span(bytes).subspan(kHeader + kIpv4Header);
  const auto reply = answer(frames, kTwo, *frames.copy(bytes));
  ASSERT_TRUE(reply.has_value());
  const auto made = (**reply).bytes();
  EXPECT_EQ((**reply).destination(), kOne.address);
  EXPECT_EQ(detail::checksum(made.subspan(kHeader, kIpv4Header)), 0);
  EXPECT_EQ(detail::checksum(made.subspan(kHeader + kIpv4Header)), 0);
  EXPECT_EQ(detail::get_network(made.subspan(kHeader + 12, 4)), kTwo.ip);
  EXPECT_EQ(detail::get_network(made.subspan(kHeader + 16, 4)), kOne.ip);
  EXPECT_EQ(made[kHeader + kIpv4Header], std::byte{0});
  EXPECT_TRUE(std::ranges::equal(made.subspan(kHeader + kIpv4Header + 4), icmp.subspan(4)));
  for (std::size_t at = kHeader; at < bytes.size(); ++at) {
    bytes[at] ^= std::byte{1};
    EXPECT_FALSE(answer(frames, kTwo, *frames.copy(bytes)).has_value()) << at;
    bytes[at] ^= std::byte{1};
  }
}

/// One's complement has two zeros: if everything but type and checksum is zero, a checksum of zero would be wrong.
TEST(Icmp, AnswersWhereTheDataSumUpToZero) {
  Frames frames;
  for (const unsigned data : {0x0000U, 0xFFFFU}) {
    auto bytes = bytes_of(kEcho);
    auto icmp = std::span(bytes).subspan(kHeader + kIpv4Header);
    for (std::size_t at = 4; at < icmp.size(); at += 2)
      detail::put_network(icmp.subspan(at, std::min<std::size_t>(2, icmp.size() - at)), at < 8 ? data : 0);
    detail::put_network(icmp.subspan(2, 2), 0xF7FF);
    const auto reply = answer(frames, kTwo, *frames.copy(bytes));
    ASSERT_TRUE(reply.has_value()) << data;
    std::uint32_t sum = 0;
    for (std::size_t at = kHeader + kIpv4Header; at < (**reply).size(); ++at)
      sum += std::to_integer<std::uint32_t>((**reply).bytes()[at]) << (at % 2 == 0 ? 8 : 0);
    EXPECT_EQ((sum & 0xFFFF) + (sum >> 16), 0xFFFFU) << data;
  }
}

}  // namespace
}  // namespace thalweg::ethernet
