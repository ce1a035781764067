// SPDX-License-Identifier: Apache-2.0
#include "smi/endpoint.hpp"

#include <stdexcept>

#include "smi/pop.hpp"
#include "smi/push.hpp"

namespace thalweg::smi {

std::unique_ptr<Endpoint> make_endpoint(EndpointKind kind, const Endpoint::Config& config) {
  switch (kind) {
    case EndpointKind::push:
      return std::make_unique<Push>(config);
    case EndpointKind::pop:
      return std::make_unique<Pop>(config);
    default:
      throw std::invalid_argument("no such endpoint");
  }
}

}  // namespace thalweg::smi
