// SPDX-License-Identifier: Apache-2.0
#include "bisim/bisim.hpp"
#include "blocks/smi/peers.hpp"
#include "smi/scatter.hpp"

namespace {

using Hardware = thalweg::smi::Scatter;
using thalweg::smi::Endpoint;

const Endpoint::Config kConfig{.rank = blocks::kRank, .port = top::Parameters::Port, .packet_bytes = blocks::kBytes};

struct Twin : blocks::EndpointTwin<Hardware> {
  Twin() : EndpointTwin(kConfig) {}
};
struct Stimulus : blocks::Peers<Hardware> {
  explicit Stimulus(bisim::Dice run) : Peers(run, thalweg::smi::EndpointKind::scatter, kConfig) {}
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
