// SPDX-License-Identifier: Apache-2.0
// The interposer's requests, and waiting for them together with native MPI requests.
#pragma once

#include <functional>
#include <memory>

#include "mpi/interposer/process.hpp"

namespace thalweg::mpi {

/// Executes the program's call in MPI itself.
using Native = const std::function<int()>&;

/// Result of a request, as reported in its status.
struct Outcome {
  int source = MPI_ANY_SOURCE;
  int tag = MPI_ANY_TAG;
  int error = MPI_SUCCESS;
  bool cancelled = false;
  std::uint64_t bytes = 0;
};
/// Does not change MPI_ERROR: a call with one status returns the error, one with several sets it.
void write_status(MPI_Status* status, const Outcome& outcome);

/// A request of the interposer. Its handle is that of a generalized MPI request, so it can be mixed with native requests.
class Request final : public ReplyHandler {
 public:
  /// Posts the operation and returns its request id.
  using Start = std::function<std::uint64_t()>;
  /// Processes the reply.
  using Finish = std::function<Outcome(const Reply&)>;

  void on_reply(const Reply& reply) override;
  void start();
  /// Completes MPI's part, which the other ranks complete, too.
  void finish_native();
  void free_native();
  /// True if complete in virtual time, or inactive.
  [[nodiscard]] bool complete() const { return !active || (done && done_at <= process().clock()); }

  std::function<int()> admit;  ///< returns an error if it cannot start now; empty: it always can
  Start post;                  ///< empty: it completes as soon as it starts
  Start post_sent;             ///< of an exchange: posts the message that it sends besides; empty: it is none
  Finish finish;
  /// Native request to complete after the reply, if MPI itself moves the data; persistent if this is.
  MPI_Request native = MPI_REQUEST_NULL;
  std::function<int()> after_native;

  MPI_Request handle = MPI_REQUEST_NULL;
  MPI_Comm communicator = MPI_COMM_NULL;  ///< its error handler is called
  bool persistent = false;
  bool active = false;
  bool done = false;
  bool detached = false;  ///< freed by the program while active
  bool receives = false;
  std::uint64_t key = 0;  ///< key in the table of requests: the handle's, until the program frees it
  std::uint64_t id = 0, sent_id = 0;
  unsigned replies = 0;  ///< outstanding
  Time done_at = 0;
  Outcome outcome;
};

/// Creates the handle of a request and starts the request, unless it is persistent.
MPI_Request make_request(std::unique_ptr<Request> request);
/// The request of a handle; nullptr if it is a native one.
Request* find_request(MPI_Request handle);

/// Executes a native test. If `*flag` is not set, lets time pass and the other ranks' MPI make progress, and tests again.
int poll_native(Native native, const int* flag);

/// Reports an error as MPI does: to the communicator's error handler, or to the process's for MPI_COMM_NULL.
int raise(MPI_Comm communicator, int error);
/// True if the communicator's errors are fatal, so that no error handler of the program is called.
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
/// `native`: the MPI library's own function.
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
