// SPDX-License-Identifier: Apache-2.0
#include "mpi/interposer/request.hpp"

#include <algorithm>

namespace thalweg::mpi {
namespace {

std::unordered_map<std::uint64_t, std::unique_ptr<Request>>& requests_by_handle() {
  static auto* const requests = new std::unordered_map<std::uint64_t, std::unique_ptr<Request>>;
  return *requests;
}

int no_query(void*, MPI_Status*) {
  return MPI_SUCCESS;
}
int no_free(void*) {
  return MPI_SUCCESS;
}
int no_cancel(void*, int) {
  return MPI_SUCCESS;
}

void drop_handle(MPI_Request handle) {
  PMPI_Grequest_complete(handle);
  PMPI_Wait(&handle, MPI_STATUS_IGNORE);
}

/// Ends a complete request like Wait and Test: writes its status, returns its error, and frees its handle unless persistent.
/// If it is not `alone`, the error is reported in its status only.
int retire(MPI_Request* handle, MPI_Status* status, bool alone) {
  Request& request = *find_request(*handle);
  if (!request.active) {
    write_status(status, {});
    return MPI_SUCCESS;
  }
  process().wait_until(request.done_at);
  request.finish_native();
  write_status(status, request.outcome);
  const int error = request.outcome.error;
  const MPI_Comm communicator = request.communicator;
  request.active = request.done = false;
  if (!request.persistent) {
    drop_handle(request.handle);
    requests_by_handle().erase(request.key);
    *handle = MPI_REQUEST_NULL;
  }
  return error == MPI_SUCCESS || !alone ? error : raise(communicator, error);
}

/// An array of requests, the interposer's and native ones.
class Mixed {
 public:
  /// For read-only use.
  Mixed(int count, const MPI_Request* handles) : Mixed(count, const_cast<MPI_Request*>(handles)) {}
  Mixed(int count, MPI_Request* handles) : handles_(handles, static_cast<std::size_t>(std::max(count, 0))) {
    for (std::size_t i = 0; i < handles_.size(); ++i) {
      Request* request = handles_[i] == MPI_REQUEST_NULL ? nullptr : find_request(handles_[i]);
      ours_.push_back(request);
      natives_.push_back(request ? MPI_REQUEST_NULL : handles_[i]);
      any_native_ = any_native_ || natives_.back() != MPI_REQUEST_NULL;
    }
  }

  [[nodiscard]] int size() const { return static_cast<int>(handles_.size()); }
  [[nodiscard]] bool any_native() const { return any_native_; }
  [[nodiscard]] bool ours(std::size_t i) const { return ours_[i] != nullptr; }
  [[nodiscard]] bool any_active() const {
    return std::ranges::any_of(ours_, [](const Request* request) { return request && request->active; });
  }
  [[nodiscard]] bool complete() const {
    return std::ranges::all_of(ours_, [](const Request* request) { return !request || request->complete(); });
  }
  /// True if request `i` is ours, active and complete.
  [[nodiscard]] bool complete(int i) const {
    const Request* request = ours_[static_cast<std::size_t>(i)];
    return request && request->active && request->complete();
  }
  /// The first of ours that is active and complete, or size().
  [[nodiscard]] int first_complete() const {
    return static_cast<int>(
        std::ranges::find_if(ours_, [](const Request* r) { return r && r->active && r->complete(); }) - ours_.begin());
  }
  [[nodiscard]] std::vector<std::uint64_t> awaited() const {
    std::vector<std::uint64_t> ids;
    for (const Request* request : ours_)
      if (request && request->active && !request->done) ids.push_back(request->id);
    return ids;
  }
  /// Earliest completion time of our active requests that are done; may be later than the rank's clock.
  [[nodiscard]] Time next_done() const {
    Time next = kForever;
    for (const Request* request : ours_)
      if (request && request->active && request->done) next = std::min(next, request->done_at);
    return next;
  }
  /// The same for requests that are not complete yet: the server may report completions ahead of their time.
  [[nodiscard]] Time next_to_complete() const {
    Time next = kForever;
    for (const Request* request : ours_)
      if (request && request->done && !request->complete()) next = std::min(next, request->done_at);
    return next;
  }
  MPI_Request* natives() { return natives_.data(); }
  /// Copies native handles, which may have been completed, back into the program's array.
  void store_natives() {
    for (std::size_t i = 0; i < handles_.size(); ++i)
      if (!ours_[i]) handles_[i] = natives_[i];
  }
  /// Result of one of our requests; empty if inactive.
  [[nodiscard]] Outcome outcome(int i) const {
    const Request* request = ours_[static_cast<std::size_t>(i)];
    return request->active ? request->outcome : Outcome{};
  }
  /// Waits for a native request, which may be null.
  int end_native_at(int i, MPI_Status* status) {
    const auto at = static_cast<std::size_t>(i);
    const int error = PMPI_Wait(&natives_[at], status);
    handles_[at] = natives_[at];
    return error;
  }
  /// Retires one of our requests and removes it from this object.
  int retire_at(int i, MPI_Status* status, bool alone = true) {
    ours_[static_cast<std::size_t>(i)] = nullptr;
    return retire(&handles_[static_cast<std::size_t>(i)], status, alone);
  }

  /// Lets time pass until one more of our requests is done; only one poll if there are native requests, too.
  void wait_for_one() {
    if (const Time next = next_done(); next != kForever) return process().wait_until(next);
    if (any_native_)
      poll();
    else
      process().park(awaited(), 1, kForever);
  }
  void wait_for_all() {
    for (std::vector<std::uint64_t> ids = awaited(); !ids.empty(); ids = awaited())
      process().park(ids, static_cast<std::uint32_t>(ids.size()), kForever);
  }
  /// Native requests may need progress of MPI on other ranks.
  void poll() {
    const auto look = [&] { return process().poll(awaited(), next_to_complete()), MPI_SUCCESS; };
    any_native_ ? process().natively(look) : look();
  }

 private:
  std::span<MPI_Request> handles_;
  std::vector<Request*> ours_;
  std::vector<MPI_Request> natives_;
  bool any_native_ = false;
};

MPI_Status* entry(MPI_Status* statuses, int i) {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + i;
}

int error_class(int error) {
  PMPI_Error_class(error, &error);
  return error;
}

/// Errors of several requests, for their statuses.
class Errors {
 public:
  explicit Errors(int count) : errors_(static_cast<std::size_t>(count)) {}
  void set(int i, int error) {
    errors_[static_cast<std::size_t>(i)] = error;
    failed_ = failed_ || error != MPI_SUCCESS;
  }
  /// The same for a native request, whose error MPI has already reported to its error handler.
  void set_reported(int i, int error) {
    set(i, error);
    reported_ = reported_ || error != MPI_SUCCESS;
  }
  /// Writes the errors of `count` statuses, and returns the call's error.
  [[nodiscard]] int write(MPI_Status* statuses, int count) const {
    for (int i = 0; i < count && statuses != MPI_STATUSES_IGNORE; ++i)
      statuses[i].MPI_ERROR = errors_[static_cast<std::size_t>(i)];
    if (!failed_) return MPI_SUCCESS;
    return reported_ ? MPI_ERR_IN_STATUS : raise(MPI_COMM_NULL, MPI_ERR_IN_STATUS);
  }

 private:
  std::vector<int> errors_;
  bool failed_ = false, reported_ = false;
};

/// Sets `*flag` if all native requests are complete.
int natives_complete(Mixed& mixed, int* flag) {
  *flag = 1;
  for (const MPI_Request native : std::span(mixed.natives(), static_cast<std::size_t>(mixed.size()))) {
    if (native == MPI_REQUEST_NULL) continue;
    if (const int error = PMPI_Request_get_status(native, flag, MPI_STATUS_IGNORE); error || !*flag) return error;
  }
  return MPI_SUCCESS;
}

/// Completes all requests; native ones may block if `waits`. They are completed one by one, because MPICH's Testall fails
/// for persistent collectives (5.0.2).
int retire_all(Mixed& mixed, bool waits, MPI_Status* statuses) {
  Errors errors(mixed.size());
  const auto end_natives = [&] {
    for (int i = 0; i < mixed.size(); ++i)
      if (!mixed.ours(static_cast<std::size_t>(i))) errors.set_reported(i, mixed.end_native_at(i, entry(statuses, i)));
    return MPI_SUCCESS;
  };
  waits ? process().aside(end_natives) : end_natives();
  for (int i = 0; i < mixed.size(); ++i)
    if (mixed.ours(static_cast<std::size_t>(i))) errors.set(i, mixed.retire_at(i, entry(statuses, i), false));
  return errors.write(statuses, mixed.size());
}

/// Copies a status except for MPI_ERROR, which calls with one status do not set.
void take_over(MPI_Status* status, const MPI_Status& seen) {
  if (status == MPI_STATUS_IGNORE) return;
  const int error = status->MPI_ERROR;
  *status = seen;
  status->MPI_ERROR = error;
}

/// One pass of Testany; `*found` is false if none is complete.
int pick_any(Mixed& mixed, int* index, bool* found, MPI_Status* status) {
  *found = true;
  if (const int first = mixed.first_complete(); first < mixed.size()) {
    *index = first;
    return mixed.retire_at(first, status);
  }
  int flag = 0;
  MPI_Status seen;
  const int error = PMPI_Testany(mixed.size(), mixed.natives(), index, &flag, &seen);
  mixed.store_natives();
  *found = error != MPI_SUCCESS || (flag && (*index != MPI_UNDEFINED || !mixed.any_active()));
  if (*found && flag) take_over(status, seen);
  return error;
}

/// One pass of Testsome; `*count` is 0 if none is complete.
int pick_some(Mixed& mixed, int* count, int* indices, MPI_Status* statuses) {
  const int error = PMPI_Testsome(mixed.size(), mixed.natives(), count, indices, statuses);
  mixed.store_natives();
  if (*count == MPI_UNDEFINED) {
    if (!mixed.any_active()) return error;
    *count = 0;
  }
  if (error != MPI_SUCCESS && error_class(error) != MPI_ERR_IN_STATUS) return error;
  Errors errors(mixed.size());
  for (int i = 0; i < *count && error != MPI_SUCCESS; ++i)
    errors.set_reported(i, statuses == MPI_STATUSES_IGNORE ? error : statuses[i].MPI_ERROR);
  for (int i = mixed.first_complete(); i < mixed.size(); i = mixed.first_complete()) {
    errors.set(*count, mixed.retire_at(i, entry(statuses, *count), false));
    indices[(*count)++] = i;
  }
  return errors.write(statuses, *count);
}

}  // namespace

void write_status(MPI_Status* status, const Outcome& outcome) {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = outcome.source;
  status->MPI_TAG = outcome.tag;
  PMPI_Status_set_elements_x(status, MPI_BYTE, static_cast<MPI_Count>(outcome.bytes));
  PMPI_Status_set_cancelled(status, outcome.cancelled);
}

void Request::on_reply(const Reply& reply) {
  const bool of_sent = post_sent && reply.id == sent_id;
  if (!of_sent) outcome = finish(reply);
  done_at = std::max(done_at, reply.at);
  if (--replies != 0) {
    if (!of_sent) id = sent_id;
    return;
  }
  done = true;
  if (!detached) return;
  finish_native();
  free_native();
  requests_by_handle().erase(key);
}

void Request::finish_native() {
  if (native != MPI_REQUEST_NULL)
    if (const int error = process().natively([&] { return PMPI_Wait(&native, MPI_STATUS_IGNORE); }))
      outcome.error = error;
  if (after_native)
    if (const int error = after_native()) outcome.error = error;
}

void Request::free_native() {
  if (native != MPI_REQUEST_NULL) PMPI_Request_free(&native);
}

void Request::start() {
  active = true;
  done = !post;
  done_at = process().clock();
  if (done) return;
  id = post();
  replies = 1;
  process().listen(id, this);
  if (!post_sent) return;
  sent_id = post_sent();
  ++replies;
  process().listen(sent_id, this);
}

MPI_Request make_request(std::unique_ptr<Request> request) {
  PMPI_Grequest_start(no_query, no_free, no_cancel, nullptr, &request->handle);
  if (!request->persistent && !request->done) request->start();
  const MPI_Request handle = request->handle;
  request->key = key_of(handle);
  requests_by_handle()[request->key] = std::move(request);
  return handle;
}

Request* find_request(MPI_Request handle) {
  const auto found = requests_by_handle().find(key_of(handle));
  return found == requests_by_handle().end() ? nullptr : found->second.get();
}

bool is_fatal(MPI_Comm communicator) {
  MPI_Errhandler handler = MPI_ERRORS_ARE_FATAL;
  PMPI_Comm_get_errhandler(communicator, &handler);
  bool fatal = handler == MPI_ERRORS_ARE_FATAL;
#ifdef MPI_ERRORS_ABORT
  fatal = fatal || handler == MPI_ERRORS_ABORT;
#endif
  if (!fatal) PMPI_Errhandler_free(&handler);
  return fatal;
}

int raise(MPI_Comm communicator, int error) {
  if (communicator == MPI_COMM_NULL) {
    // MPI-4 uses the error handler of MPI_COMM_SELF; older programs set the one of MPI_COMM_WORLD.
    MPI_Errhandler own = MPI_ERRORS_ARE_FATAL;
    PMPI_Comm_get_errhandler(own_communicator, &own);
    const bool of_world = own == MPI_ERRORS_ARE_FATAL && own_communicator == MPI_COMM_SELF;
    communicator = of_world ? MPI_COMM_WORLD : own_communicator;
    if (own != MPI_ERRORS_ARE_FATAL) PMPI_Errhandler_free(&own);
  }
  if (is_fatal(communicator)) process().fail(error_class(error));  // before MPI makes the launcher kill all ranks
  PMPI_Comm_call_errhandler(communicator, error);
  return error;
}

int poll_native(Native native, const int* flag) {
  int error = native();
  if (error != MPI_SUCCESS || *flag != 0 || !process().joined()) return error;
  process().natively([&] {
    process().poll({});
    return error = native();
  });
  return error;
}

namespace on {

int Wait(MPI_Request* request, MPI_Status* status) {
  Mixed mixed(1, request);
  if (mixed.any_native() || !mixed.ours(0)) {
    int flag = 0;
    const int error = PMPI_Test(request, &flag, status);
    return flag || error ? error : process().aside([&] { return PMPI_Wait(request, status); });
  }
  mixed.wait_for_all();
  return mixed.retire_at(0, status);
}

int Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  Mixed mixed(count, requests);
  mixed.wait_for_all();
  int flag = 0;
  if (const int error = natives_complete(mixed, &flag)) return error;
  return retire_all(mixed, !flag, statuses);
}

int Waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
  Mixed mixed(count, requests);
  for (;;) {
    bool found = false;
    const int error = pick_any(mixed, index, &found, status);
    if (found) return error;
    if (!mixed.any_active()) return process().aside([&] { return PMPI_Waitany(count, requests, index, status); });
    mixed.wait_for_one();
  }
}

int Waitsome(int count, MPI_Request* requests, int* found, int* indices, MPI_Status* statuses) {
  Mixed mixed(count, requests);
  for (;;) {
    const int error = pick_some(mixed, found, indices, statuses);
    if (*found != 0) return error;
    if (!mixed.any_active())
      return process().aside([&] { return PMPI_Waitsome(count, requests, found, indices, statuses); });
    mixed.wait_for_one();
  }
}

int Test(MPI_Request* request, int* flag, MPI_Status* status) {
  Mixed mixed(1, request);
  *flag = 0;
  for (int pass = 0; pass < 2; ++pass) {
    if (!mixed.ours(0)) {
      if (const int error = PMPI_Test(request, flag, status); error || *flag) return error;
    } else if (mixed.complete()) {
      *flag = 1;
      return mixed.retire_at(0, status);
    }
    if (pass == 0) mixed.poll();
  }
  return MPI_SUCCESS;
}

int Testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  Mixed mixed(count, requests);
  *flag = 0;
  for (int pass = 0; pass < 2; ++pass) {
    if (mixed.complete()) {
      if (const int error = natives_complete(mixed, flag)) return error;
      if (*flag) return retire_all(mixed, false, statuses);
    }
    if (pass == 0) mixed.poll();
  }
  return MPI_SUCCESS;
}

int Testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  Mixed mixed(count, requests);
  bool found = false;
  int error = pick_any(mixed, index, &found, status);
  if (!found) {
    mixed.poll();
    error = pick_any(mixed, index, &found, status);
  }
  *flag = found;
  if (!found) *index = MPI_UNDEFINED;
  return error;
}

int Testsome(int count, MPI_Request* requests, int* found, int* indices, MPI_Status* statuses) {
  Mixed mixed(count, requests);
  const int error = pick_some(mixed, found, indices, statuses);
  if (*found != 0) return error;
  mixed.poll();
  return pick_some(mixed, found, indices, statuses);
}

int Start(Native native, MPI_Request* request) {
  Request* ours = *request == MPI_REQUEST_NULL ? nullptr : find_request(*request);
  if (ours == nullptr) return native();
  if (!ours->persistent || ours->active) return raise(ours->communicator, MPI_ERR_REQUEST);
  if (ours->admit)
    if (const int error = ours->admit()) return raise(ours->communicator, error);
  ours->start();
  return MPI_SUCCESS;
}

int Startall(int count, MPI_Request* requests) {
  for (int i = 0; i < count; ++i)
    if (const int error = Start([&] { return PMPI_Start(&requests[i]); }, &requests[i])) return error;
  return MPI_SUCCESS;
}

int Request_free(Native native, MPI_Request* request) {
  Request* ours = *request == MPI_REQUEST_NULL ? nullptr : find_request(*request);
  if (ours == nullptr) return native();
  drop_handle(ours->handle);
  auto& all = requests_by_handle();
  auto owned = all.extract(key_of(*request));
  *request = MPI_REQUEST_NULL;
  if (ours->done && ours->active) ours->finish_native();
  if (!ours->active || ours->done) {
    ours->free_native();
    return MPI_SUCCESS;
  }
  // It still completes; until then it is stored under a key that is no handle's.
  static std::uint64_t detached = 0;
  ours->detached = true;
  ours->key = owned.key() = ~detached++;
  all.insert(std::move(owned));
  return MPI_SUCCESS;
}

int Request_get_status(Native native, MPI_Request request, int* flag, MPI_Status* status) {
  Request* ours = request == MPI_REQUEST_NULL ? nullptr : find_request(request);
  if (ours == nullptr) return poll_native(native, flag);
  if (!ours->complete())
    process().poll(std::span(&ours->id, ours->done ? 0 : 1), ours->done ? ours->done_at : kForever);
  *flag = ours->complete();
  if (*flag) write_status(status, ours->active ? ours->outcome : Outcome{});
  return MPI_SUCCESS;
}

int Request_get_status_all(int count, const MPI_Request* requests, int* flag, MPI_Status* statuses) {
  Mixed mixed(count, requests);
  *flag = 0;
  for (int pass = 0; pass < 2 && !*flag; ++pass) {
    if (pass == 1) mixed.poll();
    *flag = mixed.complete();
    for (int i = 0; i < mixed.size() && *flag; ++i) {
      if (mixed.ours(static_cast<std::size_t>(i)))
        write_status(entry(statuses, i), mixed.outcome(i));
      else if (const int error = PMPI_Request_get_status(mixed.natives()[i], flag, entry(statuses, i)))
        return error;
    }
  }
  return MPI_SUCCESS;
}

int Request_get_status_any(GetStatusAny* native, int count, const MPI_Request* requests, int* index, int* flag,
                           MPI_Status* status) {
  Mixed mixed(count, requests);
  for (int pass = 0; pass < 2; ++pass) {
    if (pass == 1) mixed.poll();
    if (*index = mixed.first_complete(); *index < mixed.size()) {
      *flag = 1;
      write_status(status, mixed.outcome(*index));
      return MPI_SUCCESS;
    }
    MPI_Status seen;
    const int error = native(count, mixed.natives(), index, flag, &seen);
    if (error || (*flag && (*index != MPI_UNDEFINED || !mixed.any_active()))) {
      if (*flag) take_over(status, seen);
      return error;
    }
  }
  *flag = 0;
  *index = MPI_UNDEFINED;
  return MPI_SUCCESS;
}

int Request_get_status_some(GetStatusSome* native, int count, const MPI_Request* requests, int* found, int* indices,
                            MPI_Status* statuses) {
  Mixed mixed(count, requests);
  // Complete requests remain in the array, so a poll is needed for time to pass for a program that waits for another one.
  if (!mixed.complete() || mixed.any_native()) mixed.poll();
  const int error = native(count, mixed.natives(), found, indices, statuses);
  if (error || (*found == MPI_UNDEFINED && !mixed.any_active())) return error;
  if (*found == MPI_UNDEFINED) *found = 0;
  for (int i = 0; i < mixed.size(); ++i) {
    if (!mixed.complete(i)) continue;
    write_status(entry(statuses, *found), mixed.outcome(i));
    indices[(*found)++] = i;
  }
  return MPI_SUCCESS;
}

int Cancel(Native native, MPI_Request* request) {
  Request* ours = find_request(*request);
  if (ours == nullptr) return native();
  if (!ours->receives || !ours->active) return MPI_SUCCESS;
  Submission part;
  part.action = Action::cancel;
  part.peer_id = ours->id;
  process().post(part, false);
  return MPI_SUCCESS;
}

}  // namespace on
}  // namespace thalweg::mpi
