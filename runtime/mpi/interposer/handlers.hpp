// SPDX-License-Identifier: Apache-2.0
// All handlers that the generated wrappers call.
#pragma once

#include "mpi/interposer/buffers.hpp"
#include "mpi/interposer/intercommunicators.hpp"
#include "mpi/interposer/lifecycle.hpp"
#include "mpi/interposer/message.hpp"
#include "mpi/interposer/movements.hpp"
#include "mpi/interposer/operators.hpp"
#include "mpi/interposer/reductions.hpp"
#include "mpi/interposer/request.hpp"
#include "mpi/interposer/sessions.hpp"
#include "mpi/interposer/software.hpp"
#include "mpi/interposer/topology.hpp"
#include "mpi/interposer/windows_and_files.hpp"
