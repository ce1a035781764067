// SPDX-License-Identifier: Apache-2.0
// The source location of a call.
#pragma once

#include <string>

namespace thalweg::mpi {

/// The file that an instruction was loaded from, without its folder, and the address that it has in that file:
/// `file+0xaddress`; of a call from within the MPI library (Fortran) where the program called that. Called while the call is
/// under way. The same on every rank and in every run, wherever the file is loaded.
const std::string& name_of_site(const void* return_address);

}  // namespace thalweg::mpi
