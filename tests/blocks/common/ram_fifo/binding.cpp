// SPDX-License-Identifier: Apache-2.0
#include "blocks/fifo_twin.hpp"
#include "common/ram_fifo.hpp"

int main(int argc, char** argv) {
  using Fifo = thalweg::RamFifo<bisim::Word<top::Parameters::Width>::Value>;
  return bisim::main<blocks::FifoTwin<Fifo>, blocks::Handshake>(argc, argv);
}
