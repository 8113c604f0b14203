// The ending of the names of most files of a table. A file with another one, such as a README.md,
// may not belong to the table.
//
// Thread rule: values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/spec/input.h"

namespace espalier::data {

class UsualEnding {
 public:
  // The usual ending is that of most of these files that are not empty and have an ending of a data
  // format (spec::FormatByName), or of most files if none has one. `files` must outlive this.
  explicit UsualEnding(const std::vector<spec::InputFile>& files);

  // Returns whether the name of the file has the usual ending.
  bool Has(std::string_view path) const;
  // Returns advice to list only the files with the usual ending: "Use a pattern such as 'd/*.csv'".
  std::string Advice() const;

 private:
  const std::vector<spec::InputFile>& files_;
  std::string ending_;  // ".csv", also of compressed files
};

}  // namespace espalier::data
