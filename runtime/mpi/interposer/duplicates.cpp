// SPDX-License-Identifier: Apache-2.0
#include "mpi/interposer/duplicates.hpp"

#include <algorithm>
#include <deque>

#include "mpi/interposer/process.hpp"

namespace thalweg::mpi {
namespace {

class Duplicates final : public Chores {
 public:
  void add(const std::shared_ptr<Duplicate>& duplicate) { called_.push_back(duplicate); }
  void give_turn(const std::shared_ptr<Duplicate>& duplicate) { turns_.push_back(duplicate); }

  void progress() override {
    if (busy_) return;  // in a callback that copies an attribute
    busy_ = true;
    while (!turns_.empty() && end_first(false)) continue;
    busy_ = false;
  }
  /// Other threads may use the process meanwhile.
  void finish(const Duplicate& duplicate) {
    while (!duplicate.complete()) {
      end_first(!process().threads());
      process().let_others();
    }
  }
  void begin_all() override {
    begin_those([](const Duplicate&) { return true; });
  }
  template <class Wanted>
  void begin_those(Wanted wanted) {
    // In the program's order. A duplicate is removed before it begins, as its callbacks may re-enter this function.
    for (auto next = std::ranges::find_if(called_, [&](const auto& d) { return wanted(*d); }); next != called_.end();
         next = std::ranges::find_if(called_, [&](const auto& d) { return wanted(*d); })) {
      const std::shared_ptr<Duplicate> duplicate = *next;
      called_.erase(next);
      duplicate->begin();
    }
  }

 private:
  bool end_first(bool waits) {
    const std::shared_ptr<Duplicate> first = turns_.front();
    // Duplicates of the same parent are queued in the same order on all ranks.
    if (!first->begun()) begin_those([&](const Duplicate& other) { return &other == first.get(); });
    if (!first->end(waits)) return false;
    turns_.pop_front();
    return true;
  }

  std::deque<std::shared_ptr<Duplicate>> called_;  ///< not begun, in the program's order
  std::deque<std::shared_ptr<Duplicate>> turns_;   ///< requested by all members, not complete
  bool busy_ = false;
};

Duplicates& duplicates() {
  static auto* const all = [] {
    auto* made = new Duplicates;
    process().care_for(made);
    return made;
  }();
  return *all;
}

}  // namespace

Duplicate::Duplicate(MPI_Comm parent, MPI_Info info, MPI_Comm* made) : parent_(parent), made_(made) {
  if (info != MPI_INFO_NULL) PMPI_Info_dup(info, &info_);
}

Duplicate::~Duplicate() {
  if (info_ != MPI_INFO_NULL) PMPI_Info_free(&info_);
}

void Duplicate::begin() {
  begun_ = true;
  process().begin_native();
#if MPI_VERSION >= 4
  if (info_ != MPI_INFO_NULL) {
    error_ = PMPI_Comm_idup_with_info(parent_, info_, made_, &request_);
    return;
  }
#endif
  error_ = PMPI_Comm_idup(parent_, made_, &request_);
}

bool Duplicate::end(bool waits) {
  int flag = 1;
  if (error_ == MPI_SUCCESS)
    error_ = waits ? PMPI_Wait(&request_, MPI_STATUS_IGNORE) : PMPI_Test(&request_, &flag, MPI_STATUS_IGNORE);
  if (error_ == MPI_SUCCESS && flag == 0) return false;
  process().end_native();
  return complete_ = true;
}

std::shared_ptr<Duplicate> call_for_duplicate(MPI_Comm parent, MPI_Info info, MPI_Comm* made) {
  auto duplicate = std::make_shared<Duplicate>(parent, info, made);
  duplicates().add(duplicate);
  return duplicate;
}

void give_turn(const std::shared_ptr<Duplicate>& duplicate) {
  duplicates().give_turn(duplicate);
}

int finish(const Duplicate& duplicate) {
  process().begin_native();
  duplicates().finish(duplicate);
  process().end_native();
  return duplicate.error();
}

void begin_duplicates(MPI_Comm parent) {
  duplicates().begin_those([&](const Duplicate& duplicate) { return duplicate.parent() == parent; });
}

}  // namespace thalweg::mpi
