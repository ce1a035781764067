// SPDX-License-Identifier: Apache-2.0
// Loads a generated top over AXI4-Lite with what its generated header would write, and reads its registers and an element back.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

#include "Vsmi_app.h"
#include "smi_app.h"

namespace {

Vsmi_app top;
std::mt19937 draw(1);

void tick() {
  top.clk_i = 0;
  top.eval();
  top.clk_i = 1;
  top.eval();
}

/// Address and data come in any order, and the answer is taken when it pleases.
unsigned write(unsigned address, unsigned data) {
  bool addressed = false, given = false;
  top.s_axil_awaddr = address;
  top.s_axil_wdata = data;
  for (int cycle = 0; cycle < 200; ++cycle) {
    top.s_axil_awvalid = !addressed && (top.s_axil_awvalid || draw() % 2);
    top.s_axil_wvalid = !given && (top.s_axil_wvalid || draw() % 2);
    top.s_axil_bready = draw() % 2;
    top.eval();
    const bool takes_address = top.s_axil_awvalid && top.s_axil_awready,
               takes_data = top.s_axil_wvalid && top.s_axil_wready;
    const bool done = top.s_axil_bvalid && top.s_axil_bready;
    const unsigned answer = top.s_axil_bresp;
    tick();
    addressed |= takes_address;
    given |= takes_data;
    if (done) {
      top.s_axil_awvalid = top.s_axil_wvalid = top.s_axil_bready = 0;
      return answer;
    }
  }
  std::puts("a write has no answer");
  std::exit(1);
}

void read(unsigned address) {
  top.s_axil_araddr = address;
  top.s_axil_arvalid = 1;
  top.s_axil_rready = 0;
  tick();
  top.s_axil_arvalid = 0;
  for (unsigned wait = draw() % 3; wait-- > 0;) tick();
  std::printf("read %x %u %u %u\n", address, unsigned{top.s_axil_rvalid}, unsigned{top.s_axil_rdata},
              unsigned{top.s_axil_rresp});
  top.s_axil_rready = 1;
  tick();
  top.s_axil_rready = 0;
}

}  // namespace

int main() {
  static uint8_t send[SMI_APP_LINKS][SMI_APP_SEND_ENTRIES];
  for (auto& table : send)
    for (auto& entry : table) entry = static_cast<uint8_t>(draw());
  std::vector<uint32_t> words(0x8010 / 4, 0xDEAD0000);
  smi_app_load(words.data(), 5, send);
  top.rst_i = 1;
  tick();
  tick();
  top.rst_i = 0;
  for (unsigned i = 0; i < words.size(); ++i)
    if (words[i] != 0xDEAD0000 && write(4 * i, words[i]) != 0) std::printf("refused %x\n", 4 * i);
  for (unsigned link = 0; link < SMI_APP_LINKS; ++link)
    for (unsigned i = 0; i < SMI_APP_SEND_ENTRIES; ++i)
      std::printf("sent %u %u %u\n", link, i, unsigned{send[link][i]});
  std::printf("wrong address %u\n", write(SMI_APP_LINKS * SMI_APP_LINK_STRIDE, 1));
  for (const unsigned address : {0x8000u, 0x8004u, 0x8008u, 0x800Cu, 0x0u}) read(address);
  top.eval();
  std::printf("element %u\n", unsigned{top.m_axis_gather_3_tdata});
}
