// The main of every test program: Catch2, plus a listener that writes each test case to the file
// that Bazel names in XML_OUTPUT_FILE, so that tools/test can count cases and not programs.
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <string>

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

std::string cases;  // Filled by the listener, written at the end of main.
int case_count = 0, failure_count = 0;

class XmlListener : public Catch::TestEventListenerBase {
 public:
  using TestEventListenerBase::TestEventListenerBase;
  bool assertionEnded(Catch::AssertionStats const& stats) override {
    if (!stats.assertionResult.isOk()) {
      const auto line = stats.assertionResult.getSourceInfo();
      failures_ += std::string(line.file) + ":" + std::to_string(line.line) + ": " +
                   stats.assertionResult.getExpressionInMacro() + "\n";
    }
    return false;
  }
  void testCaseEnded(Catch::TestCaseStats const& stats) override {
    ++case_count;
    cases += "<testcase name=\"" + Escaped(stats.testInfo.name) + "\">";
    if (stats.totals.testCases.failed > 0) {
      ++failure_count;
      cases += "<failure message=\"failed\">" + Escaped(failures_) + "</failure>";
    }
    cases += "</testcase>\n";
    failures_.clear();
  }

 private:
  std::string failures_;
};
CATCH_REGISTER_LISTENER(XmlListener)

}  // namespace

int main(int argc, char* argv[]) {
  const int code = Catch::Session().run(argc, argv);
  if (const char* path = std::getenv("XML_OUTPUT_FILE")) {
    std::ofstream(path) << "<testsuites><testsuite name=\"catch\" tests=\"" << case_count
                        << "\" failures=\"" << failure_count << "\">\n"
                        << cases << "</testsuite></testsuites>\n";
  }
  return code;
}
