// SPDX-License-Identifier: Apache-2.0
// The source location of a call.
#pragma once

#include <string>

namespace thalweg::mpi {

/// Call site as `file+0xaddress`: the file that contains the instruction, without its folder, and the address in that file. For
/// a call from within the MPI library (Fortran), the site at which the program called the library. Must be called during the
/// call. The result is the same on every rank and in every run, wherever the file is loaded.
const std::string& name_of_site(const void* return_address);

}  // namespace thalweg::mpi
