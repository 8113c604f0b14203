// When the coordinator renews the delegation tokens of a job, and what prevents it.
//
// Thread rule: a value.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace espalier::cluster {

// The renewal state of one job's tokens, by file system. A token is renewed when the coordinator
// receives it, which reveals the expiry, and again after two thirds of the remaining time. After a
// failure it is tried again. The journal does not hold this state. A new coordinator renews at once
// and thereby learns when each token expires. Times are milliseconds since 1970.
class TokenRenewal {
 public:
  // Returns whether a renewal is due and none is in progress. If so, it has begun.
  bool Begin(const std::string& file_system, int64_t now_ms);
  // Ends a renewal with success. `ends_ms`: expiry of the token.
  void Succeed(const std::string& file_system, int64_t ends_ms, int64_t now_ms);
  void Fail(const std::string& file_system, int64_t now_ms);
  // Renews sooner, because a member's token was refused. False: the job has no token there.
  bool Hasten(const std::string& file_system, int64_t now_ms);
  // Stores why the token cannot be renewed; empty: it can be. Returns whether this is new.
  bool SetTrouble(const std::string& file_system, std::string why);
  // Returns the problems, for the owner of the job. Empty: there are none.
  std::string Trouble(int64_t now_ms) const;
  void Clear() { tokens_.clear(); }

 private:
  struct Token {
    int64_t due_ms = 0;    // next renewal
    int64_t ends_ms = 0;   // expiry; 0: unknown yet
    int64_t asked_ms = 0;  // time of the newest renewal
    bool working = false;
    std::string trouble;  // without times
  };
  std::map<std::string, Token> tokens_;
};

}  // namespace espalier::cluster
