// SPDX-License-Identifier: Apache-2.0
// Do frames pass through interfaces unchanged, and are the lost ones counted? In a network namespace of this process.
#include "attach/interface.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "ethernet/frame.hpp"

namespace thalweg::attach {
namespace {

using Bytes = std::vector<std::byte>;

class Interfaces : public ::testing::Test {
 protected:
  void SetUp() override {
    if (unshare(CLONE_NEWNET) != 0) GTEST_SKIP() << "network namespaces are not allowed here";
    run("echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6");
    run("ip link add one mtu 9216 type veth peer name other mtu 9216");
    run("ip link set one up");
    run("ip link set other up");
  }
  static void run(const std::string& command) { ASSERT_EQ(std::system(command.c_str()), 0) << command; }
  /// A frame whose bytes follow from its number.
  static Bytes frame(unsigned number, std::size_t size) {
    Bytes bytes(size);
    for (std::size_t k = 0; k < size; ++k) bytes[k] = static_cast<std::byte>(number + 7 * k);
    bytes[0] = std::byte{2};
    bytes[6] = std::byte{2};  // a unicast address
    bytes[12] = std::byte{0x88};
    bytes[13] = std::byte{0xB5};
    return bytes;
  }
  static std::size_t send(Interface& by, const std::vector<Bytes>& frames) {
    const std::vector<std::span<const std::byte>> spans(frames.begin(), frames.end());
    return by.send(spans);
  }
  /// The frames received until none arrives for a while.
  static std::vector<Bytes> received(Interface& by) {
    std::vector<Bytes> all;
    for (pollfd polled{by.descriptor(), POLLIN, 0}; poll(&polled, 1, 200) > 0;) {
      const auto frames = by.receive();
      for (const auto& each : frames) all.emplace_back(each.begin(), each.end());
      if (frames.empty() && !(polled.revents & POLLIN)) break;
    }
    return all;
  }
  static std::string refusal(const std::string& name, std::size_t longest) {
    try {
      Interface made(name, longest);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(Interfaces, FramesOfAllLengthsCrossInOrder) {
  Interface one("one", 9170), other("other", 9170);
  std::vector<Bytes> sent;
  for (unsigned k = 0; k < 300; ++k) sent.push_back(frame(k, 14 + (k * 8191) % 9199));
  EXPECT_EQ(send(one, sent), sent.size());
  EXPECT_EQ(received(other), sent);
  EXPECT_TRUE(received(one).empty());  // not those that it has sent itself
  EXPECT_EQ(one.counts().sent, 300u);
  EXPECT_EQ(other.counts().received, 300u);
  EXPECT_EQ(one.counts().sent_bytes, other.counts().received_bytes);
}

TEST_F(Interfaces, ATapDeviceHasTheSame) {
  run("ip tuntap add dev tap mode tap");
  run("ip link set tap mtu 9216 up");
  run("ip link add br0 type bridge mcast_snooping 0");
  run("ip link set tap master br0");
  run("ip link set one master br0");
  run("ip link set br0 mtu 9216 up");
  Interface tap("tap", 9170), other("other", 9170);
  EXPECT_TRUE(tap.is_tap());
  EXPECT_FALSE(other.is_tap());
  const std::vector<Bytes> there{frame(1, 9170), frame(2, 60)}, back{frame(3, 1000), frame(4, 9170)};
  EXPECT_EQ(send(tap, there), 2u);
  EXPECT_EQ(received(other), there);
  EXPECT_EQ(send(other, back), 2u);
  EXPECT_EQ(received(tap), back);
}

TEST_F(Interfaces, WhatIsNotCarriedIsCounted) {
  Interface one("one", 9170), other("other", 9170);
  run("ip link set one mtu 9400");
  run("ip link set other mtu 9400");
  EXPECT_EQ(send(one, {frame(1, ethernet::kMost), frame(2, ethernet::kMost + 1), frame(3, 9300)}), 3u);
  EXPECT_EQ(received(other).size(), 1u);
  EXPECT_EQ(other.counts().oversized, 2u);
  run("ip link set one down");
  EXPECT_EQ(send(one, {frame(1, 100), frame(2, 100)}), 2u);
  EXPECT_EQ(one.counts().refused, 2u);
  EXPECT_TRUE(received(one).empty());
  run("ip link set one up");
  for (int k = 0; k < 100; ++k) send(one, std::vector<Bytes>(64, frame(1, 9170)));
  const auto came = received(other).size();
  EXPECT_LT(came, 6400u);
  EXPECT_EQ(came + other.counts().dropped, 6400u);
  run("ip link delete one");
  EXPECT_THROW(send(one, {frame(1, 100)}), std::runtime_error);
}

TEST_F(Interfaces, InterfacesThatCannotCarryTheFramesAreRefused) {
  EXPECT_NE(refusal("none", 1514).find("none: there is no such network interface"), std::string::npos);
  EXPECT_NE(refusal("one", 9231).find("one: its MTU is 9216, and frames have up to 9217"), std::string::npos);
  EXPECT_EQ(refusal("one", 9230), "");
  run("ip link set other down");
  EXPECT_NE(refusal("one", 1514).find("one: the interface has no carrier"), std::string::npos);
  EXPECT_NE(refusal("other", 1514).find("other: the interface is down"), std::string::npos);
}

}  // namespace
}  // namespace thalweg::attach
