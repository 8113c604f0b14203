// A program for tests of storage faults. It performs one storage call per line of its input, and
// answers each with one line, "ok ..." or the error. Like the daemons, it takes the address of HDFS
// and the user from the environment. The optional argument limits each wait, in milliseconds.
//
//   open URI         opens a file to read; "ok LENGTH"
//   read BYTES       reads the next bytes, in pieces of 1 MiB; "ok POSITION"
//   sha              "ok SHA256" of all bytes read
//   stat URI         "ok LENGTH"
//   write URI TEXT   writes the file atomically; "ok done"
//   create URI TEXT  creates the file exclusively; "ok done"
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "src/base/checksum.h"
#include "src/base/log.h"
#include "src/storage/file_systems.h"

namespace espalier::storage {
namespace {

class Probe {
 public:
  explicit Probe(StorageOptions options) : files_(MakeFileSystem(std::move(options))) {}

  Result<std::string> Do(const std::string& line) {
    std::istringstream words(line);
    std::string command, argument, text;
    words >> command >> argument >> text;
    if (command == "open") return Open(argument);
    if (command == "read") return Read(std::stoll(argument));
    if (command == "sha") return sha_.FinishHex();
    if (command == "stat") {
      ESPALIER_ASSIGN_OR_RETURN(const FileInfo info, files_->Stat(argument));
      return std::to_string(info.length);
    }
    if (command == "write") return Said(files_->WriteAtomically(argument, text));
    if (command == "create") return Said(files_->CreateExclusively(argument, text));
    return InvalidArgument("unknown command '" + command + "'");
  }

 private:
  static Result<std::string> Said(const Status& status) {
    return status.ok() ? Result<std::string>("done") : Result<std::string>(status);
  }
  Result<std::string> Open(const std::string& uri) {
    ESPALIER_ASSIGN_OR_RETURN(file_, files_->Open(uri));
    position_ = 0;
    sha_ = Sha256();
    file_->WillRead(0, file_->info().length);
    return std::to_string(file_->info().length);
  }
  Result<std::string> Read(int64_t bytes) {
    std::vector<char> buffer(1 << 20);
    while (bytes > 0) {
      const size_t wanted = std::min<int64_t>(bytes, buffer.size());
      ESPALIER_ASSIGN_OR_RETURN(const size_t n, file_->ReadAt(position_, {buffer.data(), wanted}));
      if (n == 0) break;
      sha_.Update(buffer.data(), n);
      position_ += n;
      bytes -= n;
    }
    return std::to_string(position_);
  }

  const std::unique_ptr<FileSystem> files_;
  std::unique_ptr<ReadableFile> file_;
  int64_t position_ = 0;
  Sha256 sha_;
};

}  // namespace
}  // namespace espalier::storage

int main(int argc, char** argv) {
  using namespace espalier;
  using namespace espalier::storage;
  OpenLog("probe", LogLevel::kInfo);
  const auto text = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  const HadoopEnvironment hadoop = ReadHadoopEnvironment(text);
  StorageOptions options;
  options.hadoop_conf_dir = hadoop.conf_dir;
  options.token_file = hadoop.token_file;
  options.webhdfs.user = hadoop.user;
  options.webhdfs.http.ca_file = hadoop.ca;
  if (argc > 1) {
    const int64_t limit_ms = std::atoll(argv[1]);
    options.webhdfs.http.reply_ms = options.webhdfs.retry.give_up_ms = limit_ms;
    options.webhdfs.retry.first_contact_ms = limit_ms;
  }
  Probe probe(std::move(options));
  for (std::string line; std::getline(std::cin, line);) {
    const Result<std::string> done = probe.Do(line);
    std::cout << (done.ok() ? "ok " + *done : done.status().ToString()) << std::endl;
  }
}
