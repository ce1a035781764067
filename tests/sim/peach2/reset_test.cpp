// SPDX-License-Identifier: Apache-2.0
// A hub that is reset alone loses packets and credits of its cables: is the loss reported, and by which hub?
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "clusters.hpp"
#include "peach2/driver/fabric.hpp"
#include "rings.hpp"

namespace thalweg::peach2 {
namespace {

constexpr unsigned kNodes = 4;

/// Resets once `packets` packets have arrived by west; 0: never.
class Forgetful final : public HubModel {
 public:
  Forgetful(const Hub::Config& config, std::uint16_t own, const unsigned& packets)
      : config_(config), own_(own), packets_(packets), hub_(std::make_unique<SimHub>(config, own)) {}

  void bind(Domain& net, ComponentId at_net, Domain& bus, ComponentId at_bus) override {
    bind_ = [&net, at_net, &bus, at_bus](HubModel& hub) { hub.bind(net, at_net, bus, at_bus); };
    bind_(*hub_);
  }
  void begin(Tick) override {}
  [[nodiscard]] const HubWord* out(unsigned link) override { return hub_->out(link); }
  [[nodiscard]] std::optional<unsigned> freed(unsigned link) override { return hub_->freed(link); }
  [[nodiscard]] const BusBeat* memory() override { return hub_->memory(); }
  [[nodiscard]] std::uint64_t beats_taken() const override { return 0; }
  void step_net(Tick cycle, const std::array<Hub::LinkIn, kLinks>& links) override {
    hub_->step_net(cycle, links);
    const auto* word = links[kWest].word;
    if (!word || !word->last || packets_ == 0 || ++came_ % packets_ != 0) return;
    hub_ = std::make_unique<SimHub>(config_, own_);
    bind_(*hub_);
  }
  void step_bus(Tick cycle, bool ready, const Word<128>* reply) override { hub_->step_bus(cycle, ready, reply); }
  [[nodiscard]] bool net_idle(Tick cycle) const override { return hub_->net_idle(cycle); }
  [[nodiscard]] bool bus_idle(Tick cycle) const override { return hub_->bus_idle(cycle); }
  [[nodiscard]] const Settling& settling() const override { return hub_->settling(); }
  [[nodiscard]] Hub::Report take_report() override { return hub_->take_report(); }
  [[nodiscard]] std::vector<DmaReader::Unanswered> unanswered() const override { return hub_->unanswered(); }

 private:
  Hub::Config config_;
  std::uint16_t own_;
  const unsigned& packets_;
  unsigned came_ = 0;
  std::unique_ptr<SimHub> hub_;
  std::function<void(HubModel&)> bind_;
};

struct Rig {
  unsigned packets = 0;  ///< packets that arrive until the hub of node 1 is reset
  Fabric fabric{rings_of(1, kNodes), windows_of_rings(1, kNodes),
                [this](const Hub::Config& config, std::uint16_t own, unsigned node, Domain& net, Domain& bus) {
                  return node == 1 ? std::make_unique<Forgetful>(config, own, packets)
                                   : Fabric::sim_hub(config, own, node, net, bus);
                }};

  /// The processor of node 0 writes to the memory of node 1.
  void write(int times) {
    for (int i = 0; i < times; ++i)
      fabric.node(0).processor().store(memory_address(1, kProcessor, (1U << 20) + 64 * static_cast<unsigned>(i)),
                                       std::vector<std::byte>(64));
    fabric.run();
  }
};

TEST(Reset, NobodyOwesCreditsInAQuietRing) {
  Rig rig;
  rig.write(100);
  for (const Loss& loss : rig.fabric.report().losses)
    EXPECT_EQ(loss.what.find("credits"), std::string::npos) << loss.what;
}

TEST(Reset, AHubThatIsResetAloneIsReported) {
  Rig rig;
  rig.packets = 60;
  rig.write(100);
  std::vector<std::string> said;
  for (const Loss& loss : rig.fabric.report().losses) said.push_back(loss.what);
  ASSERT_FALSE(said.empty());
  EXPECT_TRUE(std::ranges::any_of(said, [](const std::string& what) {
    return what.starts_with("hub 0 waits for hub 1 to return the credits of ") &&
           what.find("sent out of east") != std::string::npos;
  })) << said.front();
  rig.write(0);
  EXPECT_TRUE(rig.fabric.report().losses.empty()) << "said once";
}

TEST(Reset, AHubWithoutCreditsSaysForWhomItWaits) {
  Rig rig;
  rig.packets = 1;
  std::string said;
  try {
    rig.write(100);
  } catch (const Stuck& stuck) {
    said = stuck.what();
  }
  EXPECT_NE(said.find("hub 0 waits for hub 1 to return the credits of 32 packets sent out of east"), std::string::npos)
      << said;
}

}  // namespace
}  // namespace thalweg::peach2
