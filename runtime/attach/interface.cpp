// SPDX-License-Identifier: Apache-2.0
#include "attach/interface.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <linux/sockios.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

#include "ethernet/frame.hpp"

namespace thalweg::attach {

namespace {

constexpr std::size_t kRoom =
    ethernet::kMost + 1;  // buffer per frame; one byte more, to detect frames that are too long
constexpr int kCarrierTries = 150;
constexpr std::chrono::milliseconds kCarrierPause{10};
constexpr int kSocketBytes = 1 << 24;  // socket buffer: 10 ms at 10 Gb/s, including the kernel's overhead

/// An ioctl() request about an interface.
ifreq about(const std::string& name) {
  ifreq request{};
  std::memcpy(request.ifr_name, name.data(), std::min(name.size(), sizeof request.ifr_name - 1));
  return request;
}

/// A socket for ioctl() requests.
class Requests {
 public:
  Requests() : descriptor_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {}
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;
  ~Requests() { close(descriptor_); }

  bool control(unsigned long what, ifreq& request) const { return ioctl(descriptor_, what, &request) == 0; }
  [[nodiscard]] short flags(const std::string& name) const {
    auto request = about(name);
    return control(SIOCGIFFLAGS, request) ? request.ifr_flags : short{0};
  }
  /// True if the driver is that of a TAP device.
  [[nodiscard]] bool is_tap_device(const std::string& name) const {
    ethtool_drvinfo info{};
    info.cmd = ETHTOOL_GDRVINFO;
    auto request = about(name);
    request.ifr_data = reinterpret_cast<char*>(&info);
    return control(SIOCETHTOOL, request) && std::string_view(info.driver) == "tun" &&
           std::string_view(info.bus_info) == "tap";
  }

 private:
  int descriptor_;
};

bool is_full(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == ENOBUFS || error == EINTR;
}
bool is_down(int error) {
  return error == ENETDOWN || error == EIO;
}

}  // namespace

Interface::Interface(const std::string& name, std::size_t longest) : name_(name), buffer_(kBatch * kRoom) {
  const unsigned index = if_nametoindex(name.c_str());
  if (index == 0)
    fail("there is no such network interface; a TAP device is made by: ip tuntap add dev " + name + " mode tap");
  const Requests requests;
  auto mtu = about(name);
  if (!requests.control(SIOCGIFMTU, mtu)) fail(std::strerror(errno));
  tap_ = requests.is_tap_device(name);
  if (!(requests.flags(name) & IFF_UP)) fail("the interface is down; ip link set dev " + name + " up");
  if (const auto mtu_needed = static_cast<int>(longest - ETH_HLEN); mtu.ifr_mtu < mtu_needed)
    fail("its MTU is " + std::to_string(mtu.ifr_mtu) + ", and frames have up to " + std::to_string(mtu_needed) +
         " bytes behind their header; ip link set dev " + name + " mtu " + std::to_string(mtu_needed));
  if (tap_) open_tap();
  // The kernel takes up to a second to detect that a TAP device has been opened; until then a bridge forwards nothing.
  for (int tries = 0; !(requests.flags(name) & IFF_RUNNING); ++tries) {
    if (tries == kCarrierTries) {
      if (tap_) close(descriptor_);
      fail("the interface has no carrier: nothing is connected to it, or the other end is down");
    }
    std::this_thread::sleep_for(kCarrierPause);
  }
  if (!tap_) open_socket(static_cast<int>(index));
}

Interface::Interface(Interface&& other) noexcept
    : name_(std::move(other.name_)),
      tap_(other.tap_),
      descriptor_(std::exchange(other.descriptor_, -1)),
      dropped_before_(other.dropped_before_),
      counts_(other.counts_),
      buffer_(std::move(other.buffer_)),
      frames_(std::move(other.frames_)) {}

Interface::~Interface() {
  if (descriptor_ >= 0) close(descriptor_);
}

void Interface::open_tap() {
  descriptor_ = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (descriptor_ < 0) fail(std::string("/dev/net/tun: ") + std::strerror(errno));
  auto request = about(name_);
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  if (ioctl(descriptor_, TUNSETIFF, &request) < 0) {
    const int error = errno;
    close(std::exchange(descriptor_, -1));
    fail(error == EBUSY   ? "another program uses the TAP device"
         : error == EPERM ? "the TAP device belongs to another user; run as root, or: ip tuntap add dev " + name_ +
                                " mode tap user NAME"
                          : std::strerror(error));
  }
  dropped_before_ = dropped_by_tap();
}

void Interface::open_socket(int index) {
  descriptor_ = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);  // protocol 0: no frames before bind()
  if (descriptor_ < 0)
    fail(errno == EPERM ? "a packet socket needs root (CAP_NET_RAW); the owner of a TAP device does not"
                        : std::strerror(errno));
  const auto set = [this](int level, int option, const auto& value) {
    return setsockopt(descriptor_, level, option, &value, sizeof value) == 0;
  };
  for (const auto& [forced, unforced] : {std::pair{SO_RCVBUFFORCE, SO_RCVBUF}, {SO_SNDBUFFORCE, SO_SNDBUF}})
    if (!set(SOL_SOCKET, forced, kSocketBytes)) set(SOL_SOCKET, unforced, kSocketBytes);
  packet_mreq all{};
  all.mr_ifindex = index;
  all.mr_type = PACKET_MR_PROMISC;
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = index;
  if (!set(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1) || !set(SOL_PACKET, PACKET_ADD_MEMBERSHIP, all) ||
      bind(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0) {
    const int error = errno;
    close(std::exchange(descriptor_, -1));
    fail(std::strerror(error));
  }
}

Interface::Counts Interface::counts() const {
  if (tap_) {
    counts_.dropped = dropped_by_tap() - dropped_before_;
  } else {
    tpacket_stats statistics{};
    socklen_t size = sizeof statistics;
    if (getsockopt(descriptor_, SOL_PACKET, PACKET_STATISTICS, &statistics, &size) == 0)
      counts_.dropped += statistics.tp_drops;
  }
  return counts_;
}

std::uint64_t Interface::dropped_by_tap() const {
  ifaddrs* all = nullptr;
  std::uint64_t dropped = 0;
  if (getifaddrs(&all) < 0) return 0;
  for (const ifaddrs* entry = all; entry; entry = entry->ifa_next)
    if (entry->ifa_name == name_ && entry->ifa_addr && entry->ifa_addr->sa_family == AF_PACKET && entry->ifa_data)
      dropped = static_cast<const rtnl_link_stats*>(entry->ifa_data)->tx_dropped;
  freeifaddrs(all);
  return dropped;
}

std::span<const std::span<const std::byte>> Interface::receive() {
  frames_.clear();
  const auto add = [&](std::size_t k, std::size_t bytes) {
    if (bytes > ethernet::kMost) {
      ++counts_.oversized;
      return;
    }
    ++counts_.received;
    counts_.received_bytes += bytes;
    frames_.emplace_back(buffer_.data() + k * kRoom, bytes);
  };
  if (tap_) {
    for (std::size_t k = 0; k < kBatch; ++k) {
      const auto bytes = read(descriptor_, buffer_.data() + k * kRoom, kRoom);
      if (bytes < 0 && !is_full(errno) && !is_down(errno)) fail(std::strerror(errno));
      if (bytes <= 0) break;
      add(k, static_cast<std::size_t>(bytes));
    }
    return frames_;
  }
  std::array<mmsghdr, kBatch> messages{};
  std::array<iovec, kBatch> buffers;
  for (std::size_t k = 0; k < kBatch; ++k) {
    buffers[k] = {buffer_.data() + k * kRoom, kRoom};
    messages[k].msg_hdr.msg_iov = &buffers[k];
    messages[k].msg_hdr.msg_iovlen = 1;
  }
  const int count = recvmmsg(descriptor_, messages.data(), kBatch, 0, nullptr);
  if (count < 0 && !is_full(errno) && !is_down(errno)) fail(std::strerror(errno));
  for (int k = 0; k < count; ++k) add(static_cast<std::size_t>(k), messages[static_cast<std::size_t>(k)].msg_len);
  return frames_;
}

std::size_t Interface::send(std::span<const std::span<const std::byte>> frames) {
  std::size_t done = 0;
  const auto account = [&](bool sent) {
    (sent ? counts_.sent : counts_.refused) += 1;
    if (sent) counts_.sent_bytes += frames[done].size();
    ++done;
  };
  while (done < frames.size()) {
    std::array<mmsghdr, kBatch> messages{};
    std::array<iovec, kBatch> buffers;
    const auto batch = std::min(kBatch, frames.size() - done);
    for (std::size_t k = 0; k < batch; ++k) {
      const auto& frame = frames[done + k];
      buffers[k] = {const_cast<std::byte*>(frame.data()), frame.size()};  // only read
      messages[k].msg_hdr.msg_iov = &buffers[k];
      messages[k].msg_hdr.msg_iovlen = 1;
    }
    int count = 0;
    if (tap_)
      count = write(descriptor_, buffers[0].iov_base, buffers[0].iov_len) < 0 ? -1 : 1;
    else
      count = sendmmsg(descriptor_, messages.data(), static_cast<unsigned>(batch), 0);
    if (count < 0 && is_full(errno)) break;
    if (count < 0 && !is_down(errno)) fail(std::strerror(errno));
    if (count < 0) account(false);
    for (int k = 0; k < count; ++k) account(true);
  }
  return done;
}

void Interface::fail(const std::string& what) const {
  throw std::runtime_error(name_ + ": " + what);
}

}  // namespace thalweg::attach
