// SPDX-License-Identifier: Apache-2.0
// The session fields of a frame, on a port of the RTL.
#pragma once

#include "link/session.hpp"

namespace blocks {

template <class Port>
void put_session(Port& port, const thalweg::SessionFields& fields) {
  port.set({.lost = fields.lost,
            .up = fields.up,
            .echo_valid = fields.echo_valid,
            .echo = fields.echo,
            .number = fields.number});
}

template <class Port>
[[nodiscard]] thalweg::SessionFields get_session(const Port& port) {
  const auto fields = port.get();
  return {.lost = fields.lost != 0,
          .up = fields.up != 0,
          .echo_valid = fields.echo_valid != 0,
          .echo = fields.echo != 0,
          .number = fields.number != 0};
}

}  // namespace blocks
