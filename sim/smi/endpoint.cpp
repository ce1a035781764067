// SPDX-License-Identifier: Apache-2.0
#include "smi/endpoint.hpp"

#include <stdexcept>

#include "smi/broadcast.hpp"
#include "smi/gather.hpp"
#include "smi/pop.hpp"
#include "smi/push.hpp"
#include "smi/reduce.hpp"
#include "smi/scatter.hpp"

namespace thalweg::smi {

std::unique_ptr<Endpoint> make_endpoint(EndpointKind kind, const Endpoint::Config& config) {
  switch (kind) {
    case EndpointKind::push:
      return std::make_unique<Push>(config);
    case EndpointKind::pop:
      return std::make_unique<Pop>(config);
    case EndpointKind::broadcast:
      return std::make_unique<Broadcast>(config);
    case EndpointKind::scatter:
      return std::make_unique<Scatter>(config);
    case EndpointKind::gather:
      return std::make_unique<Gather>(config);
    case EndpointKind::reduce:
      return std::make_unique<Reduce>(config);
  }
  throw std::invalid_argument("no such endpoint");
}

}  // namespace thalweg::smi
