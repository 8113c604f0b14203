#include "src/data/profile/make_shard_reader.h"

#include "src/data/parquet/reader.h"
#include "src/data/text/reader.h"

namespace espalier::data {

std::unique_ptr<ShardReader> MakeShardReader(const TableSource& table, const ReadOptions& options) {
  const std::vector<spec::InputFile>& files = table.plan.files;
  const bool parquet = !files.empty() && spec::FormatOf(table.job.data, files.front().path) ==
                                             spec::DataFormat::kParquet;
  return parquet ? MakeParquetReader(table, options) : MakeTextReader(table, options);
}

}  // namespace espalier::data
