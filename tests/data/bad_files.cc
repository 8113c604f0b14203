// Cases of bad files and their errors.
#include <sys/stat.h>

#include <filesystem>

#include "tests/data/bad_input.h"
#include "tests/data/compress.h"

namespace espalier::data {
namespace {

const std::string kNoFile = "data.train: no file matches 'DIR/d' ... _ or . and *._COPYING_";

namespace fs = std::filesystem;

std::string Cut(std::string text, size_t bytes) { return text.substr(0, text.size() - bytes); }

// Flips the lowest bit of one byte; `at` counts from the end.
std::string Flipped(std::string text, int at) {
  text[text.size() + at] ^= 1;
  return text;
}

Given Path(std::string name) {
  return [=](DataFixture& f) { f.job.data.train = {f.dir / name}; };
}

// Returns cases of compressed files and of files in another format.
std::vector<BadCase> Packed() {
  return {
      {"snappy by name alone", Named("t.csv.snappy", kStart), StatusCode::kBadInput,
       "'DIR/t.csv.snappy' ... not what its name says ... snappy as Hadoop",
       InputPosition{.file = "DIR/t.csv.snappy", .offset = 0, .text = "a,b,y\\x0a1,2,0\\x0a\\x0a"}},
      {"gzip by name alone", Named("t.csv.gz", kStart), StatusCode::kBadInput,
       "'DIR/t.csv.gz' ... not what its name says ... gzip",
       InputPosition{.file = "DIR/t.csv.gz", .offset = 0, .text = "a,b,y\\x0a1,2,0\\x0a\\x0a"}},
      {"zstd by name alone", Named("t.csv.zst", kStart), StatusCode::kBadInput,
       "'DIR/t.csv.zst' ... not what its name says ... zstd",
       InputPosition{.file = "DIR/t.csv.zst", .offset = 0, .text = "a,b,y\\x0a1,2,0\\x0a\\x0a"}},
      {"gzip cut short", Named("t.csv.gz", Cut(Gzip(kStart), 9)), StatusCode::kBadInput,
       "'DIR/t.csv.gz' ends in the middle ... compressed text ... (at byte 24 of its 24 compressed "
       "bytes)",
       InFile("DIR/t.csv.gz")},
      {"zstd cut short", Named("t.csv.zst", Cut(Zstd(kStart), 5)), StatusCode::kBadInput,
       "'DIR/t.csv.zst' ends in the middle ... compressed text ... (at byte 21 of its 21 "
       "compressed bytes)",
       InFile("DIR/t.csv.zst")},
      {"gzip with a wrong checksum", Named("t.csv.gz", Flipped(Gzip(kStart), -6)),
       StatusCode::kBadInput,
       "'DIR/t.csv.gz' is damaged: incorrect data check ... (at byte 29 of its 33 compressed "
       "bytes)",
       InFile("DIR/t.csv.gz")},
      {"zstd with a wrong checksum", Named("t.csv.zst", Flipped(Zstd(kStart), -2)),
       StatusCode::kBadInput,
       "'DIR/t.csv.zst' is damaged: Restored data doesn't match checksum ... (at byte 0 of its 26 "
       "compressed bytes)",
       InFile("DIR/t.csv.zst")},
      {"gzip and something after it", Named("t.csv.gz", Gzip(kStart) + "1,2,0\n"),
       StatusCode::kBadInput,
       "'DIR/t.csv.gz' continues after the end ... gzip text ... (at byte 33 of its 39 compressed "
       "bytes)",
       InFile("DIR/t.csv.gz")},
      {"zstd and something after it", Named("t.csv.zst", Zstd(kStart) + "1,2,0\n"),
       StatusCode::kBadInput,
       "'DIR/t.csv.zst' continues after the end ... zstd text ... (at byte 26 of its 32 compressed "
       "bytes)",
       InFile("DIR/t.csv.zst")},
  };
}

std::vector<BadCase> MorePacked() {
  return {
      {"a line without end in gzip", Named("t.csv.gz", Gzip("a,y\n" + std::string(20 << 20, ' '))),
       StatusCode::kBadInput, "a record ... longer than 16.0 MiB ... quote left open",
       InputPosition{
           .file = "DIR/t.csv.gz", .row = 2, .offset = 4, .text = std::string(80, ' ') + "..."}},
      {"a bad row in gzip", Named("t.csv.gz", Gzip(kStart + "1,x,1\n")), StatusCode::kBadInput,
       "the value ... not a number ... data.null_values ... data.features.groups",
       InputPosition{.file = "DIR/t.csv.gz", .row = 4, .column = "b", .offset = 15, .text = "x"}},
      {"bzip2 cut short", Named("t.csv.bz2", Cut(Bzip2(kStart), 9)), StatusCode::kBadInput,
       "'DIR/t.csv.bz2' ends in the middle ... compressed text ... (at byte 45 of its 45 "
       "compressed bytes)",
       InFile("DIR/t.csv.bz2")},
      {"xz cut short", Named("t.csv.xz", Cut(Xz(kStart), 9)), StatusCode::kBadInput,
       "'DIR/t.csv.xz' ends in the middle ... compressed text ... (at byte 63 of its 63 compressed "
       "bytes)",
       InFile("DIR/t.csv.xz")},
      {"lz4 cut short", Named("t.csv.lz4", Cut(Lz4(kStart), 3)), StatusCode::kBadInput,
       "'DIR/t.csv.lz4' ends in the middle ... compressed text ... (at byte 25 of its 25 "
       "compressed bytes)",
       InFile("DIR/t.csv.lz4")},
      {"snappy of Hadoop cut short",
       Named("t.csv.snappy",
             Cut(HadoopBlocks(arrow::Compression::SNAPPY, kStart + kStart, 13, 13), 3)),
       StatusCode::kBadInput,
       "'DIR/t.csv.snappy' ends in the middle ... compressed text ... (at byte 43 of its 43 "
       "compressed bytes)",
       InFile("DIR/t.csv.snappy")},
      {"snappy in its framing format", Csv(std::string("\xFF\x06\0\0sNaPpY", 10)),
       StatusCode::kUnimplemented, "'DIR/train.csv' is compressed ... snappy in its framing format",
       InputPosition{.file = "DIR/train.csv", .offset = 0}},
      {"UTF-32", Csv(std::string("\xFF\xFE\0\0a\0\0\0", 8)), StatusCode::kUnimplemented,
       "'DIR/train.csv' is text in UTF-32 ... cannot be read",
       InputPosition{.file = "DIR/train.csv", .offset = 0}},
      {"UTF-16 cut short",
       Csv(std::string("\xFF\xFE"
                       "a\0,\0y\0\n\0"
                       "1\0,\0"
                       "2",
                       15)),
       StatusCode::kBadInput, "'DIR/train.csv' ... UTF-16 ... half a character at byte 14",
       InFile()},
      {"a zip archive", Csv("PK\x03\x04 archive"), StatusCode::kUnimplemented,
       "'DIR/train.csv' is a zip archive ... cannot be read",
       InputPosition{.file = "DIR/train.csv", .offset = 0}},
      {"ORC", Csv("ORC\x0a\x06\x08 file"), StatusCode::kUnimplemented,
       "'DIR/train.csv' is an ORC file ... cannot be read",
       InputPosition{.file = "DIR/train.csv", .offset = 0}},
      {"Avro", Csv(std::string("Obj\x01 avro", 9)), StatusCode::kUnimplemented,
       "'DIR/train.csv' is an Avro file ... cannot be read",
       InputPosition{.file = "DIR/train.csv", .offset = 0}},
  };
}

std::vector<BadCase> OtherPacked() {
  return {
      {"a SequenceFile", Csv("SEQ\x06 file"), StatusCode::kUnimplemented,
       "'DIR/train.csv' is a Hadoop SequenceFile ... cannot be read",
       InputPosition{.file = "DIR/train.csv", .offset = 0}},
      {"Parquet with another name", Csv("PAR1\x15\x04 and more"), StatusCode::kInvalidArgument,
       "'DIR/train.csv' is a Parquet file ... data.format: parquet",
       InputPosition{.file = "DIR/train.csv", .offset = 0}},
      {"Parquet among CSV",
       [](DataFixture& f) {
         f.Train(kStart);
         f.job.data.train.push_back(f.dir.Put("more.parquet", "PAR1\x15\x04 and more"));
       },
       StatusCode::kInvalidArgument,
       "'DIR/more.parquet' is Parquet ... 'DIR/train.csv' is CSV ... the same format ... pattern",
       InFile("DIR/more.parquet")},
      {"CSV among Parquet",
       [](DataFixture& f) {
         f.job.data.train = {f.dir.Put("a.parquet", "PAR1\x15\x04 and more"),
                             f.dir.Put("more.csv", kStart)};
       },
       StatusCode::kInvalidArgument,
       "'DIR/more.csv' is CSV ... 'DIR/a.parquet' is Parquet ... the same format ... pattern",
       InFile("DIR/more.csv")},
  };
}

// Returns cases of paths and patterns that cannot be read.
std::vector<BadCase> Files() {
  return {
      {"a file that is not there", Path("none.csv"), StatusCode::kNotFound,
       "data.train: cannot look up 'DIR/none.csv': it does not exist", InFile("DIR/none.csv")},
      {"a pattern that matches nothing", Path("*.tsv"), StatusCode::kNotFound,
       "data.train: no file matches 'DIR/*.tsv' ... _ or . and *._COPYING_", InFile("DIR/*.tsv")},
      {"a directory that is empty",
       [](DataFixture& f) {
         fs::create_directory(f.dir / "d");
         f.job.data.train = {f.dir / "d"};
       },
       StatusCode::kNotFound, kNoFile, InFile("DIR/d")},
      {"a directory with marks alone",
       [](DataFixture& f) {
         fs::create_directory(f.dir / "d");
         f.dir.Put("d/_SUCCESS", "");
         f.dir.Put("d/.part.crc", "x");
         f.dir.Put("d/a._COPYING_", "x");
         f.job.data.train = {f.dir / "d"};
       },
       StatusCode::kNotFound, kNoFile, InFile("DIR/d")},
      {"a directory where a file is meant",
       [](DataFixture& f) {
         fs::create_directory(f.dir / "x.csv");
         f.job.data.train = {f.dir / "*.csv"};
       },
       StatusCode::kNotFound, "data.train: no file matches 'DIR/*.csv' ... _ or . and *._COPYING_",
       InFile("DIR/*.csv")},
      {"a file where a directory is meant",
       [](DataFixture& f) {
         f.Train(kStart);
         f.job.data.train = {f.dir / "train.csv/part.csv"};
       },
       StatusCode::kFailedPrecondition,
       "data.train: cannot look up 'DIR/train.csv/part.csv' ... not a directory",
       InFile("DIR/train.csv/part.csv")},
      {"a symbolic link to itself",
       [](DataFixture& f) {
         fs::create_symlink("loop.csv", f.dir / "loop.csv");
         f.job.data.train = {f.dir / "loop.csv"};
       },
       StatusCode::kInvalidArgument,
       "data.train: cannot look up 'DIR/loop.csv' ... links ... in a circle",
       InFile("DIR/loop.csv")},
      {"a symbolic link to nothing",
       [](DataFixture& f) {
         fs::create_symlink("gone", f.dir / "link.csv");
         f.job.data.train = {f.dir / "link.csv"};
       },
       StatusCode::kInvalidArgument, "data.train: cannot look up 'DIR/link.csv' ... broken link",
       InFile("DIR/link.csv")},
  };
}

std::vector<BadCase> MoreFiles() {
  return {
      {"links to each other in a directory",
       [](DataFixture& f) {
         fs::create_directory(f.dir / "d");
         fs::create_symlink("b", f.dir / "d/a");
         fs::create_symlink("a", f.dir / "d/b");
         f.job.data.train = {f.dir / "d"};
       },
       StatusCode::kInvalidArgument,
       "data.train: cannot look up 'DIR/d/a' ... links ... in a circle", InFile("DIR/d")},
      {"a pipe",
       [](DataFixture& f) {
         REQUIRE(mkfifo((f.dir / "p.csv").c_str(), 0600) == 0);
         f.job.data.train = {f.dir / "p.csv"};
       },
       StatusCode::kInvalidArgument,
       "data.train: cannot look up 'DIR/p.csv' ... a pipe or a socket", InFile("DIR/p.csv")},
      {"a device", [](DataFixture& f) { f.job.data.train = {"/dev/zero"}; },
       StatusCode::kInvalidArgument,
       "data.train: cannot look up '/dev/zero' ... a pipe or a socket", InFile("/dev/zero")},
      {"a file twice",
       [](DataFixture& f) {
         const std::string path = f.Train(kStart);
         f.job.data.test = {f.dir / "*.csv"};
       },
       StatusCode::kInvalidArgument,
       "data.test: 'DIR/train.csv' is listed twice, by 'DIR/train.csv' and by 'DIR/*.csv'",
       {}},
      {"a name that is too long", Path(std::string(300, 'n')), StatusCode::kInvalidArgument,
       "data.train: cannot look up 'DIR/" + std::string(300, 'n') + "': its name is too long",
       InFile("DIR/" + std::string(300, 'n'))},
      {"a name with a line break", Named("a\nb.csv", "a,y\nx,1\n1,0\n2,1\n"), StatusCode::kBadInput,
       "the value ... not a number ... data.null_values ... data.features.groups",
       InputPosition{.file = "DIR/a\nb.csv", .row = 2, .column = "a", .offset = 4, .text = "x"}},
      {"a name with an escape sequence", Named("\x1b[31mred.csv", ""), StatusCode::kBadInput,
       "data.train: 'DIR/\\x1b[31mred.csv' has no record ... a header",
       InFile("DIR/\x1b[31mred.csv")},
      {"a name that is no UTF-8", Named("\xff.csv", ""), StatusCode::kBadInput,
       "data.train: 'DIR/\\xff.csv' has no record ... a header", InFile("DIR/\xff.csv")},
  };
}

std::vector<BadCase> OtherFiles() {
  return {
      {"a name in another script", Named("価格.csv", ""), StatusCode::kBadInput,
       "data.train: 'DIR/価格.csv' has no record ... a header", InFile("DIR/価格.csv")},
      {"an empty path", [](DataFixture& f) { f.job.data.train = {""}; },
       StatusCode::kInvalidArgument, "data.train: a path is empty", InFile("")},
      {"a NUL byte in a path", [](DataFixture& f) { f.job.data.train = {std::string("a\0b", 3)}; },
       StatusCode::kInvalidArgument, "data.train: the path 'a\\x00b' holds a NUL byte",
       InFile(std::string("a\0b", 3))},
      {"a scheme that is not known",
       [](DataFixture& f) { f.job.data.train = {"s3://bucket/t.csv"}; },
       StatusCode::kInvalidArgument,
       "data.train: the scheme 's3' of 's3://bucket/t.csv' ... file:///PATH ... "
       "swebhdfs://HOST:PORT/PATH",
       InFile("s3://bucket/t.csv")},
      {"a host for a local file", [](DataFixture& f) { f.job.data.train = {"file://host/t.csv"}; },
       StatusCode::kInvalidArgument,
       "data.train: 'file://host/t.csv' names a host; expected file:///PATH",
       InFile("file://host/t.csv")},
      {"HDFS without a path", [](DataFixture& f) { f.job.data.train = {"hdfs://host"}; },
       StatusCode::kInvalidArgument,
       "data.train: 'hdfs://host' has no path ... hdfs:///PATH ... swebhdfs://HOST:PORT/PATH",
       InFile("hdfs://host")},
      {"HDFS with a wrong port",
       [](DataFixture& f) { f.job.data.train = {"hdfs://host:port/t.csv"}; },
       StatusCode::kInvalidArgument,
       "data.train: 'hdfs://host:port/t.csv': 'host:port' has no port ... 65535 ... HOST:PORT",
       InFile("hdfs://host:port/t.csv")},
      {"no room for a shard",
       With(Csv(kStart), [](spec::JobSpec& j) { j.data.shard_bytes = 0; }),
       StatusCode::kInvalidArgument,
       "data.shard_bytes: 0 bytes ... above 0",
       {}},
  };
}

// Returns cases of files that the user may not read. The test drops root's right to read them.
std::vector<BadCase> Forbidden() {
  return {
      {"a file that may not be read",
       [](DataFixture& f) { fs::permissions(f.Train(kStart), fs::perms::none); },
       StatusCode::kPermissionDenied,
       "cannot open 'DIR/train.csv': permission denied. Grant ... access to it", InFile()},
      {"a directory that may not be listed",
       [](DataFixture& f) {
         fs::create_directory(f.dir / "d");
         f.dir.Put("d/a.csv", kStart);
         fs::permissions(f.dir / "d", fs::perms::none);
         f.job.data.train = {f.dir / "d"};
       },
       StatusCode::kPermissionDenied,
       "data.train: cannot list 'DIR/d': permission denied. Grant ... access to it",
       InFile("DIR/d")},
      {"a file in a directory that may not be entered",
       [](DataFixture& f) {
         fs::create_directory(f.dir / "d");
         f.job.data.train = {f.dir.Put("d/a.csv", kStart)};
         fs::permissions(f.dir / "d", fs::perms::none);
       },
       StatusCode::kPermissionDenied,
       "data.train: cannot look up 'DIR/d/a.csv': permission denied. Grant ... access to it",
       InFile("DIR/d/a.csv")},
  };
}

}  // namespace

std::vector<BadCase> BadFiles() {
  std::vector<BadCase> all;
  Append(&all, Packed());
  Append(&all, MorePacked());
  Append(&all, OtherPacked());
  Append(&all, Files());
  Append(&all, MoreFiles());
  Append(&all, OtherFiles());
  return all;
}

std::vector<BadCase> ForbiddenFiles() { return Forbidden(); }

}  // namespace espalier::data
