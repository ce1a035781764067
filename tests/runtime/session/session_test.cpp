// SPDX-License-Identifier: Apache-2.0
// How far does time advance, and which client proceeds when? On an engine whose operations end at given times.
#include "session/session.hpp"

#include <gtest/gtest.h>

#include <map>

namespace thalweg::session {
namespace {

class Delays final : public Engine {
 public:
  void begin(Handle handle, Tick at) { due_.emplace(at, handle); }
  [[nodiscard]] Tick now() const override { return now_; }
  [[nodiscard]] std::int64_t ticks_per_second() const override { return 1'000'000; }
  void advance(Tick until, std::vector<Completion>& completed) override {
    if (due_.empty() || due_.begin()->first >= until) {
      now_ = std::max(now_, until);
      return;
    }
    const auto [at, handle] = *due_.begin();
    due_.erase(due_.begin());
    now_ = std::max(now_, at);
    completed.push_back({handle, at});
  }
  [[nodiscard]] bool idle() const override { return due_.empty(); }
  [[nodiscard]] std::vector<Blocked> blocked() const override { return {}; }
  [[nodiscard]] std::vector<Lost> lost() const override { return {}; }

 private:
  Tick now_ = 0;
  std::multimap<Tick, Handle> due_;
};

struct Request {
  std::uint64_t id = 0;
};
struct Reply {
  std::uint64_t id = 0;
  Tick at = 0;
};

class Sessions : public ::testing::Test {
 protected:
  /// A request of the client that completes at time `at`.
  void ask(unsigned client, std::uint64_t id, Tick at) {
    session.request(client, {id});
    engine.begin(
        timeline.expect([this, client, id](const Completion& done) { session.complete(client, {id, done.at}); }), at);
  }
  void park(unsigned client, Tick at, std::vector<std::uint64_t> ids, std::uint32_t need, Tick until = kNever) {
    session.park(client, at, {.ids = ids, .need = need, .until = until});
  }
  std::vector<unsigned> run(Tick earliest = kNever) {
    session.run(earliest, [] { return kNever; });
    return session.take_ready();
  }
  using Clients = std::vector<unsigned>;

  Delays engine;
  queue::Timeline timeline{engine};
  Session<Request, Reply> session{timeline, 3, 10};
};

TEST_F(Sessions, AClientGoesOnWhenAsManyRequestsAreCompleteAsItNeeds) {
  ask(0, 1, 30);
  ask(0, 2, 50);
  ask(0, 3, 40);
  park(0, 5, {1, 2, 3}, 2);
  EXPECT_EQ(run(), Clients{0});
  EXPECT_EQ(session.clock(0), 40);
  EXPECT_EQ(session.since(0), 5);
  EXPECT_EQ(session.outbox(0).size(), 2u);
  EXPECT_NE(session.pending(0, 2), nullptr);
  EXPECT_EQ(session.pending(0, 3), nullptr);
}

TEST_F(Sessions, EachClientOfAnOwnerMayWaitForItsRequests) {
  const unsigned second = session.add_client(0);
  ask(0, 1, 30);
  ask(0, 2, 50);
  park(0, 5, {2}, 1);
  park(second, 7, {1}, 1);
  EXPECT_EQ(run(), Clients{second});
  EXPECT_EQ(session.clock(second), 30);
  park(second, 31, {2}, 1);
  EXPECT_EQ(run(), (Clients{0, second}));
  EXPECT_EQ(session.clock(0), 50);
  EXPECT_EQ(session.clock(second), 50);
  EXPECT_EQ(session.outbox(0).size(), 2u);
}

TEST_F(Sessions, TimeDoesNotPassWhatAClientThatRunsMayStillDo) {
  ask(0, 1, 100);
  park(0, 0, {1}, 1);
  EXPECT_EQ(run(20), Clients{});
  EXPECT_EQ(engine.now(), 30);  // 20, and the lookahead
  EXPECT_EQ(run(95), Clients{0});
}

TEST_F(Sessions, WhoGoesOnHoldsUpTheOthers) {
  ask(0, 1, 20);
  ask(1, 1, 25);
  ask(2, 1, 60);
  for (unsigned client = 0; client < 3; ++client) park(client, 0, {1}, 1);
  EXPECT_EQ(run(), (Clients{0, 1}));  // the second one within the lookahead of the first
  EXPECT_EQ(engine.now(), 30);
  EXPECT_TRUE(session.is_parked(2));
}

TEST_F(Sessions, AnAlarmOfAnEarlierParkingWakesNobody) {
  ask(0, 1, 20);
  park(0, 0, {1}, 1, 50);
  EXPECT_EQ(run(), Clients{0});
  ask(0, 2, 80);
  park(0, 22, {2}, 1);
  EXPECT_EQ(run(), Clients{0});
  EXPECT_EQ(session.clock(0), 80);
}

TEST_F(Sessions, AWaitUntilATimeEndsThen) {
  ask(0, 1, 90);
  park(0, 0, {1}, 1, 50);
  EXPECT_EQ(run(), Clients{0});
  EXPECT_EQ(session.clock(0), 50);
  EXPECT_TRUE(session.outbox(0).empty());
}

TEST_F(Sessions, WhoYieldsGoesOnWhenTheOthersHaveGotAsFarAsTheyCan) {
  ask(1, 1, 70);
  session.park(0, 3, {.yields = true});
  park(1, 0, {1}, 1);
  EXPECT_EQ(run(), (Clients{1, 0}));
  EXPECT_EQ(session.clock(0), engine.now());
}

TEST_F(Sessions, WhatHappensWakesThoseThatAreAlert) {
  ask(2, 1, 40);
  session.park(0, 1, {.until = 1'000, .alert = true});
  session.park(1, 1, {.until = 1'000});
  timeline.at(15, [this] {
    session.happened(0, 15);
    session.happened(1, 15);
  });
  EXPECT_EQ(run(), Clients{0});
  EXPECT_EQ(session.clock(0), 15);
}

}  // namespace
}  // namespace thalweg::session
