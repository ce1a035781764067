// The arithmetic of the network: what an operator does with two elements.
//
// Every result is a function of the two operands' values alone and does not depend on their order:
//  - integers wrap; logical operators give 0 or 1;
//  - floating sums and products are rounded to nearest even, once, and a NaN is the canonical quiet NaN (positive, top
//    fraction bit alone). fp16 is computed in fp32 and rounded: 24 bits are at least 2 * 11 + 2, so the second rounding
//    changes nothing;
//  - min and max: a NaN wins, and is canonical; -0 is smaller than +0. (A software MPI that compares with < gives each
//    rank another result here.)
//  - minloc and maxloc: a NaN wins over every number; among equal values (-0 equals +0) the lowest index wins, at equal
//    index -0 counts as smaller than +0. The winner is kept whole; unused bytes of the pair become zero. Among indices of
//    floating type -0 comes before +0, and a NaN last.
#pragma once

#include <cstddef>

#include "thalweg_spec.hpp"

namespace thalweg {

/// Combines `elements` elements at `operand` into those at `accumulator`. The two must not overlap.
using Lane = void (*)(std::byte* accumulator, const std::byte* operand, std::size_t elements);

/// The lane of an (operator, type) pair; null where the hardware has none (spec::supported).
[[nodiscard]] Lane lane(spec::Operator op, spec::Datatype type);

}  // namespace thalweg
