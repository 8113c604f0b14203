// The main function of every test program. It runs Catch2 with a listener and a watchdog.
//
// The listener writes each test case to the file that Bazel names in XML_OUTPUT_FILE, so that
// tools/test counts cases and not programs. The watchdog reports a case that hangs as failed,
// prints the stacks of all threads, and ends the program. The thread sanitizer omits cases with the
// tag [one thread], which take long and start no thread.
//
// Files are not written through to the disk, because no test cuts its power. Waiting for the disk
// would be most of the time of some tests.
#define CATCH_CONFIG_RUNNER
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>

#include "tests/testing/scale.h"

// They take the place of the C library's functions, in shared libraries too.
extern "C" int fsync(int /*fd*/) { return 0; }
extern "C" int fdatasync(int /*fd*/) { return 0; }

namespace {

std::string Escaped(const std::string& text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 && c != '\n' ? '?' : c;
    }
  }
  return out;
}

using Clock = std::chrono::steady_clock;

// Time limits of one test case in seconds. The second one is for scaled property tests.
constexpr uint64_t kCaseLimitS = 240, kScaledLimitS = 3000;

// The report so far. `mutex` guards it, because the watchdog can also write it.
std::mutex mutex;
std::string cases;
int case_count = 0, failure_count = 0;

void WriteReport() {
  if (const char* path = std::getenv("XML_OUTPUT_FILE")) {
    std::ofstream(path) << "<testsuites><testsuite name=\"catch\" tests=\"" << case_count
                        << "\" failures=\"" << failure_count << "\">\n"
                        << cases << "</testsuite></testsuites>\n";
  }
}

void AddCase(const std::string& name, double seconds, const std::string* failures) {
  ++case_count;
  char time[32];
  std::snprintf(time, sizeof(time), "%.3f", seconds);
  cases += "<testcase name=\"" + Escaped(name) + "\" time=\"" + time + "\">";
  if (failures != nullptr) {
    ++failure_count;
    cases += "<failure message=\"failed\">" + Escaped(*failures) + "</failure>";
  }
  cases += "</testcase>\n";
}

// A watchdog that ends the program when a test case takes too long. Owns a thread.
class Watchdog {
 public:
  Watchdog() : thread_([this] { Run(); }) {}
  ~Watchdog() {
    {
      std::lock_guard lock(mutex);
      stopping_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

  // Restarts the clock for the case `name`. With an empty name, no case runs.
  void Watch(const std::string& name) {
    std::lock_guard lock(mutex);
    name_ = name;
    began_ = Clock::now();
    changed_.notify_one();
  }

 private:
  void Run() {
    const bool scaled = espalier::TestScale() > 1 || espalier::FuzzScale() > 1;
    const std::chrono::seconds limit(scaled ? kScaledLimitS : kCaseLimitS);
    std::unique_lock lock(mutex);
    while (!stopping_) {
      if (name_.empty()) {
        changed_.wait(lock);
      } else if (changed_.wait_until(lock, began_ + limit) == std::cv_status::timeout &&
                 !name_.empty() && Clock::now() >= began_ + limit) {
        End(limit.count());
      }
    }
  }

  [[noreturn]] void End(int64_t limit_s) {
    const std::string why = "no end within " + std::to_string(limit_s) + " s";
    std::fprintf(stderr, "%s: %s; the stacks of its threads:\n", name_.c_str(), why.c_str());
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    const std::string command = "eu-stack -p " + std::to_string(getpid()) + " >&2";
    if (std::system(command.c_str()) != 0) std::fprintf(stderr, "(eu-stack did not show them)\n");
    AddCase(name_, static_cast<double>(limit_s), &why);
    WriteReport();
    std::_Exit(1);
  }

  std::condition_variable changed_;
  std::string name_;
  Clock::time_point began_;
  bool stopping_ = false;
  std::thread thread_;
};

Watchdog* watchdog = nullptr;  // owned by main

class XmlListener : public Catch::TestEventListenerBase {
 public:
  using TestEventListenerBase::TestEventListenerBase;
  void testCaseStarting(Catch::TestCaseInfo const& info) override {
    began_ = Clock::now();
    watchdog->Watch(info.name);
  }
  bool assertionEnded(Catch::AssertionStats const& stats) override {
    if (!stats.assertionResult.isOk()) {
      const auto line = stats.assertionResult.getSourceInfo();
      failures_ += std::string(line.file) + ":" + std::to_string(line.line) + ": " +
                   stats.assertionResult.getExpressionInMacro() + "\n";
    }
    return false;
  }
  void testCaseEnded(Catch::TestCaseStats const& stats) override {
    watchdog->Watch("");
    const std::chrono::duration<double> taken = Clock::now() - began_;
    std::lock_guard lock(mutex);
    AddCase(stats.testInfo.name, taken.count(),
            stats.totals.testCases.failed > 0 ? &failures_ : nullptr);
    failures_.clear();
  }

 private:
  Clock::time_point began_;
  std::string failures_;
};
CATCH_REGISTER_LISTENER(XmlListener)

}  // namespace

int main(int argc, char* argv[]) {
  Watchdog dog;
  watchdog = &dog;
  Catch::Session session;
  int code = session.applyCommandLine(argc, argv);
#ifdef __SANITIZE_THREAD__
  auto& named = session.configData().testsOrTags;
  if (named.empty()) named = {"~[one thread]"};
#endif
  if (code == 0) code = session.run();
  std::lock_guard lock(mutex);
  WriteReport();
  return code;
}
