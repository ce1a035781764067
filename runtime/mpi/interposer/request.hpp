// SPDX-License-Identifier: Apache-2.0
// The interposer's requests, and waiting for them together with MPI's own.
#pragma once

#include <functional>
#include <memory>

#include "mpi/interposer/process.hpp"

namespace thalweg::mpi {

/// The program's call as MPI itself would execute it.
using Native = const std::function<int()>&;

/// What a request came to: what its status will say.
struct Outcome {
  int source = MPI_ANY_SOURCE;
  int tag = MPI_ANY_TAG;
  int error = MPI_SUCCESS;
  bool cancelled = false;
  std::uint64_t bytes = 0;
};
/// Leaves the status's error as it is: a call with one status returns it, one with several sets it.
void write_status(MPI_Status* status, const Outcome& outcome);

/// Its handle is that of a generalized request which MPI holds for us, so that it is one among MPI's own.
class Request final : public ReplyHandler {
 public:
  /// Posts what it stands for, and returns the number to listen for.
  using Start = std::function<std::uint64_t()>;
  /// Takes in the reply.
  using Finish = std::function<Outcome(const Reply&)>;

  void on_reply(const Reply& reply) override;
  void start();
  /// Completes MPI's part, which its other ranks complete, too.
  void finish_native();
  void free_native();
  /// Complete in virtual time; an inactive one always is.
  [[nodiscard]] bool complete() const { return !active || (done && done_at <= process().clock()); }

  std::function<int()> admit;  ///< an error where it cannot be started now; nothing where it always can
  Start post;                  ///< nothing where it is complete as soon as it is started
  Finish finish;
  /// What MPI itself has yet to complete after the reply, where the data goes by it; persistent where this is.
  MPI_Request native = MPI_REQUEST_NULL;
  std::function<int()> after_native;

  MPI_Request handle = MPI_REQUEST_NULL;
  MPI_Comm communicator = MPI_COMM_NULL;  ///< whose error handler is called
  bool persistent = false;
  bool active = false;
  bool done = false;
  bool detached = false;  ///< freed by the program while active
  bool receives = false;
  std::uint64_t key = 0;  ///< under which it is kept: the handle's, while the program has that
  std::uint64_t id = 0;
  Time done_at = 0;
  Outcome outcome;
};

/// A request with a handle; started, unless it is persistent.
MPI_Request make_request(std::unique_ptr<Request> request);
/// The one of a handle; nothing where it is MPI's own.
Request* find_request(MPI_Request handle);

/// A look at what MPI itself does for this rank: where it is not complete time passes, and the other ranks' MPI gets on.
int poll_native(Native native, const int* flag);

/// Reports an error as MPI does: to the communicator's handler; one of no communicator's to the process's.
int raise(MPI_Comm communicator, int error);
/// True where an error ends the program: no handler of its own hears of it.
bool is_fatal(MPI_Comm communicator);

namespace on {

int Wait(MPI_Request* request, MPI_Status* status);
int Waitall(int count, MPI_Request* requests, MPI_Status* statuses);
int Waitany(int count, MPI_Request* requests, int* index, MPI_Status* status);
int Waitsome(int count, MPI_Request* requests, int* found, int* indices, MPI_Status* statuses);
int Test(MPI_Request* request, int* flag, MPI_Status* status);
int Testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses);
int Testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status);
int Testsome(int count, MPI_Request* requests, int* found, int* indices, MPI_Status* statuses);
int Start(Native native, MPI_Request* request);
int Startall(int count, MPI_Request* requests);
int Request_free(Native native, MPI_Request* request);
int Request_get_status(Native native, MPI_Request request, int* flag, MPI_Status* status);
int Request_get_status_all(int count, const MPI_Request* requests, int* flag, MPI_Status* statuses);
/// `native`: the library's own, where it has it.
using GetStatusAny = int(int, const MPI_Request*, int*, int*, MPI_Status*);
int Request_get_status_any(GetStatusAny* native, int count, const MPI_Request* requests, int* index, int* flag,
                           MPI_Status* status);
using GetStatusSome = int(int, const MPI_Request*, int*, int*, MPI_Status*);
int Request_get_status_some(GetStatusSome* native, int count, const MPI_Request* requests, int* found, int* indices,
                            MPI_Status* statuses);
int Cancel(Native native, MPI_Request* request);
inline int Parrived(Native native, const int* flag) {
  return poll_native(native, flag);
}

}  // namespace on
}  // namespace thalweg::mpi
