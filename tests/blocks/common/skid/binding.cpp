// SPDX-License-Identifier: Apache-2.0
#include "blocks/handshake.hpp"
#include "common/skid.hpp"

namespace {

using top::Inputs, top::Outputs, top::Parameters;

struct Twin {
  thalweg::Skid<bisim::Word<Parameters::Width>::Value> skid;

  void outputs(const Inputs&, Outputs& out) const {
    out.in_ready_o.set(skid.ready());
    out.out_valid_o.set(skid.valid());
    if (skid.valid()) out.out_data_o.set(skid.front());
  }
  void step(const Inputs& in) {
    const auto word = in.in_data_i.get();
    skid.step(in.in_valid_i.get() ? &word : nullptr, in.out_ready_i.get() != 0);
  }
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, blocks::Handshake>(argc, argv);
}
